import type { Connection } from '#contracts/http/connections';
import type { CallContext } from '#contracts/vocabulary';
import { notConnected } from '../connections/access-tokens.ts';
import { getWritableConnection, noConnection, presentConnection } from '../connections/present.ts';
import type { Deps } from '../deps.ts';
import { findTokens } from '../repository/connection-tokens.ts';

/** Asks the provider for new tokens now, due or not. */
export async function refreshConnection(
  deps: Deps,
  { principal: signed, id, context }: { principal: string; id: string; context: CallContext },
): Promise<Connection> {
  const { db, refresher } = deps;
  const principal = deps.readPrincipal(signed);
  const connection = await getWritableConnection(db, principal, id);
  const tokens = await findTokens(db, { orgId: principal.orgId, id });
  if (tokens === undefined || tokens.status === 'revoked') throw noConnection();
  if (tokens.status !== 'active') throw notConnected(deps, connection);
  await refresher.refresh(tokens, { principal, context });
  const after = await getWritableConnection(db, principal, id);
  if (after.status !== 'active') throw notConnected(deps, after);
  return presentConnection(after);
}
