import { AuthorizationResponseError, authorizationCodeGrant, fetchUserInfo } from 'openid-client';
import type { Configuration } from 'openid-client';

import type { CallContext } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { findAdmissionProblem, readClaims } from '../domain/admission.ts';
import type { ProviderClaims } from '../domain/admission.ts';
import type { Identity } from '../domain/identity.ts';
import { userAdmitted } from '../domain/sign-in-events.ts';
import { reasonOf } from '../openid.ts';
import { getIdentity } from '../repository/identities.ts';
import { insertSubject, lockSubject, touchSubject } from '../repository/provider-subjects.ts';
import { consumeFlow } from '../repository/sign-in-flows.ts';
import { secretsOf, sha256 } from '../sign-in/flow-secrets.ts';
import { checkMayComeIn, openSession } from '../sign-in/open-session.ts';
import type { OpenedSession } from '../sign-in/open-session.ts';
import type { SignInProvider } from '../sign-in-providers.ts';
import { insertUserNamedAfter } from '../users/insert-user.ts';

interface FinishFields {
  readonly key: string;
  readonly query: string;
  readonly browserToken: string | null;
  readonly userAgent: string | null;
  readonly deviceToken: string | null;
  readonly context: CallContext;
}

/** Takes the provider's answer, once, in the browser that began; opens a session for who it names. */
export async function finishProviderSignIn(
  deps: Deps,
  { key, query, browserToken, userAgent, deviceToken, context }: FinishFields,
): Promise<OpenedSession & { returnTo: string | null }> {
  const state = new URLSearchParams(query).get('state') ?? '';
  if (browserToken === null) throw notBegunHere();
  const flow = await consumeFlow(deps.db, {
    stateHash: sha256(state),
    browserHash: sha256(browserToken),
    providerKey: key,
  });
  if (flow === undefined) throw notBegunHere();
  const { orgId, returnTo } = flow;
  try {
    const provider = await deps.providers.find({ orgId, key });
    if (provider === undefined) throw notBegunHere();
    const configuration = await provider.connect();
    const { issuer, claims } = await readAnswer(configuration, provider, {
      url: new URL(`${deps.providers.redirectUriOf(key)}?${query}`),
      state,
      ...secretsOf({ browserToken, state }),
    });
    const opened = await deps.db.transaction(async (tx) => {
      const user = await admit(tx, provider, { issuer, claims, context });
      const how = { openedBy: 'provider', description: `with ${provider.name}` } as const;
      return openSession(tx, deps, { user, how, userAgent, deviceToken, context });
    });
    return { ...opened, returnTo };
  } catch (thrown) {
    throw explain(thrown, returnTo);
  }
}

interface Answer {
  readonly url: URL;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Exchanges the code and reads who it is for; from userinfo only what the ID token lacks. */
async function readAnswer(
  configuration: Configuration,
  { allowedGroups }: SignInProvider,
  { url, state, nonce, verifier }: Answer,
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
  const hasMore = configuration.serverMetadata().userinfo_endpoint !== undefined;
  const more =
    isComplete || !hasMore
      ? {}
      : await fetchUserInfo(configuration, tokens.access_token, idToken.sub);
  return { issuer: idToken.iss, claims: readClaims({ ...more, ...idToken }) };
}

/** The user that this subject of this issuer is; somebody new becomes a member, where that is allowed. */
async function admit(
  tx: Transaction,
  provider: SignInProvider,
  { issuer, claims, context }: { issuer: string; claims: ProviderClaims; context: CallContext },
): Promise<Identity> {
  const { orgId } = provider;
  const subject = { orgId, issuer, subject: claims.subject };
  await lockSubject(tx, subject);
  const knownId = await touchSubject(tx, subject);
  const problem = findAdmissionProblem(claims, provider, { isKnown: knownId !== undefined });
  if (problem !== null) throw new AppError('forbidden', `${problem} Ask an admin of the gateway.`);
  if (knownId !== undefined) {
    const known = await getIdentity(tx, { orgId, id: knownId });
    checkMayComeIn(known);
    return known;
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
  await insertSubject(tx, { ...subject, identityId: user.id });
  await appendEvent(tx, userAdmitted({ orgId, user, context }, provider));
  return user;
}

function notBegunHere(): AppError {
  return new AppError(
    'expired',
    'This sign-in was begun in another browser, took too long, or was finished before; begin again.',
  );
}

/** What failed, in words for a person, with where they wanted to go so that they can begin again. */
function explain(thrown: unknown, returnTo: string | null): AppError {
  const details = { return_to: returnTo };
  const reason = reasonOf(thrown);
  if (reason !== undefined) {
    return new AppError(reason.code, reason.message, { details, cause: thrown });
  }
  if (thrown instanceof AuthorizationResponseError) {
    const message = 'The provider did not sign you in; perhaps you cancelled.';
    return new AppError('forbidden', message, { details, cause: thrown });
  }
  return new AppError('unauthenticated', 'What the provider answered could not be verified.', {
    details,
    cause: thrown,
  });
}
