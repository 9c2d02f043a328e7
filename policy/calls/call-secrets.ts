import type { HttpCall } from '#contracts/call';
import type { Injection } from '#contracts/permit';
import type { Lookups, Owner } from '../deps.ts';
import { mayGoTo } from '../services/domain/hosts.ts';
import { findSecret, hostRefusedError, missingCredentialError } from './credentials.ts';

/** Finds the secrets that a call by HTTP method and path, or a call to a full URL, names. */
export async function findCallSecrets(
  lookups: Lookups,
  { owner, secrets, host }: { owner: Owner; secrets: HttpCall['secrets']; host: string },
): Promise<Injection[]> {
  const secretNames = [...new Set(secrets.map(({ name }) => name))];
  const secretDescriptions = await lookups.describeSecrets(owner, secretNames);
  return secrets.map(({ name, in: location, key, prefix, sign }) => {
    const secret = findSecret(secretDescriptions, name);
    if (secret === undefined) throw missingCredentialError(name, null);
    if (!mayGoTo(secret, host, { isKeyed: true })) throw hostRefusedError(secret.reference, host);
    return {
      kind: 'secret',
      credentialId: secret.id,
      credentialName: secret.reference,
      in: location,
      key,
      prefix: prefix ?? '',
      encoding: 'raw' as const,
      ...(sign === undefined ? {} : signedAs(sign)),
    };
  });
}

/**
 * How the executor signs the request of a call that names this secret as its signing key. People
 * see the prefix. A caller who may send the secret itself may also sign with the secret, so signing
 * needs no further permission.
 */
function signedAs({
  type: kind,
  service,
  region,
}: NonNullable<HttpCall['secrets'][number]['sign']>): Pick<
  Injection,
  'prefix' | 'encoding' | 'derivation'
> {
  const required = ['access_key_id', 'secret_access_key'];
  const secret = ['secret_access_key', 'session_token'];
  return {
    prefix: `AWS4-HMAC-SHA256 ${service}/${region} `,
    encoding: 'derived',
    derivation: { kind, required, secret, service, region },
  };
}
