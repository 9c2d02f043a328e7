import { createHash, randomBytes } from 'node:crypto';

import type { Principal } from '#contracts/vocabulary';

/** Revisions with `initialize` and sessions, the newest first. */
export const sessionVersions = ['2025-11-25', '2025-06-18'] as const;
export type SessionVersion = (typeof sessionVersions)[number];

/** What `initialize` agreed on and later requests need. */
export interface McpSession {
  readonly version: SessionVersion;
  /** The client opens URLs for its user when asked (`elicitation.url`). */
  readonly opensUrls: boolean;
}

/**
 * `Mcp-Session-Id`: what was agreed, a nonce, and a digest that ties both to agent, client and
 * org. Nothing is stored, so every replica knows every session. It needs no key, because a
 * session gives no authority: each request is authenticated anew, and an id counts only for
 * the caller that it was made for (docs/reference/calling.md#mcp).
 */
export function issueSessionId(claims: Principal, session: McpSession): string {
  const flags = session.opensUrls ? 'u' : '-';
  const nonce = randomBytes(16).toString('base64url');
  const head = `${session.version}.${flags}.${nonce}`;
  return `${head}.${digestOf(claims, head)}`;
}

/** Null for an id that is malformed or somebody else's. */
export function readSessionId(claims: Principal, id: string): McpSession | null {
  const [version, flags, nonce, digest, ...rest] = id.split('.');
  const known = sessionVersions.find((each) => each === version);
  if (known === undefined || rest.length > 0) return null;
  if (digest !== digestOf(claims, `${version}.${flags}.${nonce}`)) return null;
  return { version: known, opensUrls: flags === 'u' };
}

function digestOf({ orgId, identityId, credential }: Principal, head: string): string {
  return createHash('sha256')
    .update(JSON.stringify([orgId, identityId, credential.clientId, head]))
    .digest('base64url');
}
