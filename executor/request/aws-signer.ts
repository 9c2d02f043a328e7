import { signAws } from './domain/aws-signature.ts';
import type { AwsKey } from './domain/aws-signature.ts';
import type { Signer } from './domain/inject.ts';

/**
 * Signs the requests of one call. Each signature contains the time at which its request is sent.
 */
export function createAwsSigner(key: AwsKey, clock: { now(): number } = Date): Signer {
  const signatures: string[] = [];
  return {
    sign(request) {
      const { signature, ...signed } = signAws(request, key, clock.now());
      signatures.push(signature);
      return signed;
    },
    // Providers repeat signatures in errors, in lower or upper case. With a signature, the same
    // request could be sent again.
    secretTexts: () => signatures.flatMap((hex) => [hex, hex.toUpperCase()]),
  };
}
