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
import { getSecret } from './usecases/get-secret.ts';
import { listSecretVersions } from './usecases/list-secret-versions.ts';
import { listSecrets } from './usecases/list-secrets.ts';
import { previewCall } from './usecases/preview-call.ts';
import { showDryRequest } from './usecases/show-request.ts';

export function createHandlers(deps: Deps): Handlers<typeof executor> {
  return {
    execute: (request, deadline) => executeCall(deps, request, deadline),
    executeFrozen: (request, deadline) => executeFrozenCall(deps, request, deadline),
    preview: (request, deadline) => previewCall(deps, request, deadline),
    showRequest: (request, deadline) => showDryRequest(deps, request, deadline),
    discoverTools: (request, deadline) => discoverServerTools(deps, request, deadline),
    describeSecrets: (request) => describeSecrets(deps, request),
    allowSecretHosts: (request) => allowSecretHosts(deps, request),
    ...createConnectionHandlers(deps),
    listSecrets: (request) => listSecrets(deps, request),
    createSecret: (request) => createSecret(deps, request),
    getSecret: (request) => getSecret(deps, request),
    listSecretVersions: (request) => listSecretVersions(deps, request),
    deleteSecret: (request) => deleteSecret(deps, request),
    ping: async () => ({}),
  };
}
