import type { Handlers } from '#bus';
import type { executor } from '#contracts/bus/executor';
import { createConnectionHandlers } from './connection-handlers.ts';
import type { Deps } from './deps.ts';
import { allowSecretHosts } from './usecases/allow-secret-hosts.ts';
import { createSecret } from './usecases/create-secret.ts';
import { deleteSecret } from './usecases/delete-secret.ts';
import { describeSecrets } from './usecases/describe-secrets.ts';
import { discoverServerTools } from './usecases/discover-tools.ts';
import { executeCall } from './usecases/execute-call.ts';
import { executeFrozenCall } from './usecases/execute-frozen-call.ts';
import { getSecretRequest } from './usecases/get-secret-request.ts';
import { getFile } from './usecases/get-file.ts';
import { getSecret } from './usecases/get-secret.ts';
import { listSecretVersions } from './usecases/list-secret-versions.ts';
import { listSecrets } from './usecases/list-secrets.ts';
import { previewCall } from './usecases/preview-call.ts';
import { provideSecret } from './usecases/provide-secret.ts';
import { requestSecret } from './usecases/request-secret.ts';
import { restoreSecretVersion } from './usecases/restore-secret-version.ts';
import { showDryRequest } from './usecases/show-request.ts';
import { updateSecret } from './usecases/update-secret.ts';

export function createHandlers(deps: Deps): Handlers<typeof executor> {
  return {
    execute: (request, deadline) => executeCall(deps, request, deadline),
    executeFrozen: (request, deadline) => executeFrozenCall(deps, request, deadline),
    preview: (request, deadline) => previewCall(deps, request, deadline),
    showRequest: (request, deadline) => showDryRequest(deps, request, deadline),
    discoverTools: (request, deadline) => discoverServerTools(deps, request, deadline),
    describeSecrets: (request) => describeSecrets(deps, request),
    allowSecretHosts: (request, deadline) => allowSecretHosts(deps, request, deadline),
    ...createConnectionHandlers(deps),
    getFile: (request) => getFile(deps, request),
    listSecrets: (request, deadline) => listSecrets(deps, request, deadline),
    createSecret: (request) => createSecret(deps, request),
    getSecret: (request, deadline) => getSecret(deps, request, deadline),
    updateSecret: (request) => updateSecret(deps, request),
    listSecretVersions: (request) => listSecretVersions(deps, request),
    restoreSecretVersion: (request) => restoreSecretVersion(deps, request),
    deleteSecret: (request) => deleteSecret(deps, request),
    requestSecret: (request) => requestSecret(deps, request),
    getSecretRequest: (request) => getSecretRequest(deps, request),
    provideSecret: (request) => provideSecret(deps, request),
    ping: async () => ({ busy: deps.slots.isBusy() }),
  };
}
