import type { Handlers } from '#bus';
import type { auth } from '#contracts/bus/auth';
import type { signInEndpoints } from '#contracts/bus/sign-in';
import type { Deps } from './deps.ts';
import { changeOrg } from './usecases/change-org.ts';
import { changeUser } from './usecases/change-user.ts';
import { createSignInLink } from './usecases/create-sign-in-link.ts';
import { createUser } from './usecases/create-user.ts';
import { deleteSignInProvider } from './usecases/delete-sign-in-provider.ts';
import { describePassword } from './usecases/describe-password.ts';
import { endOtherSessions } from './usecases/end-other-sessions.ts';
import { endSession } from './usecases/end-session.ts';
import { finishProviderSignIn } from './usecases/finish-provider-sign-in.ts';
import { getOrg } from './usecases/get-org.ts';
import { getSignInProvider } from './usecases/get-sign-in-provider.ts';
import { inviteUser } from './usecases/invite-user.ts';
import { listSessions } from './usecases/list-sessions.ts';
import { listSignInOptions } from './usecases/list-sign-in-options.ts';
import { listSignInProviders } from './usecases/list-sign-in-providers.ts';
import { listUsers } from './usecases/list-users.ts';
import { putSignInProvider } from './usecases/put-sign-in-provider.ts';
import { setPassword } from './usecases/set-password.ts';
import { signInWithPassword } from './usecases/sign-in-with-password.ts';
import { startProviderSignIn } from './usecases/start-provider-sign-in.ts';

/** The endpoints of users and signing in (contracts/bus/sign-in.ts). */
export function createSignInHandlers(
  deps: Deps,
): Pick<Handlers<typeof auth>, keyof typeof signInEndpoints> {
  return {
    signInWithPassword: (request) => signInWithPassword(deps, request),
    describePassword: (request) => describePassword(deps, request),
    setPassword: (request) => setPassword(deps, request),
    listSignInOptions: (request) => listSignInOptions(deps, request),
    startProviderSignIn: (request) => startProviderSignIn(deps, request),
    finishProviderSignIn: (request) => finishProviderSignIn(deps, request),
    listSessions: (request) => listSessions(deps, request),
    endSession: (request) => endSession(deps, request),
    endOtherSessions: (request) => endOtherSessions(deps, request),
    listUsers: (request) => listUsers(deps, request),
    createUser: (request) => createUser(deps, request),
    inviteUser: (request) => inviteUser(deps, request),
    changeUser: (request) => changeUser(deps, request),
    createSignInLink: (request) => createSignInLink(deps, request),
    getOrg: (request) => getOrg(deps, request),
    changeOrg: (request) => changeOrg(deps, request),
    listSignInProviders: (request) => listSignInProviders(deps, request),
    getSignInProvider: (request) => getSignInProvider(deps, request),
    putSignInProvider: (request) => putSignInProvider(deps, request),
    deleteSignInProvider: (request) => deleteSignInProvider(deps, request),
  };
}
