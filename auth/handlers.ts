import { bind } from '#bus';
import type { Handlers } from '#bus';
import type { auth } from '#contracts/bus/auth';
import type { Relay } from '#events';
import type { Deps } from './deps.ts';
import { archiveIdentity } from './identities/archive-identity.ts';
import { authenticate } from './authentication/authenticate.ts';
import { changeOrg } from './orgs/change-org.ts';
import { changeProfile } from './profiles/change-profile.ts';
import { changeUser } from './users/change-user.ts';
import { checkSignInLink } from './sign-in-links/check-sign-in-link.ts';
import { createAgent } from './identities/create-agent.ts';
import { createAgentKey } from './agent-keys/create-agent-key.ts';
import { createSignInLink } from './users/create-sign-in-link.ts';
import { createSubagent } from './identities/create-subagent.ts';
import { createUser } from './users/create-user.ts';
import { deleteSignInProvider } from './sign-in-providers/delete-sign-in-provider.ts';
import { describePassword } from './passwords/describe-password.ts';
import { endOtherSessions } from './sessions/end-other-sessions.ts';
import { endSession } from './sessions/end-session.ts';
import { finishProviderSignIn } from './sign-in-providers/finish-provider-sign-in.ts';
import { getChain } from './identities/get-chain.ts';
import { getIdentity } from './identities/get-identity.ts';
import { getMe } from './identities/get-me.ts';
import { getOrg } from './orgs/get-org.ts';
import { getOrgSettings } from './orgs/get-org-settings.ts';
import { getProfile } from './profiles/get-profile.ts';
import { getSelfApproval } from './oauth-clients/get-self-approval.ts';
import { getSignInProvider } from './sign-in-providers/get-sign-in-provider.ts';
import { inviteUser } from './users/invite-user.ts';
import { listAgentKeys } from './agent-keys/list-agent-keys.ts';
import { listDisplayNames } from './users/list-display-names.ts';
import { listIdentities } from './identities/list-identities.ts';
import { listOauthClients } from './oauth-clients/list-oauth-clients.ts';
import { listPublicKeys } from './decisions/list-public-keys.ts';
import { listSessions } from './sessions/list-sessions.ts';
import { listSignInOptions } from './sign-in-providers/list-sign-in-options.ts';
import { listSignInProviders } from './sign-in-providers/list-sign-in-providers.ts';
import { listUsers } from './users/list-users.ts';
import {
  deleteMcpConnection,
  listMcpConnections,
  updateMcpConnection,
} from './oauth-clients/manage-mcp-connections.ts';
import { putSignInProvider } from './sign-in-providers/put-sign-in-provider.ts';
import { restoreIdentity } from './identities/restore-identity.ts';
import { revokeAgentKey } from './agent-keys/revoke-agent-key.ts';
import { revokeIdentity } from './identities/revoke-identity.ts';
import { revokeOauthClient } from './oauth-clients/revoke-oauth-client.ts';
import { setPassword } from './passwords/set-password.ts';
import { signDecision } from './decisions/sign-decision.ts';
import { signIn } from './sign-in-links/sign-in.ts';
import { signInWithPassword } from './passwords/sign-in-with-password.ts';
import { signOut } from './sessions/sign-out.ts';
import { startProviderSignIn } from './sign-in-providers/start-provider-sign-in.ts';
import { updateIdentity } from './identities/update-identity.ts';
import { visitProfile } from './profiles/visit-profile.ts';

export function createHandlers(deps: Deps, relay: Pick<Relay, 'backlog'>): Handlers<typeof auth> {
  return bind(deps, {
    authenticate,
    signIn,
    checkSignInLink,
    signOut,
    getChain,
    getOrgSettings,
    getMe,
    listIdentities,
    getIdentity,
    createAgent,
    createSubagent,
    updateIdentity,
    archiveIdentity,
    restoreIdentity,
    revokeIdentity,
    listAgentKeys,
    createAgentKey,
    revokeAgentKey,
    listOauthClients,
    revokeOauthClient,
    listMcpConnections,
    updateMcpConnection,
    deleteMcpConnection,
    getSelfApproval,
    listPublicKeys,
    signDecision,
    signInWithPassword,
    describePassword,
    setPassword,
    listSignInOptions,
    startProviderSignIn,
    finishProviderSignIn,
    listSessions,
    endSession,
    endOtherSessions,
    listUsers,
    createUser,
    inviteUser,
    changeUser,
    createSignInLink,
    getProfile,
    changeProfile,
    visitProfile,
    listDisplayNames,
    getOrg,
    changeOrg,
    listSignInProviders,
    getSignInProvider,
    putSignInProvider,
    deleteSignInProvider,
    ping: async () => ({ outbox: relay.backlog() }),
  });
}
