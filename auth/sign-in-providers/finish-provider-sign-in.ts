import { AuthorizationResponseError, authorizationCodeGrant, fetchUserInfo } from 'openid-client';
import type { Configuration } from 'openid-client';

import type { CallContext } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { findAdmissionProblem, readClaims } from './domain/provider-claims.ts';
import type { ProviderClaims } from './domain/provider-claims.ts';
import type { Identity } from '../identities/domain/identity.ts';
import { userAdmittedEvent } from '../sessions/domain/sign-in-events.ts';
import { findAppErrorIn } from './openid.ts';
import { getIdentity } from '../identities/identities.sql.ts';
import { insertSubject, lockSubject, touchSubject } from './provider-subjects.sql.ts';
import { consumeSignInFlow } from './sign-in-flows.sql.ts';
import { deriveFlowSecrets, sha256 } from './flow-secrets.ts';
import { assertMaySignIn, openSession } from '../sessions/open-session.ts';
import type { OpenedSession } from '../sessions/open-session.ts';
import type { SignInProvider } from './sign-in-providers.ts';
import { insertUserNamedAfter } from '../users/insert-user.ts';

interface FinishSignInFields {
  readonly key: string;
  readonly query: string;
  readonly browserToken: string | null;
  readonly userAgent: string | null;
  readonly deviceToken: string | null;
  readonly context: CallContext;
}

/**
 * Accepts the provider's response once, in the browser that started the sign-in. Opens a session
 * for the user whom the response names.
 */
export async function finishProviderSignIn(
  deps: Deps,
  { key, query, browserToken, userAgent, deviceToken, context }: FinishSignInFields,
): Promise<OpenedSession & { returnTo: string | null }> {
  const state = new URLSearchParams(query).get('state') ?? '';
  if (browserToken === null) throw notBegunHereError();
  const flow = await consumeSignInFlow(deps.db, {
    stateHash: sha256(state),
    browserHash: sha256(browserToken),
    providerKey: key,
  });
  if (flow === undefined) throw notBegunHereError();
  const { orgId, returnTo } = flow;
  try {
    const provider = await deps.providers.find({ orgId, key });
    if (provider === undefined) throw notBegunHereError();
    const configuration = await provider.connect();
    const { issuer, claims } = await readAnswer(configuration, provider, {
      url: new URL(`${deps.providers.redirectUriOf(key)}?${query}`),
      state,
      ...deriveFlowSecrets({ browserToken, state }),
    });
    const openedSession = await deps.db.transaction(async (tx) => {
      const user = await admitUser(tx, provider, { issuer, claims, context });
      const sessionOrigin = { openedBy: 'provider', description: `with ${provider.name}` } as const;
      return openSession(tx, deps, { user, how: sessionOrigin, userAgent, deviceToken, context });
    });
    return { ...openedSession, returnTo };
  } catch (error) {
    throw explainFailure(error, returnTo);
  }
}

interface ProviderAnswer {
  readonly url: URL;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/**
 * Exchanges the code for tokens and reads the claims. The userinfo endpoint only adds claims that
 * the ID token lacks.
 */
async function readAnswer(
  configuration: Configuration,
  { allowedGroups }: SignInProvider,
  { url, state, nonce, verifier }: ProviderAnswer,
): Promise<{ issuer: string; claims: ProviderClaims }> {
  const tokens = await authorizationCodeGrant(configuration, url, {
    expectedState: state,
    expectedNonce: nonce,
    pkceCodeVerifier: verifier,
    idTokenExpected: true,
  });
  const idToken = tokens.claims();
  if (idToken === undefined) throw new Error('the provider sent no ID token');
  const isComplete =
    idToken['email'] !== undefined &&
    (allowedGroups.length === 0 || idToken['groups'] !== undefined);
  const hasUserinfo = configuration.serverMetadata().userinfo_endpoint !== undefined;
  const userinfo =
    isComplete || !hasUserinfo
      ? {}
      : await fetchUserInfo(configuration, tokens.access_token, idToken.sub);
  return { issuer: idToken.iss, claims: readClaims({ ...userinfo, ...idToken }) };
}

/**
 * Finds the user with this subject. A person with a new subject becomes a member if the rules of
 * the provider allow it.
 */
async function admitUser(
  tx: Transaction,
  provider: SignInProvider,
  { issuer, claims, context }: { issuer: string; claims: ProviderClaims; context: CallContext },
): Promise<Identity> {
  const { orgId } = provider;
  const subjectKey = { orgId, issuer, subject: claims.subject };
  await lockSubject(tx, subjectKey);
  const knownUserId = await touchSubject(tx, subjectKey);
  const problem = findAdmissionProblem(claims, provider, { isKnown: knownUserId !== undefined });
  if (problem !== null) throw new AppError('forbidden', `${problem} Ask an admin of the gateway.`);
  if (knownUserId !== undefined) {
    const identity = await getIdentity(tx, { orgId, id: knownUserId });
    assertMaySignIn(identity);
    return identity;
  }
  const email = claims.verifiedEmail;
  const user = await insertUserNamedAfter(tx, {
    orgId,
    email,
    role: 'member' as const,
    createdBy: null,
    source: email ?? '',
  });
  if (user === undefined) throw new Error('no name was free for a new user');
  await insertSubject(tx, { ...subjectKey, identityId: user.id });
  await appendEvent(tx, userAdmittedEvent({ orgId, user, context }, provider));
  return user;
}

function notBegunHereError(): AppError {
  return new AppError(
    'expired',
    'This sign-in was begun in another browser, took too long, or was finished before; begin again.',
  );
}

/**
 * Explains a failure to the person. The details contain `return_to`, so that the person can start
 * again.
 */
function explainFailure(error: unknown, returnTo: string | null): AppError {
  const details = { return_to: returnTo };
  const reason = findAppErrorIn(error);
  if (reason !== undefined) {
    return new AppError(reason.code, reason.message, { details, cause: error });
  }
  if (error instanceof AuthorizationResponseError) {
    const message = 'The provider did not sign you in; perhaps you cancelled.';
    return new AppError('forbidden', message, { details, cause: error });
  }
  return new AppError('unauthenticated', 'What the provider answered could not be verified.', {
    details,
    cause: error,
  });
}
