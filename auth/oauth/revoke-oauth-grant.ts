import { blankAuditEntry } from '#contracts/audit';
import type { CallContext } from '#contracts/vocabulary';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { getIdentity } from '../identities/identities.sql.ts';
import { revokeOauthGrant as revokeRow } from '../oauth-clients/oauth-grants.sql.ts';
import { deleteOauthToken } from './oauth-tokens.sql.ts';

interface RevokeGrantFields {
  readonly orgId: string;
  readonly grantId: string;
  /** The reason for the audit log, such as "A refresh token was used twice". */
  readonly revocationReason: string;
  readonly context: CallContext;
}

/**
 * Ends a grant with its code and all its access and refresh tokens. Revoking a grant twice is no
 * error.
 */
export async function revokeOauthGrant(
  { db, credentials }: Pick<Deps, 'db' | 'credentials'>,
  { orgId, grantId, revocationReason: why, context }: RevokeGrantFields,
): Promise<void> {
  await db.transaction(async (tx) => {
    const grant = await revokeRow(tx, { orgId, id: grantId });
    if (grant === undefined) return;
    const { lineage, kind, name, path } = await getIdentity(tx, { orgId, id: grant.identityId });
    await appendEvent(tx, {
      type: 'oauth_grant.revoked',
      orgId,
      audience: lineage,
      data: {
        grant_id: grant.id,
        client_id: grant.clientId,
        user_id: grant.userId,
        identity_id: grant.identityId,
      },
      audit: {
        ...blankAuditEntry(
          `${why}: the client must be let in again to act as ${path.join(' / ')}.`,
        ),
        user_id: grant.userId,
        identity: { id: grant.identityId, kind, name, path: [...path] },
        request_id: context.requestId,
        trace_id: context.traceId,
        ip: context.ip,
      },
    });
  });
  credentials.drop();
}

/** Ends one access token early; its grant stays valid (RFC 7009 §2.1). */
export async function revokeAccessToken(
  { db, credentials }: Pick<Deps, 'db' | 'credentials'>,
  { orgId, hash }: { orgId: string; hash: Buffer },
): Promise<void> {
  await db.transaction(async (tx) => {
    const deleted = await deleteOauthToken(tx, { orgId, hash });
    if (deleted === undefined) return;
    // The event only drops caches. It has no audit entry, because the token would have expired
    // within minutes.
    await appendEvent(tx, {
      type: 'oauth_token.revoked',
      orgId,
      audience: [],
      data: { token_id: deleted.id, grant_id: deleted.grantId },
      audit: null,
    });
  });
  credentials.drop();
}
