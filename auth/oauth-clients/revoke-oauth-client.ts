import type { OauthClient } from '#contracts/http/oauth-clients';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { auditEntryOf, callerNameOf } from '../callers/domain/audit-entry.ts';
import { presentClient } from './domain/oauth-connection.ts';
import {
  findOrgClient,
  insertClientRevocation,
  switchOffSelfApprovals,
} from './org-clients.sql.ts';

interface RevokeClientFields {
  readonly principal: string;
  readonly clientId: string;
  readonly context: CallContext;
}

/**
 * Revokes a client for the caller's org. It inserts a row that `authenticate` checks, so the
 * client's bindings and tokens become invalid in this org. Other orgs are unaffected. Revoking a
 * client twice is no error.
 */
export async function revokeOauthClient(
  { db, readPrincipal, credentials }: Deps,
  { principal, clientId, context }: RevokeClientFields,
): Promise<OauthClient> {
  const caller = readPrincipal(principal);
  const { orgId, identityId: revokedBy } = caller;
  if (caller.role !== 'admin') {
    throw new AppError('forbidden', 'Only an admin of the org shuts an OAuth client out of it.');
  }

  const revokedClient = await db.transaction(async (tx) => {
    const client = await findOrgClient(tx, { orgId, clientId });
    if (client === undefined) {
      throw new AppError('not_found', 'Nobody of your org has authorised such a client.');
    }
    const isFirstRevocation = await insertClientRevocation(tx, { orgId, clientId, revokedBy });
    if (isFirstRevocation) {
      await switchOffSelfApprovals(tx, { orgId, clientId });
      await appendEvent(tx, {
        type: 'oauth_client.revoked',
        orgId,
        audience: [revokedBy],
        data: { client_id: clientId, name: client.name },
        audit: auditEntryOf(
          caller,
          context,
          `${callerNameOf(caller)} shut the OAuth client ${client.name} (${clientId}) out of the org.`,
        ),
      });
    }
    return (await findOrgClient(tx, { orgId, clientId })) ?? client;
  });
  credentials.drop();
  return presentClient(revokedClient);
}
