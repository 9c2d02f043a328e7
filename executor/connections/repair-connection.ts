import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { askForAccess } from './ask-for-access.ts';
import { getWritableConnection } from './present-connection.ts';
import { requireApp } from '../providers/provider-apps.ts';
import type { Deps } from '../deps.ts';
import { findLatestConnectionFlow } from './connection-flow.sql.ts';

/**
 * Starts a repair from the link in an error or an event. Requests all scopes that were requested or
 * granted before, and the scopes of this request.
 */
export async function repairConnection(
  {
    db,
    apps,
    readPrincipal,
    requestsPerHour,
  }: Pick<Deps, 'db' | 'apps' | 'readPrincipal' | 'requestsPerHour'>,
  {
    principal: signed,
    id,
    scopes,
    context,
  }: { principal: string; id: string; scopes: string[]; context: CallContext },
): Promise<{ flowId: string }> {
  const principal = readPrincipal(signed);
  const { orgId } = principal;
  const connection = await getWritableConnection(db, principal, id);
  if (connection.status === 'revoked') {
    throw new AppError('conflict', 'This connection was revoked; make a new one.');
  }
  const { provider } = connection;
  requireApp(await apps.find({ orgId, provider }), provider);
  const flowId = await db.transaction(async (tx) => {
    const latestFlow = await findLatestConnectionFlow(tx, { orgId, connectionId: id });
    const access = {
      scopes: [...(latestFlow?.scopes ?? []), ...scopes],
      hosts: latestFlow?.hosts ?? [],
      address: null,
    };
    return askForAccess(tx, { connection, access, by: { principal, context }, requestsPerHour });
  });
  return { flowId };
}
