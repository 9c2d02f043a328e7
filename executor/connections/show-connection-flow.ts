import type { Connection } from '#contracts/http/connections';
import type { IdentityReference } from '#contracts/vocabulary';
import { getOpenFlow } from './get-open-flow.ts';
import { presentConnection } from './present-connection.ts';
import type { Deps } from '../deps.ts';

interface ShownFlow {
  connection: Connection;
  providerTitle: string;
  providerOrigin: string;
  scopes: string[];
  hosts: string[];
  askedBy: IdentityReference;
}

/**
 * What a person reads before going to a provider: which identity requested access, for which
 * scopes, and to which hosts the token may go.
 */
export async function showConnectionFlow(
  deps: Deps,
  { principal, id }: { principal: string; id: string },
): Promise<ShownFlow> {
  const openFlow = await getOpenFlow(deps, deps.readPrincipal(principal), id);
  const { flow, connection, app, scopes, hosts } = openFlow;
  return {
    connection: presentConnection(connection),
    providerTitle: app.provider.title,
    providerOrigin: new URL(app.provider.authorization_url).origin,
    scopes,
    hosts,
    askedBy: flow.askedBy,
  };
}
