import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { askForAccess } from '../connections/ask.ts';
import { getWritableConnection } from '../connections/present.ts';
import { requireApp } from '../connections/provider-apps.ts';
import type { Deps } from '../deps.ts';
import { findLatestConnectionFlow } from '../repository/connection-flow.ts';

/** For the links of errors and events: asks again for what was asked for and granted before, and for these scopes. */
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
    const latest = await findLatestConnectionFlow(tx, { orgId, connectionId: id });
    const wish = { scopes: [...(latest?.scopes ?? []), ...scopes], hosts: latest?.hosts ?? [] };
    return askForAccess(tx, { connection, wish, by: { principal, context }, requestsPerHour });
  });
  return { flowId };
}
