import type { Deadline } from '#bus';
import type { Injection } from '#contracts/permit';
import type { Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import type { Credential } from '../domain/inject.ts';
import type { CallFacts } from './facts.ts';

/** What decides which values a request may carry. */
export type Injecting = Pick<CallFacts, 'orgId' | 'userId' | 'injections' | 'target' | 'keys'>;

interface Wanted {
  readonly facts: Injecting;
  readonly url: string;
  /** What the upstream has just refused: other tokens than these are wanted. */
  readonly refused?: readonly Credential[];
}

/** A value, whose it is, and where it may go. */
interface Usable {
  readonly tier: Tier;
  readonly ownerId: string | null;
  readonly allowedHosts: readonly string[];
  readonly version?: number;
  reveal(): string;
}

/**
 * Reads the values that a call injects, as they are at this moment, and only for a host that the
 * credential may go to: the template of a call has no say in that (decisions: Templates and services).
 */
export async function loadCredentials(
  deps: Pick<Deps, 'vault' | 'openAccessToken'>,
  { facts, url, refused = [] }: Wanted,
  deadline: Deadline,
): Promise<Credential[]> {
  const { host } = new URL(url);
  return Promise.all(
    facts.injections.map(async (injection): Promise<Credential> => {
      const { kind, credentialId, credentialName } = injection;
      const earlier = refused.find((each) => each.injection.credentialId === credentialId);
      const usable = await find(deps, { facts, injection, refused: earlier?.version }, deadline);
      if (!usable || (usable.tier === 'user' && usable.ownerId !== facts.userId)) {
        const todo = kind === 'secret' ? 'Store the secret' : 'Connect';
        throw new AppError('credential_missing', `${todo} "${credentialName}" first.`, {
          details: { [kind]: credentialName },
        });
      }
      if (!mayGoTo(host, { usable, injection, facts })) {
        throw new AppError(
          'host_not_allowed',
          `The ${kind} "${credentialName}" may not be sent to ${host}; add the host to its allowed hosts.`,
          { details: { [kind]: credentialName, host } },
        );
      }
      return { injection, value: usable.reveal(), version: usable.version };
    }),
  );
}

async function find(
  { vault, openAccessToken }: Pick<Deps, 'vault' | 'openAccessToken'>,
  {
    facts: { orgId },
    injection: { kind, credentialId },
    refused,
  }: { facts: Injecting; injection: Injection; refused: number | undefined },
  deadline: Deadline,
): Promise<Usable | undefined> {
  if (kind === 'secret') return vault.findSecret({ orgId, secretId: credentialId });
  const at = { orgId, connectionId: credentialId };
  return openAccessToken(refused === undefined ? at : { ...at, refused }, deadline);
}

function mayGoTo(
  host: string,
  { usable, injection, facts }: { usable: Usable; injection: Injection; facts: Injecting },
): boolean {
  if (usable.allowedHosts.includes(host)) return true;
  // A secret without hosts goes only where a raw call was allowed to send exactly this secret.
  const isFree = usable.allowedHosts.length === 0 && usable.tier === 'user';
  return (
    isFree &&
    injection.kind === 'secret' &&
    facts.target.kind === 'raw' &&
    facts.keys.includes(`secret:${injection.credentialName}:${host}`)
  );
}
