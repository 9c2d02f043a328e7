import type { Handlers } from '#bus';
import type { connectionEndpoints } from '#contracts/bus/connections';
import type { executor } from '#contracts/bus/executor';
import type { Deps } from './deps.ts';
import { allowConnectionHosts } from './usecases/allow-connection-hosts.ts';
import { beginConnectionFlow } from './usecases/begin-connection-flow.ts';
import { createConnection } from './usecases/create-connection.ts';
import { deleteConnection } from './usecases/delete-connection.ts';
import { deleteOauthApp } from './usecases/delete-oauth-app.ts';
import { describeConnections } from './usecases/describe-connections.ts';
import { finishConnectionFlow } from './usecases/finish-connection-flow.ts';
import { getConnection } from './usecases/get-connection.ts';
import { getOauthApp } from './usecases/get-oauth-app.ts';
import { listConnections } from './usecases/list-connections.ts';
import { listOauthApps } from './usecases/list-oauth-apps.ts';
import { putOauthApp } from './usecases/put-oauth-app.ts';
import { refreshConnection } from './usecases/refresh-connection.ts';
import { repairConnection } from './usecases/repair-connection.ts';
import { showConnectionFlow } from './usecases/show-connection-flow.ts';

/** The endpoints of connections and provider apps (contracts/bus/connections.ts). */
export function createConnectionHandlers(
  deps: Deps,
): Pick<Handlers<typeof executor>, keyof typeof connectionEndpoints> {
  return {
    describeConnections: (request) => describeConnections(deps, request),
    allowConnectionHosts: (request, deadline) => allowConnectionHosts(deps, request, deadline),
    listConnections: (request) => listConnections(deps, request),
    getConnection: (request) => getConnection(deps, request),
    createConnection: (request, deadline) => createConnection(deps, request, deadline),
    refreshConnection: (request) => refreshConnection(deps, request),
    deleteConnection: (request) => deleteConnection(deps, request),
    showConnectionFlow: (request) => showConnectionFlow(deps, request),
    beginConnectionFlow: (request) => beginConnectionFlow(deps, request),
    repairConnection: (request) => repairConnection(deps, request),
    finishConnectionFlow: (request) => finishConnectionFlow(deps, request),
    listOauthApps: (request) => listOauthApps(deps, request),
    getOauthApp: (request) => getOauthApp(deps, request),
    putOauthApp: (request, deadline) => putOauthApp(deps, request, deadline),
    deleteOauthApp: (request) => deleteOauthApp(deps, request),
  };
}
