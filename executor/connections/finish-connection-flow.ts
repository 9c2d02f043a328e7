import type { AccountPin, AccountValue } from '#contracts/account-value';
import type { Connection } from '#contracts/http/connections';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { missingScopes } from '#providers';
import { isSameLookUp } from '#templates';
import { bindAccount, pinTo } from '../account-values/bind-account.ts';
import type { Binding } from '../account-values/bind-account.ts';
import { lookUpAccountValues } from '../account-values/look-up-account-values.ts';
import { findChoices, keepGrant, takeGrant } from '../account-values/waiting-grants.ts';
import type { FlowKey, Grant } from '../account-values/waiting-grants.ts';
import type { Actor } from '../credentials/actor.ts';
import { referenceOf } from '../credentials/domain/credential-rules.ts';
import { lookUpAccount } from '../providers/look-up-account.ts';
import { scopesOf } from './get-open-flow.ts';
import { flowSealContextOf, hashOfState, sessionIdOf } from './flow-state.ts';
import { isAskedInVain, storeGrant } from './store-grant.ts';
import { getWritableConnection, presentConnection } from './present-connection.ts';
import type { ProviderApp } from '../providers/provider-apps.ts';
import { checkSameAccount, redeemCode } from '../providers/redeem-code.ts';
import type { Deps } from '../deps.ts';
import {
  isFromProvider,
  readAuthorizationAnswer,
} from '../providers/domain/authorization-answer.ts';
import { readGrantedScopes } from '../providers/domain/granted-scopes.ts';
import { hostsOfAnswer } from '../providers/domain/token-answer.ts';
import type { GrantedTokens } from '../providers/domain/token-answer.ts';
import type { StoredConnection } from './connection.sql.ts';
import { giveUpTokens, lockTokens } from './connection-tokens.sql.ts';
import { createConnectionEvent } from './connection-event.ts';
import { consumeConnectionFlow, findConnectionFlow } from './connection-flow.sql.ts';
import type { StoredFlow } from './connection-flow.sql.ts';

interface FinishFields {
  readonly principal: string;
  readonly provider: string;
  readonly query: string;
  readonly context: CallContext;
  /** Whether the caller can let a person choose between several values. */
  readonly canChoose?: true | undefined;
  readonly chosen?: string | undefined;
}

interface FinishedFlow {
  connection: Connection;
  providerTitle: string;
  missingScopes: string[];
  /** True when a scope was requested again and again not granted. */
  isRepeated?: true;
  choices?: AccountValue[];
}

/** A flow that the provider has answered, with everything that is needed to store the grant. */
interface Answered {
  readonly flow: StoredFlow;
  readonly connection: StoredConnection;
  readonly app: ProviderApp;
  readonly by: Actor;
}

/**
 * Accepts the provider's answer, once, and only in the browser session that began the flow.
 * Activates the connection, or asks for which of several values of the account the connection is.
 */
export async function finishConnectionFlow(
  deps: Deps,
  { principal: signed, provider: key, query, context, canChoose, chosen }: FinishFields,
): Promise<FinishedFlow> {
  const principal = deps.readPrincipal(signed);
  const sessionId = sessionIdOf(principal);
  const answer = readAuthorizationAnswer(query);
  const { orgId } = principal;
  const stateHash = hashOfState(answer.state);
  const flowKey = { orgId, sessionId, provider: key, stateHash };
  const by = { principal, context };
  if (chosen !== undefined) return storeChosen(deps, by, { flowKey, chosen });
  const flow = await consumeConnectionFlow(deps.db, flowKey);
  if (flow === undefined) return showChoices(deps, by, flowKey);
  const answered = await getAnswered(deps, by, flow);
  const { app, connection } = answered;
  if (!isFromProvider(app.provider, answer.iss)) throw flowNotBegunHereError();
  if (answer.code === null) throw accessNotGrantedError(app, answer.error);

  const { sealedVerifier } = flow;
  const sealContext = flowSealContextOf({ ...flow, stateHash });
  const verifier =
    sealedVerifier && (await deps.vault.unseal(deps.db, sealContext, sealedVerifier));
  const redirectUri = deps.apps.redirectUriOf(key);
  const { code } = answer;
  const { tokens, body } = await redeemCode(deps, app, { code, verifier, redirectUri });
  const account = await lookUpAccount(deps, app, { tokens, body });
  await checkSameAccount(deps, app, { connection, account, tokens });
  const grant = { tokens, account, hosts: hostsOfAnswer(app.provider, body) };
  const binding = await bind(deps, answered, tokens);
  switch (binding?.kind) {
    case 'nothing':
      throw nothingToOpen(app);
    case 'lost':
      return await endLost(deps, answered, binding.pin);
    case 'choose': {
      const choices = [...binding.choices];
      if (canChoose !== true) throw cannotChoose();
      await keepGrant(deps, { orgId, flowId: flow.id, grant, choices });
      return chooseFrom(answered, choices);
    }
    default:
      return store(deps, answered, { grant, pin: binding?.pin ?? null });
  }
}

async function getAnswered(deps: Deps, by: Actor, flow: StoredFlow): Promise<Answered> {
  const connection = await getWritableConnection(deps.db, by.principal, flow.connectionId);
  return { flow, connection, app: await requireSameApp(deps, flow, connection), by };
}

async function store(
  deps: Deps,
  { flow, connection, app, by }: Answered,
  { grant, pin }: { grant: Grant; pin: AccountPin | null },
): Promise<FinishedFlow> {
  const { tokens, account } = grant;
  const requestedScopes = scopesOf(app, flow.scopes);
  const { scopes, reported } = readGrantedScopes(app.provider, {
    asked: requestedScopes,
    reported: tokens.scopes,
  });
  const withheld = missingScopesOf(app, requestedScopes, scopes);
  const storedConnection = await storeGrant(deps, {
    connection,
    app,
    tokens,
    account,
    scopes: { scopes, reportedScopes: reported, withheldScopes: withheld },
    hosts: [...app.provider.hosts, ...flow.hosts, ...grant.hosts],
    pin,
    by,
  });
  return {
    connection: presentConnection(storedConnection),
    providerTitle: app.provider.title,
    missingScopes: withheld,
    ...(isAskedInVain(connection, withheld) ? { isRepeated: true } : {}),
  };
}

/**
 * Looks up the values to which the account has access, if the template or the connection requires
 * it.
 */
async function bind(
  deps: Deps,
  { flow: { address }, connection: { pin, name }, app }: Answered,
  tokens: GrantedTokens,
): Promise<Binding | null> {
  const lookUp = pin?.from ?? address?.lookUp;
  if (lookUp === undefined) return null;
  if (address !== null && pin !== null && !isSameLookUp(pin.from, address.lookUp)) {
    const message = `The connection "${name}" is bound to ${pin.label}, of which this template knows nothing. Connect it under another name.`;
    throw new AppError('conflict', message);
  }
  return bindAccount(await lookUpAccountValues(deps, app, { lookUp, tokens }), { address, pin });
}

function chooseFrom({ connection, app }: Answered, choices: AccountValue[]): FinishedFlow {
  const { title: providerTitle } = app.provider;
  const shown = presentConnection(connection);
  return { connection: shown, providerTitle, missingScopes: [], choices };
}

/** Shows the choices again to a person who reloads the page. */
async function showChoices(deps: Deps, by: Actor, flowKey: FlowKey): Promise<FinishedFlow> {
  const waiting = await findChoices(deps.db, flowKey);
  if (waiting === undefined) throw flowNotBegunHereError();
  const { orgId } = flowKey;
  const flow = await findConnectionFlow(deps.db, { orgId, id: waiting.flowId });
  if (flow === undefined) throw flowNotBegunHereError();
  return chooseFrom(await getAnswered(deps, by, flow), [...waiting.choices]);
}

async function storeChosen(
  deps: Deps,
  by: Actor,
  { flowKey, chosen }: { flowKey: FlowKey; chosen: string },
): Promise<FinishedFlow> {
  const waiting = await findChoices(deps.db, flowKey);
  const { orgId } = flowKey;
  const flow = waiting && (await findConnectionFlow(deps.db, { orgId, id: waiting.flowId }));
  if (flow === undefined || flow.address === null) throw flowNotBegunHereError();
  const answered = await getAnswered(deps, by, flow);
  const { value, ...grant } = await takeGrant(deps, flowKey, chosen);
  // Somebody may have finished another flow of the connection meanwhile.
  await checkSameAccount(deps, answered.app, { ...grant, connection: answered.connection });
  return store(deps, answered, { grant, pin: pinTo(value, flow.address) });
}

/**
 * Ends the connection, because the account has lost access to the value. So no token of this
 * account could serve the connection.
 */
async function endLost(
  { db, authUrlOf }: Deps,
  { connection: { orgId, id, name }, app, by }: Answered,
  pin: AccountPin,
): Promise<never> {
  const reason = `the account no longer opens ${pin.label}`;
  await db.transaction(async (tx) => {
    const tokens = await lockTokens(tx, { orgId, id });
    const ended = tokens && (await giveUpTokens(tx, { orgId, id, version: tokens.version }));
    if (ended === undefined) return;
    const text = `Connection ${referenceOf(ended)} has to be connected again: ${reason}`;
    const authUrl = authUrlOf(id);
    await appendEvent(
      tx,
      createConnectionEvent('connection.needs_reauth', { connection: ended, text, by, authUrl }),
    );
  });
  throw new AppError(
    'conflict',
    `You connected at ${app.provider.title}, but your account does not open ${pin.label}, which the connection "${name}" is for. Connect again with access to it, or make another connection under another name.`,
  );
}

/**
 * The provider app. Throws if the app was changed since the flow began, because a code must not go
 * to a server that was configured afterwards.
 */
async function requireSameApp(
  { apps }: Pick<Deps, 'apps'>,
  flow: StoredFlow,
  { actsAs }: StoredConnection,
): Promise<ProviderApp> {
  const { orgId, provider, appId, appVersion } = flow;
  const app = await apps.find({ orgId, provider, actsAs });
  const isSameApp =
    app !== undefined &&
    (app.stored?.id ?? null) === appId &&
    (app.stored?.version ?? null) === appVersion;
  if (isSameApp) return app;
  throw new AppError('conflict', 'An admin has changed the set-up of this provider; begin again.');
}

/**
 * The requested scopes that were not granted. Scopes that only produce a refresh token are not
 * counted, because providers often leave them out of their answer.
 */
function missingScopesOf(
  { provider }: ProviderApp,
  requestedScopes: readonly string[],
  grantedScopes: readonly string[],
): string[] {
  const neededScopes = requestedScopes.filter((scope) => !provider.scopes_always.includes(scope));
  return missingScopes(provider, { granted: grantedScopes, alternatives: [neededScopes] });
}

function nothingToOpen({ provider }: ProviderApp): AppError {
  return new AppError(
    'forbidden',
    `Your account at ${provider.title} opens nothing that this could be connected to, so nothing was connected. Get access there first, or sign in with another account.`,
  );
}

function cannotChoose(): AppError {
  return new AppError(
    'conflict',
    'Your account has several sites or companies, and this page of an earlier release cannot ask which one to use. Connect again after the upgrade.',
  );
}

function flowNotBegunHereError(): AppError {
  return new AppError(
    'expired',
    'This was begun in another browser or by somebody else, took longer than ten minutes, or was finished before.',
  );
}

function accessNotGrantedError({ provider }: ProviderApp, error: string | null): AppError {
  const isCancelled = error === 'access_denied' || error === 'user_cancelled_login';
  const code = error !== null && /^[\w.-]{1,60}$/.test(error) ? ` (${error})` : '';
  return new AppError(
    'forbidden',
    isCancelled
      ? `You did not allow it at ${provider.title}, so nothing was connected.`
      : `${provider.title} did not give access${code}, so nothing was connected.`,
  );
}
