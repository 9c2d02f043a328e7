import { signAws } from './domain/aws-signature.ts';
import type { AwsKey } from './domain/aws-signature.ts';
import type { Signer } from './domain/inject.ts';

/** Signs the requests of one call, each at the time at which it is sent. */
export function createAwsSigner(key: AwsKey, clock: { now(): number } = Date): Signer {
  const signatures: string[] = [];
  return {
    sign(request) {
      const { signature, ...signed } = signAws(request, key, clock.now());
      signatures.push(signature);
      return signed;
    },
    // Providers repeat signatures in errors. With one, in either case, the same request could be sent
    // once more.
    secretTexts: () => signatures.flatMap((hex) => [hex, hex.toUpperCase()]),
  };
}
