import type { Deps } from '../deps.ts';
import { isAgentKey } from '../agent-keys/domain/agent-key.ts';
import { hashToken } from '../credentials/domain/checked-token.ts';
import { isSessionToken } from '../credentials/domain/session-token.ts';
import { credentialNotValidError } from './credential-cache.ts';
import type { AuthenticateReply, CredentialKind } from './credential-cache.ts';

/**
 * OAuth access tokens are 256 random bits without a prefix; agent keys and session tokens have a
 * prefix.
 */
const accessTokenPattern = /^[\w-]{43}$/;

/**
 * Turns a credential into a principal that auth has signed. A session token is not accepted as a
 * bearer token. An agent key or access token is not accepted as a session.
 */
export async function authenticate(
  deps: Deps,
  { kind, token }: { kind: 'bearer' | 'session'; token: string },
): Promise<AuthenticateReply> {
  const credentialKind = credentialKindOf(kind, token);
  if (credentialKind === undefined) throw credentialNotValidError(kind);

  const hash = hashToken(token);
  const reply = await deps.credentials.get(hash.toString('base64'), { credentialKind, hash });

  const { orgId, identityId, credential } = reply.claims;
  deps.activityLog.note({ orgId, identityId, credential });
  return reply;
}

function credentialKindOf(kind: 'bearer' | 'session', token: string): CredentialKind | undefined {
  if (kind === 'session') return isSessionToken(token) ? 'session' : undefined;
  if (isAgentKey(token)) return 'agent_key';
  return accessTokenPattern.test(token) ? 'access_token' : undefined;
}
