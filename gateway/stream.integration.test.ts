import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { FeedItem } from '#contracts/events';
import type { Execution } from '#contracts/http/approvals';
import { consumeEvents } from '#events';
import { createLogger } from '#telemetry';
import { ask, createStage } from './neighbours.testing.ts';
import type { Stage } from './neighbours.testing.ts';
import { agent, feedItemOf, user } from './principals.testing.ts';
import type { RunningGateway } from './start.ts';

let stage: Stage;
let gateway: RunningGateway;
let url: string;

beforeAll(async () => {
  stage = await createStage();
  gateway = await stage.gateway();
  url = gateway.url;
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

describe('GET /v1/events', () => {
  test('streams what the caller may see, as it happens', async () => {
    const claims = agent();
    stage.neighbours.notifier.feedPosition = async () => ({ position: 41 });
    await using stream = await open({ token: stage.tokenFor(claims) });
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream');
    await stream.until('id: 41');

    await stage.announce(feedItemOf(agent(), 42));
    await stage.announce(feedItemOf(claims, 43, { data: { hello: 'world' } }));

    await stream.until('id: 43');
    expect(stream.text()).toContain('event: approval.raised\ndata: {"id":"');
    expect(stream.text()).toContain('"data":{"hello":"world"}');
    expect(stream.text()).not.toContain('id: 42');
    expect(stream.text()).not.toContain('audience');
  });

  test('goes on after the last event a reader saw', async () => {
    const claims = agent();
    const stored = [5, 6, 7].map((position) => feedItemOf(claims, position));
    stage.neighbours.notifier.listFeed = async ({ after, types }) => {
      expect(types).toEqual(['approval.raised']);
      const page: FeedItem[] = stored.filter(({ position }) => position > after);
      return { items: page, position: page.at(-1)?.position ?? after };
    };
    await using stream = await open({
      token: stage.tokenFor(claims),
      query: '?types=approval.raised',
      headers: { 'last-event-id': '5' },
    });
    await stream.until('id: 7');
    await stage.announce(feedItemOf(claims, 7));
    await stage.announce(feedItemOf(claims, 8));
    await stream.until('id: 8');

    expect([...stream.text().matchAll(/^id: (\d+)$/gm)].map(([, id]) => id)).toEqual([
      '6',
      '7',
      '8',
    ]);
  });

  test('finds what was stored and never announced', async () => {
    const claims = agent();
    const stored = [101, 102, 103].map((position) => feedItemOf(claims, position));
    stage.neighbours.notifier.feedPosition = async () => ({ position: 100 });
    stage.neighbours.notifier.listFeed = async ({ after }) => {
      const page: FeedItem[] = stored.filter(({ position }) => position > after);
      return { items: page, position: page.at(-1)?.position ?? after };
    };
    await using stream = await open({ token: stage.tokenFor(claims) });
    await stream.until('id: 100');
    await stage.announce(feedItemOf(claims, 101));
    await stream.until('id: 101');
    // Whoever stored 102 died before it could say so.
    await stage.announce(feedItemOf(claims, 103));
    await stream.until('id: 103');

    const ids = [...stream.text().matchAll(/^id: (\d+)$/gm)].map(([, id]) => id);
    expect(ids).toEqual(['100', '101', '102', '103']);
  });

  test('reads a session cookie as well', async () => {
    stage.neighbours.notifier.feedPosition = async () => ({ position: 1 });
    const cookie = `gateway_session=${stage.tokenFor(user())}`;
    await using stream = await open({ headers: { cookie } });

    await stream.until('id: 1');
  });

  test.for<[name: string, path: string, headers: Record<string, string>, status: number]>([
    ['no credential', '', {}, 401],
    ['an unknown type', '?types=approval.raise', {}, 400],
    ['an unknown parameter', '?type=x', {}, 400],
    ['a wrong Last-Event-ID', '', { 'last-event-id': 'abc' }, 400],
  ])('%s is a typed error', async ([name, query, headers, status]) => {
    const token = name === 'no credential' ? {} : { token: stage.tokenFor() };

    const reply = await ask(url, `/v1/events${query}`, { ...token, headers });

    expect(reply.status).toBe(status);
    expect(reply.body).toHaveProperty('request_id');
  });

  test('needs the scope approvals', async () => {
    const token = stage.tokenFor({ scopes: ['actions:call'] });

    expect(await ask(url, '/v1/events', { token })).toMatchObject({
      status: 403,
      body: { error: 'insufficient_scope' },
    });
  });
});

test('a reader that does not read is cut off, and others are not', async () => {
  const claims = agent();
  stage.neighbours.notifier.feedPosition = async () => ({ position: 1 });
  await using other = await open({ token: stage.tokenFor(claims) });
  await other.until('id: 1');
  const { hostname, port } = new URL(url);
  const stalled = connect({ host: hostname, port: Number(port) });
  stalled.on('error', () => undefined);
  const token = stage.tokenFor(claims);
  stalled.write(
    `GET /v1/events HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  await once(stalled, 'readable');

  const padding = 'x'.repeat(900_000);
  const sent = 24;
  for (let position = 2; position < 2 + sent; position += 1) {
    await stage.announce(feedItemOf(claims, position, { data: { padding } }));
    await other.until(`id: ${position}\n`);
  }

  let received = 0;
  stalled.on('data', (chunk: Buffer) => (received += chunk.length));
  await once(stalled, 'close');
  expect(received).toBeLessThan(sent * padding.length);
}, 60_000);

describe('POST /v1/actions/call', () => {
  const body = { service: 'github', action: 'issues.create', params: '{"title":"Hello"}' };
  const facts = {
    service: 'github',
    template: 'github',
    action: 'issues.create',
    permissionKeys: ['github:issues.create:acme/site'],
    risk: 'write' as const,
    nonRead: true,
    description: 'Create issue "Hello"',
  };
  const auditId = randomUUID();
  const result = { status_code: 201, headers: { etag: '"1"' }, body: { n: 1 }, duration_ms: 12 };

  test('answers a permitted call with its result', async () => {
    let executed: unknown;
    stage.neighbours.policy.decide = async ({ call }) => {
      expect(call).toMatchObject({ kind: 'action', params: { title: 'Hello' } });
      return { outcome: 'permit', permit: `signed.${'x'.repeat(30)}`, auditId, ...facts };
    };
    stage.neighbours.executor.execute = async (request) => {
      executed = request;
      return { kind: 'called', result, auditId, replayed: false };
    };

    const reply = await ask(url, '/v1/actions/call', {
      token: stage.tokenFor(),
      body: { ...body, timeout_ms: 5_000 },
      headers: { 'idempotency-key': 'order-17' },
    });

    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({
      status: 'called',
      result,
      action_description: facts.description,
      audit_id: auditId,
    });
    expect(executed).toMatchObject({
      options: { timeoutMs: 5_000, idempotencyKey: 'order-17' },
      context: { requestId: reply.headers.get('x-request-id'), ip: '127.0.0.1' },
    });
  });

  test('leaves headers out when it is not to be verbose', async () => {
    const { status, body: reply } = await ask(url, '/v1/actions/call', {
      token: stage.tokenFor(),
      body: { ...body, verbose: false },
    });

    expect(status).toBe(200);
    expect(reply['result']).toEqual({ status_code: 201, body: { n: 1 }, duration_ms: 12 });
  });

  test('answers a gap with the envelope, or with the result when the caller prefers to wait', async () => {
    const claims = agent();
    const token = stage.tokenFor(claims);
    const approval = approvalOf(claims);
    let now = approval;
    const envelope = {
      status: 'pending_approval' as const,
      approval_id: approval.id,
      approval_url: `http://127.0.0.1:8080/approvals/${approval.id}`,
      action_description: facts.description,
      expires_at: approval.expires_at,
      relationship: 'self' as const,
      suggested_tiers: approval.suggested_tiers,
      auto_call_on_approve: true,
      risk: 'med' as const,
      permission_keys: facts.permissionKeys,
    };
    const read = Promise.withResolvers<void>();
    const { policy, approvals } = stage.neighbours;
    policy.decide = async () => ({ outcome: 'gap', gap: `signed.${'x'.repeat(30)}`, ...facts });
    approvals.raise = async () => ({ kind: 'pending', envelope });
    approvals.get = async () => {
      read.resolve();
      return { ...now, proof: null };
    };
    approvals.resume = async () => ({ kind: 'called', result, description: 'd', auditId });

    const atOnce = await ask(url, '/v1/actions/call', { token, body });
    expect(atOnce).toMatchObject({ status: 202, body: envelope });

    const waiting = ask(url, '/v1/actions/call', { token, body, headers: { prefer: 'wait=30' } });
    await read.promise;
    now = { ...approval, status: 'allowed', execution: executionOf('executed') };
    await stage.announce(
      feedItemOf(claims, 9, { type: 'execution.finished', data: { approval_id: approval.id } }),
    );
    expect(await waiting).toMatchObject({ status: 200, body: { status: 'called', result } });

    const patient = await ask(url, '/v1/actions/call', {
      token,
      body,
      headers: { prefer: 'wait=1' },
    });
    expect(patient.status).toBe(200);
  });

  test('answers a denial as a result, and the audit stream has it by then', async () => {
    const seen: string[] = [];
    await using _reading = consumeEvents({
      bus: await stage.environment.connectReader('audit'),
      durable: 'audit',
      logger: createLogger({ component: 'test', level: 'silent' }),
      async handle(events) {
        seen.push(...events.map((event) => `${event.type} ${event.audit?.request_id}`));
      },
    });
    stage.neighbours.policy.decide = async () => ({
      outcome: 'denied',
      reason: 'Denied by a rule',
      ...facts,
    });

    const reply = await ask(url, '/v1/actions/call', { token: stage.tokenFor(), body });

    expect(reply).toMatchObject({
      status: 200,
      body: { status: 'denied', reason: 'Denied by a rule' },
    });
    const requestId = reply.headers.get('x-request-id');
    await expect.poll(() => seen).toContain(`action.denied ${requestId}`);
  });
});

test('a stopping gateway lets held calls and streams go, and breaks no request', async () => {
  const own = await stage.gateway();
  const claims = agent();
  const token = stage.tokenFor(claims);
  stage.neighbours.notifier.feedPosition = async () => ({ position: 1 });
  await using stream = await open({ token, at: own.url });
  await stream.until('id: 1');
  const slow = Promise.withResolvers<void>();
  stage.neighbours.auth.listIdentities = async () => {
    await slow.promise;
    return { items: [], next_cursor: null };
  };
  const inHand = ask(own.url, '/v1/identities', { token });
  await ask(own.url, '/health/live');

  const stopped = own[Symbol.asyncDispose]();
  await stream.ended();
  const late = await ask(own.url, '/health/live');
  expect(late.status).toBe(200);
  expect(late.headers.get('connection')).toBe('close');
  expect((await ask(own.url, '/health/ready')).status).toBe(503);
  slow.resolve();

  expect((await inHand).status).toBe(200);
  await stopped;
  await expect(ask(own.url, '/health/live')).rejects.toThrow();
});

test('replicas share the rate limits', async () => {
  const settings = { RATE_IDENTITY_PER_MINUTE: '100', RATE_USER_PER_MINUTE: '0' };
  await using first = await stage.gateway(settings);
  const token = stage.tokenFor();
  stage.neighbours.auth.listIdentities = async () => ({ items: [], next_cursor: null });
  const policyOf = async (at: string) =>
    (await ask(at, '/v1/identities', { token })).headers.get('ratelimit-policy');
  await expect.poll(() => policyOf(first.url), { timeout: 8_000 }).toBe('"identity";q=50;w=60');
  {
    await using second = await stage.gateway(settings);
    await expect.poll(() => policyOf(first.url), { timeout: 8_000 }).toBe('"identity";q=33;w=60');
    await expect.poll(() => policyOf(second.url), { timeout: 8_000 }).toBe('"identity";q=33;w=60');
  }
  await expect.poll(() => policyOf(first.url), { timeout: 8_000 }).toBe('"identity";q=50;w=60');
});

interface Opening {
  readonly token?: string;
  readonly query?: string;
  readonly headers?: Record<string, string>;
  readonly at?: string;
}

async function open({ token, query = '', headers = {}, at = url }: Opening) {
  const cut = new AbortController();
  const response = await fetch(new URL(`/v1/events${query}`, at), {
    signal: cut.signal,
    headers: { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
  });
  let text = '';
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
  })().catch(() => undefined);
  return {
    response,
    text: () => text,
    async until(part: string) {
      await expect.poll(() => text, { timeout: 5_000 }).toContain(part);
    },
    ended: () => reading,
    async [Symbol.asyncDispose]() {
      cut.abort();
      await reading;
    },
  };
}

function executionOf(status: Execution['status']): Execution {
  const at = new Date().toISOString();
  return {
    id: randomUUID(),
    status,
    runtime: 'http',
    triggered_by: 'auto',
    created_at: at,
    started_at: at,
    finished_at: at,
    expires_at: at,
  };
}

function approvalOf(claims: ReturnType<typeof agent>) {
  const at = new Date().toISOString();
  const key = 'github:issues.create:acme/site';
  const requester = { id: claims.identityId, kind: 'agent' as const, name: 'deploy-bot' };
  return {
    id: randomUUID(),
    status: 'pending' as 'pending' | 'allowed',
    relationship: 'self' as const,
    risk: 'med' as const,
    permission_keys: [key],
    suggested_tiers: [{ keys: [key], description: 'This issue' }],
    derived_keys: [],
    expires_at: at,
    requester: { ...requester, path: ['ann', 'deploy-bot'] },
    resolver_id: claims.userId,
    may_resolve: [claims.userId],
    placement: requester,
    service: 'github',
    template: 'github',
    action: 'issues.create',
    action_description: 'Create issue "Hello"',
    request: {
      method: 'POST',
      url: 'https://api.github.com/x',
      params: {},
      headers: {},
      content_type: null,
      body: null,
      credentials: [],
    },
    disclosed: [],
    reason: null,
    created_at: at,
    resolved_at: null,
    resolved_by: null,
    resolution: null,
    auto_call_on_approve: true,
    execution: undefined as Execution | undefined,
  };
}
