import type { Injection } from '#contracts/permit';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import type { Credential } from '../domain/inject.ts';
import type { UsableSecret } from '../vault/vault.ts';
import type { CallFacts } from './facts.ts';

/** What decides which values a request may carry. */
export type Injecting = Pick<CallFacts, 'orgId' | 'userId' | 'injections' | 'target' | 'keys'>;

/**
 * Reads the values that a call injects, as they are at this moment, and only for a host that the
 * secret may go to: the template of a call has no say in that (decisions: Templates and services).
 */
export async function loadCredentials(
  { vault }: Pick<Deps, 'vault'>,
  facts: Injecting,
  url: string,
): Promise<Credential[]> {
  const { host } = new URL(url);
  return Promise.all(
    facts.injections.map(async (injection): Promise<Credential> => {
      const { credentialId: secretId, credentialName: secretName } = injection;
      const secret = await vault.findSecret({ orgId: facts.orgId, secretId });
      if (!secret || (secret.tier === 'user' && secret.ownerId !== facts.userId)) {
        throw new AppError('credential_missing', `Store the secret "${secretName}" first.`, {
          details: { secret: secretName },
        });
      }
      if (!mayGoTo(host, { secret, injection, facts })) {
        throw new AppError(
          'host_not_allowed',
          `The secret "${secretName}" may not be sent to ${host}; add the host to its allowed hosts.`,
          { details: { secret: secretName, host } },
        );
      }
      return { injection, value: secret.reveal() };
    }),
  );
}

function mayGoTo(
  host: string,
  { secret, injection, facts }: { secret: UsableSecret; injection: Injection; facts: Injecting },
): boolean {
  if (secret.allowedHosts.includes(host)) return true;
  // A secret without hosts goes only where a raw call was allowed to send exactly this secret.
  const isFree = secret.allowedHosts.length === 0 && secret.tier === 'user';
  return (
    isFree &&
    facts.target.kind === 'raw' &&
    facts.keys.includes(`secret:${injection.credentialName}:${host}`)
  );
}
