import type { Deadline } from '#bus';
import type { Injection } from '#contracts/permit';
import type { CompiledAction } from '#contracts/template';
import type { Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { parseAddress } from '../domain/base-url.ts';
import type { Credential } from '../domain/inject.ts';
import type { CallFacts } from './facts.ts';

type Sources = Pick<Deps, 'vault' | 'openAccessToken' | 'authUrlOf'>;

/** What decides which values a request may carry. */
export type Injecting = Pick<CallFacts, 'orgId' | 'userId' | 'injections' | 'target' | 'keys'>;

interface Wanted {
  readonly facts: Injecting;
  /** The action that is called; a verb or raw call asks for no scopes. */
  readonly action?: CompiledAction | undefined;
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
  readonly grantedScopes?: readonly string[];
  reveal(): string;
}

/**
 * Reads the values that a call injects, as they are at this moment, and only for a host that the
 * credential may go to, whatever the template says
 * (docs/reference/credentials.md#where-a-credential-may-go).
 */
export async function loadCredentials(
  deps: Sources,
  { facts, action, url, refused = [] }: Wanted,
  deadline: Deadline,
): Promise<Credential[]> {
  const { host } = parseAddress(url);
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
      if (facts.target.kind === 'action') checkScopes(deps, { usable, injection, action });
      return { injection, value: reveal(usable, injection), version: usable.version };
    }),
  );
}

/** A secret that does not open is named, as one that is absent is. */
function reveal(usable: Usable, { kind, credentialName }: Injection): string {
  try {
    return usable.reveal();
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown;
    const { code, message, details } = thrown;
    throw new AppError(code, message, {
      details: { ...details, [kind]: credentialName },
      cause: thrown,
    });
  }
}

async function find(
  { vault, openAccessToken }: Sources,
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

/** Policy has looked at them too; but a token that was granted less may be newer than its look. */
function checkScopes(
  { authUrlOf }: Sources,
  {
    usable: { grantedScopes },
    injection: { credentialId, credentialName },
    action,
  }: { usable: Usable; injection: Injection; action: CompiledAction | undefined },
): void {
  const needed = grantedScopes === undefined ? [] : (action?.minimumScopes ?? []);
  const missing = needed.filter((scope) => grantedScopes?.includes(scope) !== true);
  if (missing.length === 0) return;
  const query = `?scope=${encodeURIComponent(missing.join(' '))}`;
  throw new AppError(
    'missing_scopes',
    `The connection "${credentialName}" was not granted ${missing.join(', ')}. Have its owner grant it at auth_url, then call again.`,
    {
      details: { missing, auth_url: authUrlOf(credentialId) + query, connection_id: credentialId },
    },
  );
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
