import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { builtInProviders } from '#providers';
import { lastingPort } from '../../services-src/embedded/index.ts';
import { readCheck } from '../catalogue/check.ts';
import { servePublicly } from '../support/fetch.ts';
import { openBrowser } from '../support/oauth-browser.ts';
import type { OauthBrowser, Page } from '../support/oauth-browser.ts';
import type { Person } from '../support/people.ts';
import { successfulBodyOf, startWorld, pollUntil } from '../support/world.ts';
import type { World } from '../support/world.ts';
import type { AuthorizationEnd } from './authorization.ts';
import { startProviderEngine } from './engine.ts';
import type { ProviderEngine } from './engine.ts';
import { fillPlaceholders, providerFacts } from './facts.ts';
import { endGrant, registerApp } from './provider.ts';
import type { Provider } from './provider.ts';
import { accountSchemes } from './templates.ts';
import type { AccountScheme } from './templates.ts';

const keys = [...new Set(accountSchemes.map(({ scheme }) => scheme.provider))].toSorted();
const keysWithScopes = keys.filter((key) => builtInProviders().get(key)?.scopes !== 'opaque');
const keysWithRefresh = keys.filter(
  (key) => providerFacts.get(key)?.token_answer.refresh !== 'none',
);
/**
 * The providers whose documentation has a way to end the access, and whose row in
 * `oauth-providers/` also has one.
 */
const keysWithRevocation = keys.filter(
  (key) =>
    providerFacts.get(key)?.revocation !== undefined &&
    builtInProviders().get(key)?.revocation !== undefined,
);

const ownHost = 'gateway.example.com';
const stack = new AsyncDisposableStack();
let engine: ProviderEngine;
let world: World;
/**
 * One member of the org for each provider, because only few connections of one member may wait at
 * the same time.
 */
const members = new Map<string, Person & { browser: OauthBrowser }>();

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'aag-providers-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  engine = stack.use(await startProviderEngine({ ownHost, caFile: join(folder, 'ca.pem') }));
  const port = String(await lastingPort());
  // Several providers accept only redirect URIs with https.
  const publicUrl = `https://${ownHost}`;
  stack.use(servePublicly(publicUrl, `http://127.0.0.1:${port}`));
  world = stack.use(await startWorld({ ...engine.settings, BASE_URL: publicUrl, PORT: port }));
  await Promise.all(keys.map(registerOrgApp));
});
afterAll(() => stack.disposeAsync());

/**
 * Registers the org's app at the provider with the values that the gateway shows, and enters the
 * app's credentials in the gateway.
 */
async function registerOrgApp(key: string): Promise<void> {
  const { redirect_uri: redirectUri, needed_variables: needed } = successfulBodyOf(
    await world.admin.get(`/v1/oauth-apps/${key}`),
  );
  const { clientId, clientSecret } = registerApp(engine.provider(key), redirectUri);
  const variables = needed.map(({ name }: { name: string }) => [
    name,
    fillPlaceholders(key, `{${name}}`),
  ]);
  successfulBodyOf(
    await world.admin.put(`/v1/oauth-apps/${key}`, {
      client_id: clientId,
      client_secret: clientSecret,
      variables: Object.fromEntries(variables),
    }),
  );
  const { orgId } = world.admin;
  const member = await world.person({ orgId, name: `mia at ${key}`, role: 'member' });
  members.set(key, { ...member, browser: openBrowser(world.url, { cookie: member.cookie }) });
}

const memberOf = ({ key }: Provider) => members.get(key)!;

/**
 * Starts a connection, presses the button on the gateway's page, and returns the provider's URL to
 * which the page leads.
 */
async function goToProvider(provider: Provider, body: object) {
  const member = memberOf(provider);
  const { browser } = member;
  const startedConnection = successfulBodyOf(await member.post('/v1/connections', body));
  const { leavesTo } = await browser.press(
    await browser.open(startedConnection.authorization_url),
    '',
  );
  if (leavesTo === null) throw new Error('the page leads nowhere');
  return { id: startedConnection.id as string, url: leavesTo };
}

async function returnToGateway(provider: Provider, end: AuthorizationEnd): Promise<Page> {
  if (end.redirect === undefined) throw new Error(`the provider shows a page: ${end.page}`);
  return memberOf(provider).browser.open(end.redirect.href);
}

async function connect(provider: Provider, body: object) {
  const { id, url } = await goToProvider(provider, body);
  const end = engine.visit(url);
  const page = await returnToGateway(provider, end);
  if (page.status !== 200) throw new Error(`${page.status} ${textOf(page)}`);
  const { code = '' } = end;
  return { id, code, grant: provider.codes.get(code)! };
}

const textOf = ({ html }: Page) => html.replaceAll(/<style>.*?<\/style>|<[^>]+>/gs, ' ');

/** Values of those server variables that are not the first part of a host name. */
const cloudId = '1324a887-45db-1bf4-1e99-ef0ff456d421';
const serverValues: Record<string, string> = { cloudId, cloudid: cloudId, cloud_id: cloudId };

/** Providers whose rows have no endpoint that names the account, with the reason. */
const withoutAccount: Record<string, string> = {
  shopify: 'The token belongs to the shop, whose name is a variable of the app.',
};

describe('the built-in template', () => {
  test.concurrent.for(accountSchemes)(
    '$key is connected with its scheme $name, makes a read, and continues with refreshed tokens',
    async (account) => {
      const { key, name, scheme, variables } = account;
      const provider = engine.provider(scheme.provider);
      const member = memberOf(provider);
      const service = `${key}_${name}`;
      const body = { template: key, scheme: name, name: service };
      const { id, grant } = await connect(provider, body);
      const path = `/v1/connections/${id}`;
      expectAccount(provider, successfulBodyOf(await member.get(path)));
      const { never_named: neverNamed, refresh } = provider.facts.token_answer;
      const grantedScopes = grant.scopes[scheme.acts_as]?.filter(
        (each) => !neverNamed.includes(each),
      );
      expect(successfulBodyOf(await member.get(path)).granted_scopes).toEqual(
        expect.arrayContaining(grantedScopes ?? []),
      );

      successfulBodyOf(
        await member.post('/v1/services', {
          template: key,
          name: service,
          variables: Object.fromEntries(
            variables.map((each) => [each, serverValues[each] ?? 'acme']),
          ),
          credentials: { connection: service },
        }),
      );
      const token = () => grant.tokens[scheme.acts_as]?.access ?? '';
      const firstToken = token();
      await readOnce(provider, { service, account, token: firstToken });
      if (refresh !== 'none') {
        successfulBodyOf(await member.post(`${path}/refresh`));
        // The second refresh tests what the first one answered: a new refresh token, or none.
        successfulBodyOf(await member.post(`${path}/refresh`));
        expect(token()).not.toBe(firstToken);
        await readOnce(provider, { service, account, token: token() });
      }
      // A call may be sent with a token that was replaced a moment before. The call is then sent
      // again with the new token, and `readOnce` has checked that it arrived.
      expect(provider.refusals.filter((each) => !each.endsWith(': invalid_token'))).toEqual([]);
    },
  );
});

/** Checks that the account's name is one of the names in the provider's documentation. */
function expectAccount(
  { key, facts }: Provider,
  connection: { status: string; account_label: string | null },
): void {
  expect(connection.status).toBe('active');
  if (key in withoutAccount) return;
  const answers = [facts.token_answer.others, facts.bot?.others, facts.accounts];
  const names = JSON.stringify(answers, (_name, value: unknown) =>
    typeof value === 'number' ? String(value) : value,
  );
  expect(names).toContain(`"${connection.account_label}"`);
}

/**
 * Calls the template's first reading action with its example. The call must arrive once, with this
 * token.
 */
async function readOnce(
  provider: Provider,
  { service, account, token }: { service: string; account: AccountScheme; token: string },
): Promise<void> {
  const readAction = account.actions.find(({ isRead, isUsable }) => isRead && isUsable);
  const action = readAction?.action ?? '';
  const params = readCheck(account.key).calls[action] ?? {};
  const callsWithToken = () => provider.calls.filter((each) => each === token).length;
  const countBefore = callsWithToken();
  const reply = await memberOf(provider).post('/v1/actions/call', { service, action, params });
  expect(successfulBodyOf(reply)).toMatchObject({ status: 'called' });
  expect(callsWithToken()).toBe(countBefore + 1);
}

const schemeOf = (key: string) => accountSchemes.find(({ scheme }) => scheme.provider === key)!;
/** The body of a connection request for a template of the provider. */
function connectionBody(provider: string, name: string) {
  const { key: template, name: scheme } = schemeOf(provider);
  return { template, scheme, name };
}

describe('the account at', () => {
  test.concurrent.for(keys)(
    '%s is not connected when the person denies the request',
    async (key) => {
      const provider = engine.provider(key);
      const { url } = await goToProvider(provider, connectionBody(key, 'denied'));
      const page = await returnToGateway(provider, engine.visit(url, 'deny'));
      expect([page.status, textOf(page)]).toEqual([
        403,
        expect.stringContaining('did not allow it'),
      ]);
    },
  );

  test.concurrent.for(keys)(
    '%s is not connected with a code that was already used',
    async (key) => {
      const provider = engine.provider(key);
      const { code } = await connect(provider, connectionBody(key, 'first'));
      const { url } = await goToProvider(provider, connectionBody(key, 'again'));
      const { redirect } = engine.visit(url);
      redirect?.searchParams.set('code', code);
      const page = await memberOf(provider).browser.open(redirect?.href ?? '');
      expect([page.status, textOf(page)]).toEqual([
        502,
        expect.stringContaining('gave no access token'),
      ]);
      expect(provider.refusals).toContain('token: unknown or used code');
    },
  );

  test.concurrent.for(keys)(
    '%s is not connected with a redirect URI that is not registered',
    async (key) => {
      const provider = engine.provider(key);
      const { url } = await goToProvider(provider, connectionBody(key, 'elsewhere'));
      for (const other of ['https://evil.example/v1/connections/callback', `${world.url}/else`]) {
        url.searchParams.set('redirect_uri', other);
        const { page, redirect } = engine.visit(url);
        if (provider.facts.redirect.refusal === 'page') expect(page).toBe('redirect_uri_mismatch');
        else expect(redirect?.href).toContain(`${provider.app?.redirectUri}?error=`);
      }
    },
  );

  test.concurrent.for(keysWithScopes)(
    '%s does not get a scope that the provider does not know',
    async (key) => {
      const provider = engine.provider(key);
      const [known = ''] = Object.keys(schemeOf(key).flow.scopes);
      const body = { provider: key, name: 'unknown', scopes: [known, 'nobody.knows'] };
      const { url } = await goToProvider(provider, body);
      const end = engine.visit(url);
      expect(provider.refusals).toContainEqual(expect.stringContaining('nobody.knows'));
      if (end.redirect === undefined) return;
      const page = await returnToGateway(provider, end);
      const isDropped = provider.facts.unknown_scope === 'dropped';
      expect([page.status, textOf(page)]).toEqual([
        isDropped ? 200 : 403,
        expect.stringContaining(isDropped ? 'nobody.knows' : 'did not give access (invalid_scope)'),
      ]);
    },
  );

  test.concurrent.for(keysWithRefresh)(
    '%s must be connected again after the person has ended the access at the provider',
    async (key) => {
      const provider = engine.provider(key);
      const { id, grant } = await connect(provider, connectionBody(key, 'ended'));
      endGrant(provider, grant);
      const refreshReply = await memberOf(provider).post(`/v1/connections/${id}/refresh`);
      expect([refreshReply.status, refreshReply.body.error]).toEqual([424, 'reauth_required']);
    },
  );
});

describe('the access to the account at', () => {
  test.concurrent.for(keysWithRevocation)('%s ends when the connection is deleted', async (key) => {
    const provider = engine.provider(key);
    const { id, grant } = await connect(provider, connectionBody(key, 'left'));
    const [tokens] = Object.values(grant.tokens);
    expect(provider.accessTokens.has(tokens?.access ?? '')).toBe(true);
    const { status } = await memberOf(provider).delete(`/v1/connections/${id}`);
    expect(status).toBe(204);
    await pollUntil(() => !provider.accessTokens.has(tokens?.access ?? ''), 'the revocation');
  });
});

test('the product sends no request to an address that no provider documents', () => {
  expect(engine.strays).toEqual([]);
});
