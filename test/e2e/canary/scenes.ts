import { expect } from 'vitest';

import { createCanary } from '../../support/canaries.ts';
import type { Caller } from '../../support/http.ts';
import { mcpTemplate } from '../../support/mcp-server.ts';
import type { TestMcpServer } from '../../support/mcp-server.ts';
import { openBrowser } from '../../support/oauth-browser.ts';
import type { TestProvider } from '../../support/oauth-provider.ts';
import { templateDocument } from '../../support/template.ts';
import { successfulBodyOf, pollUntil } from '../../support/world.ts';
import { carelessPaths } from './careless-upstream.ts';
import type { CarelessUpstream } from './careless-upstream.ts';

/**
 * The people, agents and servers of the canary test, and all credentials that the test knows, by
 * name.
 */
export interface Stage {
  readonly origin: string;
  readonly user: Caller & { readonly cookie: string };
  readonly bot: Caller;
  readonly provider: TestProvider;
  readonly careless: CarelessUpstream;
  readonly mcp: TestMcpServer;
  /**
   * Credentials that were given to the vault or came from a provider: they must never be stored or
   * shown in plain text.
   */
  readonly secrets: Map<string, string>;
  /**
   * Credentials that the product issued: they must never be stored in plain text, and are shown at
   * most once.
   */
  readonly issued: Map<string, string>;
}

/**
 * Connects an account at a provider and uses its token in every way. Then the provider refreshes,
 * refuses and revokes the token.
 */
export async function playAccounts(stage: Stage): Promise<void> {
  const { user, provider, careless, secrets } = stage;
  const clientSecret = createCanary();
  secrets.set('client secret of a provider app', clientSecret);
  const definition = { title: 'Mock', issuer: provider.issuer, hosts: [careless.host] };
  const app = { client_id: 'gateway', client_secret: clientSecret, definition };
  const wrongDefinition = { ...definition, token_url: 'ftp://nowhere' };
  expect(
    (await user.put('/v1/oauth-apps/mock', { ...app, definition: wrongDefinition })).status,
  ).toBe(400);
  successfulBodyOf(await user.put('/v1/oauth-apps/mock', app));
  const misplacedSecretRequest = { provider: 'mock', client_secret: clientSecret };
  expect((await user.post('/v1/connections', misplacedSecretRequest)).status).toBe(400);

  await playRefusedCode(stage);
  const { id } = await authorizeConnection(stage, 'mock');
  for (const kind of ['access', 'refresh']) {
    secrets.set(`first ${kind} token`, provider.issuedTokens.at(-1)?.[kind] ?? '');
  }
  await callEveryPath(stage, (path, method) => [
    '/v1/actions/http',
    { connection: 'mock', method, url: careless.url + path },
  ]);
  successfulBodyOf(await user.post(`/v1/connections/${id}/refresh`));
  for (const kind of ['access', 'refresh']) {
    secrets.set(`next ${kind} token`, provider.issuedTokens.at(-1)?.[kind] ?? '');
  }
  const refusals = [
    { statusCode: 500, body: `<p>${clientSecret} ${secrets.get('next refresh token')}</p>` },
    { statusCode: 400, body: createRefusalBody('invalid_client', clientSecret) },
    { statusCode: 400, body: createRefusalBody(clientSecret, clientSecret) },
    {
      statusCode: 400,
      body: createRefusalBody('invalid_grant', secrets.get('next refresh token')),
    },
  ];
  for (const answer of refusals) {
    provider.changeAnswer = (response) => Object.assign(response, answer);
    expect((await user.post(`/v1/connections/${id}/refresh`)).status).toBeGreaterThan(400);
  }
  provider.changeAnswer = null;
  const secondConnection = await authorizeConnection(stage, 'second');
  for (const kind of ['access', 'refresh']) {
    secrets.set(`${kind} token to be revoked`, provider.issuedTokens.at(-1)?.[kind] ?? '');
  }
  successfulBodyOf(await user.delete(`/v1/connections/${secondConnection.id}`));
  for (const path of ['connections', 'oauth-apps', `connections/${id}`]) {
    successfulBodyOf(await user.get(`/v1/${path}`));
  }
}

const createRefusalBody = (error: string, mentionedText: string | undefined) => ({
  error,
  error_description: `this is not right: ${mentionedText}`,
});

/**
 * Begins an authorization. The provider refuses its code, and repeats the credentials in the error
 * message.
 */
async function playRefusedCode(stage: Stage): Promise<void> {
  const clientSecret = stage.secrets.get('client secret of a provider app') ?? '';
  stage.provider.changeAnswer = (response, { code = '', code_verifier: verifier = '' }) => {
    const body = createRefusalBody('invalid_grant', `${clientSecret} ${code} ${verifier}`);
    Object.assign(response, { statusCode: 400, body });
  };
  const { done } = await visitProvider(stage, 'refused');
  expect(done.status).toBeGreaterThanOrEqual(400);
  stage.provider.changeAnswer = null;
}

async function authorizeConnection(stage: Stage, name: string): Promise<{ id: string }> {
  const { done, id } = await visitProvider(stage, name);
  expect(done.html).toContain('Mock is connected');
  return { id };
}

/** Opens the gateway's page of the connection, goes to the provider and back, as a browser does. */
async function visitProvider({ origin, user, provider, secrets, issued }: Stage, name: string) {
  const createdConnection = successfulBodyOf(
    await user.post('/v1/connections', { provider: 'mock', name }),
  );
  const browser = openBrowser(origin, { cookie: user.cookie });
  const consentAnswer = await browser.press(
    await browser.open(createdConnection.authorization_url),
    '',
  );
  issued.set(`state of ${name}`, consentAnswer.leavesTo?.searchParams.get('state') ?? '');
  const redirectReply = await fetch(String(consentAnswer.leavesTo), { redirect: 'manual' });
  const callbackUrl = new URL(redirectReply.headers.get('location') ?? '');
  secrets.set(`code of ${name}`, callbackUrl.searchParams.get('code') ?? '');
  const donePage = await browser.open(callbackUrl.href);
  const { code_verifier: verifier = '' } = provider.tokenRequests.at(-1) ?? {};
  secrets.set(`verifier of ${name}`, verifier);
  // Opens the provider's redirect a second time. The gateway logs the refusal, so the code could
  // leak into the log.
  await browser.open(callbackUrl.href);
  return { done: donePage, id: createdConnection.id as string };
}

/**
 * Calls every path of the careless upstream, with reads and writes, and downloads the files that
 * result.
 */
async function callEveryPath(
  { user, careless }: Stage,
  bodyOf: (path: string, method: string) => readonly [string, object],
): Promise<void> {
  for (const path of carelessPaths) {
    for (const method of ['GET', 'POST']) {
      const reply = await user.post(...bodyOf(path, method));
      const url: string | undefined = reply.body.result?.file?.download_url;
      if (url !== undefined) await user.get(new URL(url).pathname);
      expect(careless.receivedCredentials.get(path)?.size, `${method} ${path}`).toBeGreaterThan(0);
    }
  }
}

/**
 * Uses secrets in calls by full URL (in a header, with a prefix, and in the query) and as the key
 * of a service.
 */
export async function playSecrets(stage: Stage): Promise<void> {
  const { user, bot, careless, secrets } = stage;
  const storeSecret = async (name: string) => {
    const value = createCanary();
    secrets.set(name, value);
    successfulBodyOf(
      await user.post('/v1/secrets', { name, value, allowed_hosts: [careless.host] }),
    );
  };
  for (const [name, place] of [
    ['careless_header', { in: 'header', key: 'x-api-key' }],
    ['careless_prefix', { in: 'header', key: 'authorization', prefix: 'Token ' }],
    ['careless_query', { in: 'query', key: 'api_key' }],
  ] as const) {
    await storeSecret(name);
    await callEveryPath(stage, (path, method) => [
      '/v1/actions/call',
      { service: 'http', method, url: careless.url + path, secrets: [{ name, ...place }] },
    ]);
  }
  await storeSecret('notes_token');
  const openapi = templateDocument('notes', careless.url);
  successfulBodyOf(await user.post('/v1/templates', { openapi }));
  successfulBodyOf(await user.post('/v1/templates/notes/publish', { version: 1 }));
  successfulBodyOf(await user.post('/v1/services', { template: 'notes' }));
  successfulBodyOf(await user.post('/v1/actions/call', { service: 'notes', action: 'list_notes' }));
  const writeCall = { service: 'notes', action: 'create_note', params: { title: 'Swept for' } };
  const { approval_id: id } = successfulBodyOf(await bot.post('/v1/actions/call', writeCall));
  successfulBodyOf(await user.post(`/v1/approvals/${id}/resolve`, { resolution: 'allow' }));
  await pollUntil(
    async () => (await user.get(`/v1/approvals/${id}`)).body.execution?.status === 'executed',
    'the replay with the key of a service',
  );
  expect([...(careless.receivedCredentials.get('/notes') ?? [])]).toEqual([
    secrets.get('notes_token'),
  ]);
  // Sends the secret's value in fields where no secret belongs.
  const value = secrets.get('notes_token');
  for (const body of [{ name: 'x', secret: value }, { name: value }, value]) {
    expect((await user.post('/v1/secrets', body)).status).toBe(400);
  }
}

/** Calls an MCP server that repeats its token in results, in tool errors and in JSON-RPC errors. */
export async function playTools({ user, bot, mcp, secrets }: Stage): Promise<void> {
  const token = createCanary();
  secrets.set('token of an MCP server', token);
  mcp.token = token;
  const secret = { name: 'tools_token', value: token, allowed_hosts: [mcp.host] };
  successfulBodyOf(await user.post('/v1/secrets', secret));
  successfulBodyOf(
    await user.post('/v1/templates', { openapi: mcpTemplate('tools', mcp.url, 'bearer') }),
  );
  successfulBodyOf(await user.post('/v1/templates/tools/publish', { version: 1 }));
  successfulBodyOf(await user.post('/v1/services', { template: 'tools' }));
  const base64 = Buffer.from(token).toString('base64');
  const content = [{ type: 'text', text: `${token} ${base64}` }];
  mcp.answer = () => ({ content, structuredContent: { token, base64 } });
  const params = { repository: 'acme/site' };
  const call = async (who: Caller, action: string, more: object = {}) =>
    who.post('/v1/actions/call', { service: 'tools', action, params: { ...params, ...more } });
  successfulBodyOf(await call(bot, 'list_issues'));
  successfulBodyOf(await call(user, 'create_issue', { title: 'Seen' }));
  const { approval_id: id } = successfulBodyOf(await call(bot, 'create_issue', { title: 'Asked' }));
  successfulBodyOf(await user.post(`/v1/approvals/${id}/resolve`, { resolution: 'allow' }));
  await pollUntil(
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
    successfulBodyOf(await user.get(`/v1/${list}`));
  }
}
