import type { Connection } from '#contracts/http/connections';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { lookUpAccount } from '../connections/account.ts';
import type { Account } from '../connections/account.ts';
import { scopesOf } from '../connections/flow.ts';
import { flowBinding, hashOfState, sessionOf } from '../connections/flow-state.ts';
import { storeGrant } from '../connections/grant.ts';
import { getWritableConnection, presentConnection } from '../connections/present.ts';
import type { ProviderApp } from '../connections/provider-apps.ts';
import { revokeAtProvider } from '../connections/revoke-at-provider.ts';
import { requestTokens } from '../connections/token-request.ts';
import type { Deps } from '../deps.ts';
import { isFromProvider, readAuthorizationAnswer } from '../domain/authorization-answer.ts';
import { hostsOfAnswer } from '../domain/token-answer.ts';
import type { GrantedTokens } from '../domain/token-answer.ts';
import type { StoredConnection } from '../repository/connection.ts';
import { consumeConnectionFlow } from '../repository/connection-flow.ts';
import type { StoredFlow } from '../repository/connection-flow.ts';

interface FinishFields {
  readonly principal: string;
  readonly provider: string;
  readonly query: string;
  readonly context: CallContext;
}

interface Finished {
  connection: Connection;
  providerTitle: string;
  missingScopes: string[];
}

/** Takes the provider's answer, once, in the session that began; the connection is active after it. */
export async function finishConnectionFlow(
  deps: Deps,
  { principal: signed, provider: key, query, context }: FinishFields,
): Promise<Finished> {
  const principal = deps.readPrincipal(signed);
  const sessionId = sessionOf(principal);
  const answer = readAuthorizationAnswer(query);
  const { orgId } = principal;
  const stateHash = hashOfState(answer.state);
  const at = { orgId, sessionId, provider: key, stateHash };
  const flow = await consumeConnectionFlow(deps.db, at);
  if (flow === undefined) throw notBegunHere();
  const connection = await getWritableConnection(deps.db, principal, flow.connectionId);
  const app = await getSameApp(deps, flow);
  if (!isFromProvider(app.provider, answer.iss)) throw notBegunHere();
  if (answer.code === null) throw notGranted(app, answer.error);

  const { tokens, body } = await redeem(deps, app, { flow, stateHash, code: answer.code });
  const account = await lookUpAccount(deps, app, { tokens, body });
  await checkSameAccount(deps, app, { connection, account, tokens });
  const scopes = scopesOf(app, flow.scopes);
  const stored = await storeGrant(deps, {
    connection,
    app,
    tokens,
    account,
    scopes: tokens.scopes ?? scopes,
    hosts: [...app.provider.hosts, ...flow.hosts, ...hostsOfAnswer(app.provider, body)],
    by: { principal, context },
  });
  return {
    connection: presentConnection(stored),
    providerTitle: app.provider.title,
    missingScopes: missingOf(app, scopes, stored.grantedScopes),
  };
}

/** As it was when the browser was sent away: a code must not go to a server that was put in its place since. */
async function getSameApp({ apps }: Pick<Deps, 'apps'>, flow: StoredFlow): Promise<ProviderApp> {
  const { orgId, provider, appId, appVersion } = flow;
  const app = await apps.find({ orgId, provider });
  const isSame =
    app !== undefined &&
    (app.stored?.id ?? null) === appId &&
    (app.stored?.version ?? null) === appVersion;
  if (isSame) return app;
  throw new AppError('conflict', 'An admin has changed the set-up of this provider; begin again.');
}

async function redeem(
  deps: Deps,
  app: ProviderApp,
  { flow, stateHash, code }: { flow: StoredFlow; stateHash: Buffer; code: string },
): Promise<{ tokens: GrantedTokens; body: unknown }> {
  const { sealedVerifier, provider } = flow;
  const binding = flowBinding({ ...flow, stateHash });
  const verifier = sealedVerifier && (await deps.vault.unseal(deps.db, binding, sealedVerifier));
  const answer = await requestTokens(deps, app, {
    url: app.provider.token_url,
    parameters: {
      grant_type: 'authorization_code',
      code,
      redirect_uri: deps.apps.redirectUriOf(provider),
      ...(verifier === null ? {} : { code_verifier: verifier }),
    },
  });
  if (answer.kind === 'granted') return answer;
  const why = answer.kind === 'refused' ? answer.error : answer.problem;
  throw new AppError(
    'upstream_incomplete',
    `${app.provider.title} gave no access token (${why}). Try again; if it happens again, an admin should check how the provider is set up here.`,
  );
}

/** A repair must not put another account in the place of the one that services act on. */
async function checkSameAccount(
  deps: Deps,
  app: ProviderApp,
  {
    connection,
    account,
    tokens,
  }: { connection: StoredConnection; account: Account | null; tokens: GrantedTokens },
): Promise<void> {
  const { accountId, accountLabel } = connection;
  if (accountId === null || accountId === account?.id) return;
  await revokeAtProvider(deps, app, tokens).catch((thrown: unknown) =>
    deps.logger.warn({ err: thrown, connectionId: connection.id }, 'not revoked at the provider'),
  );
  throw new AppError(
    'conflict',
    account === null
      ? `${app.provider.title} did not say whose account this is, so it was not put in the place of ${accountLabel}; try again.`
      : `You were signed in at ${app.provider.title} as ${account.label}, but this connection is for ${accountLabel}. Sign in there as ${accountLabel}, or make another connection under another name.`,
  );
}

/** Asked for and not granted; what only makes a refresh token come along is often not named. */
function missingOf(
  { provider }: ProviderApp,
  asked: readonly string[],
  granted: readonly string[],
): string[] {
  const quiet = provider.scopes_always;
  return asked.filter((scope) => !granted.includes(scope) && !quiet.includes(scope));
}

function notBegunHere(): AppError {
  return new AppError(
    'expired',
    'This was begun in another browser or by somebody else, took longer than ten minutes, or was finished before.',
  );
}

function notGranted({ provider }: ProviderApp, error: string | null): AppError {
  const isCancelled = error === 'access_denied' || error === 'user_cancelled_login';
  const code = error !== null && /^[\w.-]{1,60}$/.test(error) ? ` (${error})` : '';
  return new AppError(
    'forbidden',
    isCancelled
      ? `You did not allow it at ${provider.title}, so nothing was connected.`
      : `${provider.title} did not give access${code}, so nothing was connected.`,
  );
}
