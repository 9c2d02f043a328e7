import { expect } from 'vitest';

import { canary } from '../../support/canaries.ts';
import type { Caller } from '../../support/http.ts';
import { mcpTemplate } from '../../support/mcp-server.ts';
import type { TestMcpServer } from '../../support/mcp-server.ts';
import { openBrowser } from '../../support/oauth-browser.ts';
import type { TestProvider } from '../../support/oauth-provider.ts';
import { templateDocument } from '../support/template.ts';
import { created, until } from '../support/world.ts';
import { carelessPaths } from './careless-upstream.ts';
import type { CarelessUpstream } from './careless-upstream.ts';

/** Who plays, with whom, and every credential that the test gets to know, by what it is. */
export interface Stage {
  readonly origin: string;
  readonly user: Caller & { readonly cookie: string };
  readonly bot: Caller;
  readonly provider: TestProvider;
  readonly careless: CarelessUpstream;
  readonly mcp: TestMcpServer;
  /** Given to the vault, or made there by a provider: kept nowhere and shown to nobody. */
  readonly secrets: Map<string, string>;
  /** Issued by the product: kept nowhere, and shown at most where it was issued. */
  readonly issued: Map<string, string>;
}

/** Connects an account, uses its token everywhere, and lets it be refreshed, refused and revoked. */
export async function playAccounts(stage: Stage): Promise<void> {
  const { user, provider, careless, secrets } = stage;
  const clientSecret = canary();
  secrets.set('client secret of a provider app', clientSecret);
  const definition = { title: 'Mock', issuer: provider.issuer, hosts: [careless.host] };
  const app = { client_id: 'gateway', client_secret: clientSecret, definition };
  const wrong = { ...definition, token_url: 'ftp://nowhere' };
  expect((await user.put('/v1/oauth-apps/mock', { ...app, definition: wrong })).status).toBe(400);
  created(await user.put('/v1/oauth-apps/mock', app));
  const misplaced = { provider: 'mock', client_secret: clientSecret };
  expect((await user.post('/v1/connections', misplaced)).status).toBe(400);

  await refuseFirst(stage);
  const { id } = await authorize(stage, 'mock');
  for (const kind of ['access', 'refresh']) {
    secrets.set(`first ${kind} token`, provider.issued.at(-1)?.[kind] ?? '');
  }
  await callEverywhere(stage, (path, method) => [
    '/v1/actions/http',
    { connection: 'mock', method, url: careless.url + path },
  ]);
  created(await user.post(`/v1/connections/${id}/refresh`));
  for (const kind of ['access', 'refresh']) {
    secrets.set(`next ${kind} token`, provider.issued.at(-1)?.[kind] ?? '');
  }
  const refusals = [
    { statusCode: 500, body: `<p>${clientSecret} ${secrets.get('next refresh token')}</p>` },
    { statusCode: 400, body: refusal('invalid_client', clientSecret) },
    { statusCode: 400, body: refusal(clientSecret, clientSecret) },
    { statusCode: 400, body: refusal('invalid_grant', secrets.get('next refresh token')) },
  ];
  for (const answer of refusals) {
    provider.answer = (response) => Object.assign(response, answer);
    expect((await user.post(`/v1/connections/${id}/refresh`)).status).toBeGreaterThan(400);
  }
  provider.answer = null;
  const second = await authorize(stage, 'second');
  for (const kind of ['access', 'refresh']) {
    secrets.set(`${kind} token to be revoked`, provider.issued.at(-1)?.[kind] ?? '');
  }
  created(await user.delete(`/v1/connections/${second.id}`));
  for (const path of ['connections', 'oauth-apps', `connections/${id}`]) {
    created(await user.get(`/v1/${path}`));
  }
}

const refusal = (error: string, about: string | undefined) => ({
  error,
  error_description: `this is not right: ${about}`,
});

/** An authorization that the provider does not complete, and says why in its own words. */
async function refuseFirst(stage: Stage): Promise<void> {
  const clientSecret = stage.secrets.get('client secret of a provider app') ?? '';
  stage.provider.answer = (response, { code = '', code_verifier: verifier = '' }) => {
    const body = refusal('invalid_grant', `${clientSecret} ${code} ${verifier}`);
    Object.assign(response, { statusCode: 400, body });
  };
  const { done } = await goThere(stage, 'refused');
  expect(done.status).toBeGreaterThanOrEqual(400);
  stage.provider.answer = null;
}

async function authorize(stage: Stage, name: string): Promise<{ id: string }> {
  const { done, id } = await goThere(stage, name);
  expect(done.html).toContain('Mock is connected');
  return { id };
}

/** Through the gate to the provider and back, as a browser goes. */
async function goThere({ origin, user, provider, secrets, issued }: Stage, name: string) {
  const made = created(await user.post('/v1/connections', { provider: 'mock', name }));
  const browser = openBrowser(origin, { cookie: user.cookie });
  const sent = await browser.press(await browser.open(made.authorization_url), '');
  issued.set(`state of ${name}`, sent.leavesTo?.searchParams.get('state') ?? '');
  const back = await fetch(String(sent.leavesTo), { redirect: 'manual' });
  const callback = new URL(back.headers.get('location') ?? '');
  secrets.set(`code of ${name}`, callback.searchParams.get('code') ?? '');
  const done = await browser.open(callback.href);
  const { code_verifier: verifier = '' } = provider.tokenRequests.at(-1) ?? {};
  secrets.set(`verifier of ${name}`, verifier);
  // Once more, when it is used up: what is refused is logged too.
  await browser.open(callback.href);
  return { done, id: made.id as string };
}

/** Calls everything careless, to look and to change, and fetches the files that come of it. */
async function callEverywhere(
  { user, careless }: Stage,
  bodyOf: (path: string, method: string) => readonly [string, object],
): Promise<void> {
  for (const path of carelessPaths) {
    for (const method of ['GET', 'POST']) {
      const reply = await user.post(...bodyOf(path, method));
      const url: string | undefined = reply.body.result?.file?.download_url;
      if (url !== undefined) await user.get(new URL(url).pathname);
      expect(careless.received.get(path)?.size, `${method} ${path}`).toBeGreaterThan(0);
    }
  }
}

/** Secrets in a header, a prefix and the query of raw calls, and as the key of a service. */
export async function playSecrets(stage: Stage): Promise<void> {
  const { user, bot, careless, secrets } = stage;
  const store = async (name: string) => {
    const value = canary();
    secrets.set(name, value);
    created(await user.post('/v1/secrets', { name, value, allowed_hosts: [careless.host] }));
  };
  for (const [name, place] of [
    ['careless_header', { in: 'header', key: 'x-api-key' }],
    ['careless_prefix', { in: 'header', key: 'authorization', prefix: 'Token ' }],
    ['careless_query', { in: 'query', key: 'api_key' }],
  ] as const) {
    await store(name);
    await callEverywhere(stage, (path, method) => [
      '/v1/actions/call',
      { service: 'http', method, url: careless.url + path, secrets: [{ name, ...place }] },
    ]);
  }
  await store('notes_token');
  const openapi = templateDocument('notes', careless.url);
  created(await user.post('/v1/templates', { openapi }));
  created(await user.post('/v1/templates/notes/publish', { version: 1 }));
  created(await user.post('/v1/services', { template: 'notes' }));
  created(await user.post('/v1/actions/call', { service: 'notes', action: 'list_notes' }));
  const write = { service: 'notes', action: 'create_note', params: { title: 'Swept for' } };
  const { approval_id: id } = created(await bot.post('/v1/actions/call', write));
  created(await user.post(`/v1/approvals/${id}/resolve`, { resolution: 'allow' }));
  await until(
    async () => (await user.get(`/v1/approvals/${id}`)).body.execution?.status === 'executed',
    'the replay with the key of a service',
  );
  expect([...(careless.received.get('/notes') ?? [])]).toEqual([secrets.get('notes_token')]);
  // Where none belongs.
  const value = secrets.get('notes_token');
  for (const body of [{ name: 'x', secret: value }, { name: value }, value]) {
    expect((await user.post('/v1/secrets', body)).status).toBe(400);
  }
}

/** An MCP server that repeats its token in results, in errors of tools and in those of its protocol. */
export async function playTools({ user, bot, mcp, secrets }: Stage): Promise<void> {
  const token = canary();
  secrets.set('token of an MCP server', token);
  mcp.token = token;
  const secret = { name: 'tools_token', value: token, allowed_hosts: [mcp.host] };
  created(await user.post('/v1/secrets', secret));
  created(await user.post('/v1/templates', { openapi: mcpTemplate('tools', mcp.url, 'bearer') }));
  created(await user.post('/v1/templates/tools/publish', { version: 1 }));
  created(await user.post('/v1/services', { template: 'tools' }));
  const base64 = Buffer.from(token).toString('base64');
  const content = [{ type: 'text', text: `${token} ${base64}` }];
  mcp.answer = () => ({ content, structuredContent: { token, base64 } });
  const params = { repository: 'acme/site' };
  const call = async (who: Caller, action: string, more: object = {}) =>
    who.post('/v1/actions/call', { service: 'tools', action, params: { ...params, ...more } });
  created(await call(bot, 'list_issues'));
  created(await call(user, 'create_issue', { title: 'Seen' }));
  const { approval_id: id } = created(await call(bot, 'create_issue', { title: 'Asked' }));
  created(await user.post(`/v1/approvals/${id}/resolve`, { resolution: 'allow' }));
  await until(
    async () => (await user.get(`/v1/approvals/${id}`)).body.execution?.status === 'executed',
    'the replay of a tool',
  );
  mcp.answer = () => ({ content, isError: true });
  await call(bot, 'list_issues');
  for (const status of [200, 401, 500]) {
    mcp.intercept = ({ message }, reply) => {
      if (message?.method !== 'tools/call') return false;
      const error = { code: -32_000, message: token, data: { base64 } };
      reply.writeHead(status, { 'content-type': 'application/json', 'x-token': token });
      reply.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, error }));
      return true;
    };
    for (const who of [bot, user]) await call(who, 'list_issues');
    await call(user, 'create_issue', { title: 'Refused' });
  }
  mcp.intercept = () => false;
  await user.post('/v1/services/tools/discover');
  for (const list of ['services/tools', 'approvals', 'audit', 'search?q=issue']) {
    created(await user.get(`/v1/${list}`));
  }
}
