import { awsName } from '#contracts/credential-derivation';
import type { CredentialDerivation } from '#contracts/credential-derivation';
import type { AwsKey } from '../../request/domain/aws-signature.ts';
import { fillInParts, readParts, unfitSecretError } from './secret-parts.ts';

/**
 * Reads the key of an AWS account from the parts of a secret. Throws `credential_missing` when a part
 * is absent or cannot be used.
 */
export function readAwsKey(
  value: string,
  {
    name,
    derivation,
  }: { name: string; derivation: Extract<CredentialDerivation, { kind: 'aws_sigv4' }> },
): AwsKey {
  const parts = readParts(value, { name, required: derivation.required });
  const region = fillInParts(derivation.region, parts);
  if (region === undefined) {
    const lacking = [...derivation.region.matchAll(/\{([^{}]*)\}/g)].map(([, part = '']) => part);
    const problem = `lacks ${lacking.join(', ')}, which a service at an address of its own needs`;
    throw unfitSecretError(name, problem, { parts: lacking });
  }
  const accessKeyId = parts.get('access_key_id') ?? '';
  if (!/^[\w.@+-]{1,128}$/.test(accessKeyId)) {
    throw unfitSecretError(name, 'has an access_key_id that is none', { parts: ['access_key_id'] });
  }
  if (!awsName.safeParse(region).success) {
    throw unfitSecretError(name, 'has a region that is none; write it as eu-west-1');
  }
  const sessionToken = parts.get('session_token');
  if (sessionToken !== undefined && !/^[\x21-\x7e]+$/.test(sessionToken)) {
    throw unfitSecretError(name, 'has a session_token that is none', { parts: ['session_token'] });
  }
  return {
    accessKeyId,
    secretAccessKey: parts.get('secret_access_key') ?? '',
    sessionToken,
    region,
    service: derivation.service,
  };
}
