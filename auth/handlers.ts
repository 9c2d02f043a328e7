import type { Handlers } from '#bus';
import type { auth } from '#contracts/bus/auth';
import type { Deps } from './deps.ts';
import { archiveIdentity } from './usecases/archive-identity.ts';
import { authenticate } from './usecases/authenticate.ts';
import { createAgentKey } from './usecases/create-agent-key.ts';
import { createAgent } from './usecases/create-agent.ts';
import { createSubagent } from './usecases/create-subagent.ts';
import { getChain } from './usecases/get-chain.ts';
import { getIdentity } from './usecases/get-identity.ts';
import { getMe } from './usecases/get-me.ts';
import { getOrgSettings } from './usecases/get-org-settings.ts';
import { getSelfApproval } from './usecases/get-self-approval.ts';
import { listAgentKeys } from './usecases/list-agent-keys.ts';
import { listIdentities } from './usecases/list-identities.ts';
import { listOauthClients } from './usecases/list-oauth-clients.ts';
import {
  deleteMcpConnection,
  listMcpConnections,
  updateMcpConnection,
} from './usecases/manage-mcp-connections.ts';
import { restoreIdentity } from './usecases/restore-identity.ts';
import { revokeAgentKey } from './usecases/revoke-agent-key.ts';
import { revokeIdentity } from './usecases/revoke-identity.ts';
import { createSignInHandlers } from './sign-in-handlers.ts';
import { revokeOauthClient } from './usecases/revoke-oauth-client.ts';
import { listPublicKeys } from './usecases/list-public-keys.ts';
import { signDecision } from './usecases/sign-decision.ts';
import { signIn } from './usecases/sign-in.ts';
import { signOut } from './usecases/sign-out.ts';
import { updateIdentity } from './usecases/update-identity.ts';

export function createHandlers(deps: Deps): Handlers<typeof auth> {
  return {
    authenticate: (request) => authenticate(deps, request),
    signIn: (request) => signIn(deps, request),
    signOut: (request) => signOut(deps, request),
    getChain: (request) => getChain(deps, request),
    getOrgSettings: (request) => getOrgSettings(deps, request),
    getMe: (request) => getMe(deps, request),
    listIdentities: (request) => listIdentities(deps, request),
    getIdentity: (request) => getIdentity(deps, request),
    createAgent: (request) => createAgent(deps, request),
    createSubagent: (request) => createSubagent(deps, request),
    updateIdentity: (request) => updateIdentity(deps, request),
    archiveIdentity: (request) => archiveIdentity(deps, request),
    restoreIdentity: (request) => restoreIdentity(deps, request),
    revokeIdentity: (request) => revokeIdentity(deps, request),
    listAgentKeys: (request) => listAgentKeys(deps, request),
    createAgentKey: (request) => createAgentKey(deps, request),
    revokeAgentKey: (request) => revokeAgentKey(deps, request),
    listOauthClients: (request) => listOauthClients(deps, request),
    revokeOauthClient: (request) => revokeOauthClient(deps, request),
    listMcpConnections: (request) => listMcpConnections(deps, request),
    updateMcpConnection: (request) => updateMcpConnection(deps, request),
    deleteMcpConnection: (request) => deleteMcpConnection(deps, request),
    getSelfApproval: (request) => getSelfApproval(deps, request),
    listPublicKeys: () => listPublicKeys(deps),
    signDecision: (request) => signDecision(deps, request),
    ...createSignInHandlers(deps),
    ping: async () => ({}),
  };
}
