import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { FeedItem } from '#contracts/events';
import type { Execution } from '#contracts/http/approvals';
import { consumeEvents } from '#events';
import { createLogger } from '#telemetry';
import { sendRequest, createStage } from '../neighbours.testing.ts';
import type { Stage } from '../neighbours.testing.ts';
import {
  createAgentPrincipal,
  createFeedItem,
  createUserPrincipal,
} from '../principals.testing.ts';
import type { RunningGateway } from '../start.ts';

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
  test('streams the events that the caller may see, as soon as they happen', async () => {
    const claims = createAgentPrincipal();
    stage.standIns.notifier.feedPosition = async () => ({ position: 41 });
    await using stream = await openStream({ token: stage.tokenFor(claims) });
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream');
    await stream.until('id: 41');

    await stage.announce(createFeedItem(createAgentPrincipal(), 42));
    await stage.announce(createFeedItem(claims, 43, { data: { hello: 'world' } }));

    await stream.until('id: 43');
    expect(stream.text()).toContain('event: approval.raised\ndata: {"id":"');
    expect(stream.text()).toContain('"data":{"hello":"world"}');
    expect(stream.text()).not.toContain('id: 42');
    expect(stream.text()).not.toContain('audience');
  });

  test('streams the events that follow the one named in Last-Event-ID', async () => {
    const claims = createAgentPrincipal();
    const storedItems = [5, 6, 7].map((position) => createFeedItem(claims, position));
    stage.standIns.notifier.listFeed = async ({ after, types }) => {
      expect(types).toEqual(['approval.raised']);
      const page: FeedItem[] = storedItems.filter(({ position }) => position > after);
      return { items: page, position: page.at(-1)?.position ?? after };
    };
    await using stream = await openStream({
      token: stage.tokenFor(claims),
      query: '?types=approval.raised',
      headers: { 'last-event-id': '5' },
    });
    await stream.until('id: 7');
    await stage.announce(createFeedItem(claims, 7));
    await stage.announce(createFeedItem(claims, 8));
    await stream.until('id: 8');

    expect([...stream.text().matchAll(/^id: (\d+)$/gm)].map(([, id]) => id)).toEqual([
      '6',
      '7',
      '8',
    ]);
  });

  test('delivers an item that was stored but never announced on the bus', async () => {
    const claims = createAgentPrincipal();
    const storedItems = [101, 102, 103].map((position) => createFeedItem(claims, position));
    stage.standIns.notifier.feedPosition = async () => ({ position: 100 });
    stage.standIns.notifier.listFeed = async ({ after }) => {
      const page: FeedItem[] = storedItems.filter(({ position }) => position > after);
      return { items: page, position: page.at(-1)?.position ?? after };
    };
    await using stream = await openStream({ token: stage.tokenFor(claims) });
    await stream.until('id: 100');
    await stage.announce(createFeedItem(claims, 101));
    await stream.until('id: 101');
    // Item 102 was stored but never announced, as if the notifier had crashed.
    await stage.announce(createFeedItem(claims, 103));
    await stream.until('id: 103');

    const ids = [...stream.text().matchAll(/^id: (\d+)$/gm)].map(([, id]) => id);
    expect(ids).toEqual(['100', '101', '102', '103']);
  });

  test('accepts a session cookie', async () => {
    stage.standIns.notifier.feedPosition = async () => ({ position: 1 });
    const cookie = `gateway_session=${stage.tokenFor(createUserPrincipal())}`;
    await using stream = await openStream({ headers: { cookie } });

    await stream.until('id: 1');
  });

  test.for<[name: string, path: string, headers: Record<string, string>, status: number]>([
    ['no credential', '', {}, 401],
    ['an unknown type', '?types=approval.raise', {}, 400],
    ['an unknown parameter', '?type=x', {}, 400],
    ['a wrong Last-Event-ID', '', { 'last-event-id': 'abc' }, 400],
  ])('refuses a request with %s, with an error code', async ([name, query, headers, status]) => {
    const token = name === 'no credential' ? {} : { token: stage.tokenFor() };

    const reply = await sendRequest(url, `/v1/events${query}`, { ...token, headers });

    expect(reply.status).toBe(status);
    expect(reply.body).toHaveProperty('request_id');
  });

  test('requires the scope approvals', async () => {
    const token = stage.tokenFor({ scopes: ['actions:call'] });

    expect(await sendRequest(url, '/v1/events', { token })).toMatchObject({
      status: 403,
      body: { error: 'insufficient_scope' },
    });
  });
});

test('disconnects a client that does not read its events, and no other client', async () => {
  const claims = createAgentPrincipal();
  stage.standIns.notifier.feedPosition = async () => ({ position: 1 });
  await using otherStream = await openStream({ token: stage.tokenFor(claims) });
  await otherStream.until('id: 1');
  const { hostname, port } = new URL(url);
  const stalledSocket = connect({ host: hostname, port: Number(port) });
  stalledSocket.on('error', () => undefined);
  const token = stage.tokenFor(claims);
  stalledSocket.write(
    `GET /v1/events HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  await once(stalledSocket, 'readable');

  const padding = 'x'.repeat(900_000);
  const sentCount = 24;
  for (let position = 2; position < 2 + sentCount; position += 1) {
    await stage.announce(createFeedItem(claims, position, { data: { padding } }));
    await otherStream.until(`id: ${position}\n`);
  }

  let receivedCount = 0;
  stalledSocket.on('data', (chunk: Buffer) => (receivedCount += chunk.length));
  await once(stalledSocket, 'close');
  expect(receivedCount).toBeLessThan(sentCount * padding.length);
});

describe('POST /v1/actions/call', () => {
  const body = { service: 'github', action: 'issues.create', params: '{"title":"Hello"}' };
  const eventFacts = {
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
    let executeRequest: unknown;
    stage.standIns.policy.decide = async ({ call }) => {
      expect(call).toMatchObject({ kind: 'action', params: { title: 'Hello' } });
      return { outcome: 'permit', permit: `signed.${'x'.repeat(30)}`, auditId, ...eventFacts };
    };
    stage.standIns.executor.execute = async (request) => {
      executeRequest = request;
      return { kind: 'called', result, auditId, replayed: false };
    };

    const reply = await sendRequest(url, '/v1/actions/call', {
      token: stage.tokenFor(),
      body: { ...body, timeout_ms: 5_000 },
      headers: { 'idempotency-key': 'order-17' },
    });

    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({
      status: 'called',
      result,
      action_description: eventFacts.description,
      audit_id: auditId,
    });
    expect(executeRequest).toMatchObject({
      options: { timeoutMs: 5_000, idempotencyKey: 'order-17' },
      context: { requestId: reply.headers.get('x-request-id'), ip: '127.0.0.1' },
    });
  });

  test('leaves the response headers out of the result if verbose is false', async () => {
    const { status, body: reply } = await sendRequest(url, '/v1/actions/call', {
      token: stage.tokenFor(),
      body: { ...body, verbose: false },
    });

    expect(status).toBe(200);
    expect(reply['result']).toEqual({ status_code: 201, body: { n: 1 }, duration_ms: 12 });
  });

  test('answers a suspended call with the pending state, or with the result if the caller waits', async () => {
    const claims = createAgentPrincipal();
    const token = stage.tokenFor(claims);
    const approval = createApproval(claims);
    let currentApproval = approval;
    const envelope = {
      status: 'pending_approval' as const,
      approval_id: approval.id,
      approval_url: `http://127.0.0.1:8080/approvals/${approval.id}`,
      action_description: eventFacts.description,
      expires_at: approval.expires_at,
      relationship: 'self' as const,
      suggested_tiers: approval.suggested_tiers,
      auto_call_on_approve: true,
      risk: 'med' as const,
      permission_keys: eventFacts.permissionKeys,
    };
    const approvalRead = Promise.withResolvers<void>();
    const { policy, approvals } = stage.standIns;
    policy.decide = async () => ({
      outcome: 'gap',
      gap: `signed.${'x'.repeat(30)}`,
      ...eventFacts,
    });
    approvals.raise = async () => ({ kind: 'pending', envelope });
    approvals.get = async () => {
      approvalRead.resolve();
      return { ...currentApproval, proof: null };
    };
    approvals.resume = async () => ({ kind: 'called', result, description: 'd', auditId });

    const answerAtOnce = await sendRequest(url, '/v1/actions/call', { token, body });
    expect(answerAtOnce).toMatchObject({ status: 202, body: envelope });

    const waitingCall = sendRequest(url, '/v1/actions/call', {
      token,
      body,
      headers: { prefer: 'wait=30' },
    });
    await approvalRead.promise;
    currentApproval = { ...approval, status: 'allowed', execution: createExecution('executed') };
    await stage.announce(
      createFeedItem(claims, 9, { type: 'execution.finished', data: { approval_id: approval.id } }),
    );
    expect(await waitingCall).toMatchObject({ status: 200, body: { status: 'called', result } });

    const answerAfterWait = await sendRequest(url, '/v1/actions/call', {
      token,
      body,
      headers: { prefer: 'wait=1' },
    });
    expect(answerAfterWait.status).toBe(200);
  });

  test('answers a denied call with the status denied, and publishes an audit event', async () => {
    const seenIds: string[] = [];
    await using _reading = consumeEvents({
      bus: await stage.environment.connectReader('audit'),
      durable: 'audit',
      logger: createLogger({ component: 'test', level: 'silent' }),
      async handle(events) {
        seenIds.push(...events.map((event) => `${event.type} ${event.audit?.request_id}`));
      },
    });
    stage.standIns.policy.decide = async () => ({
      outcome: 'denied',
      reason: 'Denied by a rule',
      ...eventFacts,
    });

    const reply = await sendRequest(url, '/v1/actions/call', { token: stage.tokenFor(), body });

    expect(reply).toMatchObject({
      status: 200,
      body: { status: 'denied', reason: 'Denied by a rule' },
    });
    const requestId = reply.headers.get('x-request-id');
    await expect.poll(() => seenIds).toContain(`action.denied ${requestId}`);
  });
});

test('a gateway that stops ends streams, but still answers the open requests', async () => {
  const stoppingGateway = await stage.gateway({ SHUTDOWN_PAUSE_SECONDS: '1' });
  const claims = createAgentPrincipal();
  const token = stage.tokenFor(claims);
  stage.standIns.notifier.feedPosition = async () => ({ position: 1 });
  await using stream = await openStream({ token, at: stoppingGateway.url });
  await stream.until('id: 1');
  const slowAnswer = Promise.withResolvers<void>();
  stage.standIns.auth.listIdentities = async () => {
    await slowAnswer.promise;
    return { items: [], next_cursor: null };
  };
  const pendingRequest = sendRequest(stoppingGateway.url, '/v1/identities', { token });
  await sendRequest(stoppingGateway.url, '/health/live');

  const untilStopped = stoppingGateway[Symbol.asyncDispose]();
  const lateAnswer = await sendRequest(stoppingGateway.url, '/health/live');
  expect(lateAnswer.status).toBe(200);
  expect(lateAnswer.headers.get('connection')).toBe('close');
  expect((await sendRequest(stoppingGateway.url, '/health/ready')).status).toBe(503);
  await stream.ended();
  slowAnswer.resolve();

  expect((await pendingRequest).status).toBe(200);
  await untilStopped;
  await expect(sendRequest(stoppingGateway.url, '/health/live')).rejects.toThrow();
});

test('the replicas of the gateway divide the rate limits among themselves', async () => {
  const settings = { RATE_IDENTITY_PER_MINUTE: '100', RATE_USER_PER_MINUTE: '0' };
  await using first = await stage.gateway(settings);
  const token = stage.tokenFor();
  stage.standIns.auth.listIdentities = async () => ({ items: [], next_cursor: null });
  const rateLimitPolicyOf = async (at: string) =>
    (await sendRequest(at, '/v1/identities', { token })).headers.get('ratelimit-policy');
  await expect.poll(() => rateLimitPolicyOf(first.url)).toBe('"identity";q=50;w=60');
  {
    await using second = await stage.gateway(settings);
    await expect.poll(() => rateLimitPolicyOf(first.url)).toBe('"identity";q=33;w=60');
    await expect.poll(() => rateLimitPolicyOf(second.url)).toBe('"identity";q=33;w=60');
  }
  await expect.poll(() => rateLimitPolicyOf(first.url)).toBe('"identity";q=50;w=60');
});

interface OpenOptions {
  readonly token?: string;
  readonly query?: string;
  readonly headers?: Record<string, string>;
  readonly at?: string;
}

async function openStream({ token, query = '', headers = {}, at = url }: OpenOptions) {
  const cutController = new AbortController();
  const response = await fetch(new URL(`/v1/events${query}`, at), {
    signal: cutController.signal,
    headers: { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
  });
  let text = '';
  const untilRead = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
  })().catch(() => undefined);
  return {
    response,
    text: () => text,
    async until(part: string) {
      await expect.poll(() => text).toContain(part);
    },
    ended: () => untilRead,
    async [Symbol.asyncDispose]() {
      cutController.abort();
      await untilRead;
    },
  };
}

function createExecution(status: Execution['status']): Execution {
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

function createApproval(claims: ReturnType<typeof createAgentPrincipal>) {
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
