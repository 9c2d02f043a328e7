import type { Handlers } from '#bus';
import type { auth } from '#contracts/bus/auth';
import type { signInEndpoints } from '#contracts/bus/sign-in';
import type { Deps } from './deps.ts';
import {
  deleteSignInProvider,
  getSignInProvider,
  listSignInProviders,
  putSignInProvider,
} from './usecases/manage-sign-in-providers.ts';
import { changeOrg, getOrg } from './usecases/org.ts';
import { endOtherSessions, endSession, listSessions } from './usecases/sessions.ts';
import { describePassword, setPassword } from './usecases/set-password.ts';
import { signInWithPassword } from './usecases/sign-in-with-password.ts';
import {
  finishProviderSignIn,
  listSignInOptions,
  startProviderSignIn,
} from './usecases/sign-in-with-provider.ts';
import {
  changeUser,
  createSignInLink,
  createUser,
  inviteUser,
  listUsers,
} from './usecases/users.ts';

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
