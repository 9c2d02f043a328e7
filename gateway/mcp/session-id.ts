import { createHash, randomBytes } from 'node:crypto';

import type { Principal } from '#contracts/vocabulary';

/** The revisions with `initialize` and sessions, newest first. */
export const sessionVersions = ['2025-11-25', '2025-06-18'] as const;
export type SessionVersion = (typeof sessionVersions)[number];

/** The settings from `initialize` that later requests need. */
export interface McpSession {
  readonly version: SessionVersion;
  /** Whether the client can open URLs for its user (`elicitation.url`). */
  readonly opensUrls: boolean;
}

/**
 * Issues an `Mcp-Session-Id`: the agreed settings, a nonce, and a digest that binds both to the
 * agent, the client and the org. Nothing is stored, so every replica accepts every session. The
 * digest needs no key, because a session gives no authority. Every request is authenticated, and an
 * id is accepted only from the caller to whom it was issued (docs/reference/calling.md#mcp).
 */
export function issueSessionId(claims: Principal, session: McpSession): string {
  const flags = session.opensUrls ? 'u' : '-';
  const nonce = randomBytes(16).toString('base64url');
  const signedPart = `${session.version}.${flags}.${nonce}`;
  return `${signedPart}.${digestOf(claims, signedPart)}`;
}

/** Returns null for a malformed id and for an id that was issued to another caller. */
export function readSessionId(claims: Principal, id: string): McpSession | null {
  const [version, flags, nonce, digest, ...rest] = id.split('.');
  const knownVersion = sessionVersions.find((each) => each === version);
  if (knownVersion === undefined || rest.length > 0) return null;
  if (digest !== digestOf(claims, `${version}.${flags}.${nonce}`)) return null;
  return { version: knownVersion, opensUrls: flags === 'u' };
}

function digestOf({ orgId, identityId, credential }: Principal, signedPart: string): string {
  return createHash('sha256')
    .update(JSON.stringify([orgId, identityId, credential.clientId, signedPart]))
    .digest('base64url');
}
