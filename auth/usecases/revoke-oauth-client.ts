import type { OauthClient } from '#contracts/http/oauth-clients';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { auditOf, nameOf } from '../domain/audit-entry.ts';
import { presentClient } from '../domain/oauth-connection.ts';
import {
  findOrgClient,
  insertClientRevocation,
  switchOffSelfApprovals,
} from '../repository/org-clients.ts';

interface RevokeFields {
  readonly principal: string;
  readonly clientId: string;
  readonly context: CallContext;
}

/**
 * Shuts a client out of the caller's org: its bindings, tokens and switches there count no more,
 * by the row that `authenticate` looks for. Other orgs notice nothing. Twice is no error.
 */
export async function revokeOauthClient(
  { db, readPrincipal, credentials }: Deps,
  { principal, clientId, context }: RevokeFields,
): Promise<OauthClient> {
  const caller = readPrincipal(principal);
  const { orgId, identityId: revokedBy } = caller;
  if (caller.role !== 'admin') {
    throw new AppError('forbidden', 'Only an admin of the org shuts an OAuth client out of it.');
  }

  const revoked = await db.transaction(async (tx) => {
    const client = await findOrgClient(tx, { orgId, clientId });
    if (client === undefined) {
      throw new AppError('not_found', 'Nobody of your org has authorised such a client.');
    }
    const isFirst = await insertClientRevocation(tx, { orgId, clientId, revokedBy });
    if (isFirst) {
      await switchOffSelfApprovals(tx, { orgId, clientId });
      await appendEvent(tx, {
        type: 'oauth_client.revoked',
        orgId,
        audience: [revokedBy],
        data: { client_id: clientId, name: client.name },
        audit: auditOf(
          caller,
          context,
          `${nameOf(caller)} shut the OAuth client ${client.name} (${clientId}) out of the org.`,
        ),
      });
    }
    return (await findOrgClient(tx, { orgId, clientId })) ?? client;
  });
  credentials.drop();
  return presentClient(revoked);
}
