import type { Connection } from '#contracts/http/connections';
import type { CallContext } from '#contracts/vocabulary';
import { notConnectedError } from './open-access-token.ts';
import {
  getWritableConnection,
  noSuchConnectionError,
  presentConnection,
} from './present-connection.ts';
import type { Deps } from '../deps.ts';
import { findTokens } from './connection-tokens.sql.ts';

/** Asks the provider for new tokens now, whether or not they are due. */
export async function refreshConnection(
  deps: Deps,
  { principal: signed, id, context }: { principal: string; id: string; context: CallContext },
): Promise<Connection> {
  const { db, refresher } = deps;
  const principal = deps.readPrincipal(signed);
  const connection = await getWritableConnection(db, principal, id);
  const tokens = await findTokens(db, { orgId: principal.orgId, id });
  if (tokens === undefined || tokens.status === 'revoked') throw noSuchConnectionError();
  if (tokens.status !== 'active') throw notConnectedError(deps, connection);
  await refresher.refresh(tokens, { principal, context });
  const after = await getWritableConnection(db, principal, id);
  if (after.status !== 'active') throw notConnectedError(deps, after);
  return presentConnection(after);
}
