import { bind } from '#bus';
import type { Handlers } from '#bus';
import type { executor } from '#contracts/bus/executor';
import type { Deps } from './deps.ts';
import { allowConnectionHosts } from './connections/allow-connection-hosts.ts';
import { allowSecretHosts } from './secrets/allow-secret-hosts.ts';
import { beginConnectionFlow } from './connections/begin-connection-flow.ts';
import { cancelRequest } from './person-requests/cancel-request.ts';
import { checkRequest } from './person-requests/check-request.ts';
import { createConnection } from './connections/create-connection.ts';
import { createRequest } from './create-request.ts';
import { createSecret } from './secrets/create-secret.ts';
import { declineRequest } from './person-requests/decline-request.ts';
import { deleteConnection } from './connections/delete-connection.ts';
import { deleteOauthApp } from './providers/delete-oauth-app.ts';
import { deleteSecret } from './secrets/delete-secret.ts';
import { describeConnections } from './connections/describe-connections.ts';
import { describeSecrets } from './secrets/describe-secrets.ts';
import { discoverServerTools } from './calls/discover-tools.ts';
import { executeCall } from './calls/execute-call.ts';
import { executeFrozenCall } from './calls/execute-frozen-call.ts';
import { finishRequest } from './person-requests/finish-request.ts';
import { finishConnectionFlow } from './connections/finish-connection-flow.ts';
import { getConnection } from './connections/get-connection.ts';
import { getFile } from './results/get-file.ts';
import { getOauthApp } from './providers/get-oauth-app.ts';
import { getRequest } from './person-requests/get-request.ts';
import { getSecret } from './secrets/get-secret.ts';
import { getSecretRequest } from './secrets/get-secret-request.ts';
import { listConnections } from './connections/list-connections.ts';
import { listOauthApps } from './providers/list-oauth-apps.ts';
import { listRequests } from './person-requests/list-requests.ts';
import { listSecretVersions } from './secrets/list-secret-versions.ts';
import { listSecrets } from './secrets/list-secrets.ts';
import { previewCall } from './calls/preview-call.ts';
import { provideSecret } from './secrets/provide-secret.ts';
import { putOauthApp } from './providers/put-oauth-app.ts';
import { refreshConnection } from './connections/refresh-connection.ts';
import { repairConnection } from './connections/repair-connection.ts';
import { requestSecret } from './secrets/request-secret.ts';
import { restoreSecretVersion } from './secrets/restore-secret-version.ts';
import { showConnectionFlow } from './connections/show-connection-flow.ts';
import { showDryRequest } from './calls/show-dry-request.ts';
import { updateSecret } from './secrets/update-secret.ts';

export function createHandlers(deps: Deps): Handlers<typeof executor> {
  return bind(deps, {
    execute: executeCall,
    executeFrozen: executeFrozenCall,
    preview: previewCall,
    showRequest: showDryRequest,
    discoverTools: discoverServerTools,
    describeSecrets,
    allowSecretHosts,
    describeConnections,
    allowConnectionHosts,
    listConnections,
    getConnection,
    createConnection,
    refreshConnection,
    deleteConnection,
    showConnectionFlow,
    beginConnectionFlow,
    repairConnection,
    finishConnectionFlow,
    listOauthApps,
    getOauthApp,
    putOauthApp,
    deleteOauthApp,
    getFile,
    listSecrets,
    createSecret,
    getSecret,
    updateSecret,
    listSecretVersions,
    restoreSecretVersion,
    deleteSecret,
    requestSecret,
    getSecretRequest,
    provideSecret,
    createRequest,
    listRequests,
    getRequest,
    declineRequest,
    cancelRequest,
    checkRequest,
    finishRequest,
    ping: async ({ slots, relay }) => ({ busy: slots.isBusy(), outbox: relay.backlog() }),
  });
}
