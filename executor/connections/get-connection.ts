import type { Connection } from '#contracts/http/connections';
import { getVisibleConnection, presentConnection } from './present-connection.ts';
import type { Deps } from '../deps.ts';

export async function getConnection(
  { db, readPrincipal }: Pick<Deps, 'db' | 'readPrincipal'>,
  { principal, id }: { principal: string; id: string },
): Promise<Connection> {
  return presentConnection(await getVisibleConnection(db, readPrincipal(principal), id));
}
