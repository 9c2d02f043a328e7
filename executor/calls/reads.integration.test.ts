import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';

import { jetstream } from '@nats-io/jetstream';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';

import { deadlineIn, storeApi } from '#bus';
import { executor } from '#contracts/bus/executor';
import type { Call, CallOptions } from '#contracts/call';
import { clientGoneSubject } from '#contracts/events';
import type { Event } from '#contracts/events';
import { attributesOf, collectSpans } from '../../test/support/collector.ts';
import { canary, context, createWorld, options, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

let world: World;

beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => world.upstream.reset());

async function execute(
  call: Call,
  { permit, more }: { permit?: string; more?: Partial<CallOptions> } = {},
) {
  const request = {
    permit: permit ?? world.permitOf(call),
    call,
    options: { ...options, ...more },
    context,
  };
  const done = executor.endpoints.execute.response.parse(
    await world.gateway.execute(request, testDeadline()),
  );
  if (done.kind !== 'called') throw new Error('suspended');
  return done;
}

/** The audit event of a call in the stream AUDIT, read with the audit component's access. */
async function findStreamedEvent(auditId: string): Promise<Event | undefined> {
  const bus = await world.environment.connectReader('audit');
  const store = jetstream(bus.nats, { apiPrefix: storeApi });
  const consumer = await store.consumers.get('AUDIT', 'audit');
  const messages = await consumer.fetch({ max_messages: 200, expires: 1_000 });
  let found: Event | undefined;
  for await (const message of messages) {
    const events = [message.json<Event | Event[]>()].flat();
    message.ack();
    found = events.find((event) => event.data['audit_id'] === auditId);
    if (found) break;
  }
  return found;
}

describe('a traced call', () => {
  const secretPath = 'nothing-for-spans';
  const sendTo = async (place: World) => {
    const call = place.actionCall('get', { id: secretPath });
    await place.gateway.execute(
      { permit: place.permitOf(call), call, options, context },
      testDeadline(),
    );
    return place.upstream.hits.at(-1)?.headers ?? {};
  };
  const traceHeadersOf = (headers: object) =>
    Object.keys(headers).filter((name) => /trace|baggage|^b3$|request-id/.test(name));

  test('sends the upstream no trace headers', async () => {
    let headers = {};
    const spans = await collectSpans(async () => {
      headers = await sendTo(world);
    });

    expect(traceHeadersOf(headers)).toEqual([]);
    const sent = spans.find(({ name, kind }) => name === 'GET' && kind === 3);
    const [host, port] = world.upstream.host.split(':');
    expect(attributesOf(sent!)).toEqual({
      'http.request.method': 'GET',
      'http.response.status_code': 200,
      'server.address': host,
      'server.port': Number(port),
    });
    expect(JSON.stringify(spans)).not.toContain(secretPath);
  });

  test('sends the upstream the trace headers with EGRESS_TRACE_CONTEXT=on', async () => {
    await using other = await createWorld({ variables: { EGRESS_TRACE_CONTEXT: 'on' } });
    let headers: Record<string, unknown> = {};
    const spans = await collectSpans(async () => {
      headers = await sendTo(other);
    });

    expect(traceHeadersOf(headers)).toEqual(['traceparent']);
    const [, traceId, spanId] = String(headers['traceparent']).split('-');
    expect(spans.map((span) => [span.traceId, span.spanId])).toContainEqual([traceId, spanId]);
  });
});

describe('an allowed read', () => {
  test('is sent once, and its audit event is in the stream before the caller gets the answer', async () => {
    const call = world.actionCall('get', { id: 'a/b' });
    const done = await execute(call);

    expect(done).toMatchObject({
      replayed: false,
      result: { status_code: 200, body: { ok: true } },
    });
    expect(world.upstream.hits).toHaveLength(1);
    expect(world.upstream.hits[0]).toMatchObject({ method: 'GET', url: '/things/a%2Fb' });
    expect(world.upstream.hits[0]?.headers['user-agent']).toBe('agent-action-gateway');
    const event = await findStreamedEvent(done.auditId);
    expect(event?.audit).toMatchObject({
      outcome: 'called',
      http_status: 200,
      user_id: world.userId,
      identity: { id: world.agentId, path: ['ann', 'bot'] },
      service: 'acme',
      template: 'acme',
      action: 'get',
      permission_keys: ['acme:get:*'],
      risk: 'read',
      request_id: 'req-1',
      ip: '192.0.2.1',
    });
    expect(event?.audience).toEqual([world.userId, world.agentId]);
  });

  test('writes no database row, unless its org wants durable records of reads', async () => {
    const call = world.actionCall('get', { id: '1' });
    await execute(call);
    expect(await world.sql`select 1 from executor.dispatch`).toHaveLength(0);
    expect(await world.outbox('action.outcome')).toHaveLength(0);

    world.settings.durableReadAudit = true;
    await expect
      .poll(
        async () => {
          await execute(call);
          return world.outbox('action.outcome');
        },
        { interval: 300 },
      )
      .not.toHaveLength(0);
    world.settings.durableReadAudit = false;
  });

  test('is retried after a lost connection, and not after an answer', async () => {
    let failuresLeft = 2;
    world.upstream.answer((_hit, reply) => {
      failuresLeft -= 1;
      if (failuresLeft >= 0) reply.destroy();
      else reply.writeHead(500).end('down');
    });

    const { result } = await execute(world.actionCall('get', { id: '1' }));

    expect(result).toMatchObject({ status_code: 500, body: 'down' });
    expect(world.upstream.hits).toHaveLength(3);
  });

  test('fails after three lost connections with an error that names its audit record', async () => {
    world.upstream.answer((_hit, reply) => reply.destroy());

    await expect(execute(world.actionCall('get', { id: '1' }))).rejects.toMatchObject({
      code: 'upstream_unreachable',
      details: { audit_id: expect.any(String) },
    });
    expect(world.upstream.hits).toHaveLength(3);
  });

  test('is retried when the upstream asks for a short wait, and returns retry_after when it asks for a long one', async () => {
    const answers: [status: number, retryAfter: string][] = [
      [429, '0'],
      [503, '0'],
      [200, '0'],
      [429, '17'],
    ];
    world.upstream.answer((_hit, reply) => {
      const [status, retryAfter] = answers.shift() ?? [500, '0'];
      reply.writeHead(status, { 'retry-after': retryAfter }).end();
    });

    const first = await execute(world.actionCall('get', { id: '1' }));
    expect(first.result.status_code).toBe(200);
    expect(first.result.failure).toBeUndefined();
    expect(world.upstream.hits).toHaveLength(3);
    const second = await execute(world.actionCall('get', { id: '1' }));
    expect(second.result).toMatchObject({
      status_code: 429,
      headers: { 'retry-after': '17' },
      failure: { kind: 'rate_limited', retry_after: 17 },
    });
    expect(world.upstream.hits).toHaveLength(4);
  });

  test('waits for 2 s in all at most, however often the upstream asks for a wait', async () => {
    const waits = ['1', '2', '0'];
    world.upstream.answer((_hit, reply) => {
      reply.writeHead(503, { 'retry-after': waits.shift() ?? '0' }).end();
    });
    const { result } = await execute(world.actionCall('get', { id: '1' }));
    expect(result.failure).toMatchObject({ kind: 'unavailable', retry_after: 2 });
    expect(world.upstream.hits).toHaveLength(2);
  });

  test('is a failure with status 200 when its template says so', async () => {
    const originalTemplate = world.template.current;
    const failure = { when: '.ok == false', code: '.error', kinds: { not_found: ['gone'] } };
    world.template.current = { ...originalTemplate, failure };
    try {
      for (const body of [{ ok: false, error: 'gone' }, { ok: true }]) {
        world.upstream.answer((_hit, reply) => {
          reply.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
        });
        const { result } = await execute(world.actionCall('get', { id: '1' }));
        const expected = body.ok ? undefined : { kind: 'not_found', message: 'gone' };
        expect(result).toMatchObject({ status_code: 200, body });
        expect(result.failure).toEqual(expected);
      }
    } finally {
      world.template.current = originalTemplate;
    }
  });

  test('is refused by the circuit breaker after five consecutive failures in its org', async () => {
    // The circuit breaker's pause is longer than the test takes on any machine. Only after the
    // pause, one call may be sent.
    await using otherWorld = await createWorld({
      breaker: { pauseMs: 600_000, pauseMaxMs: 600_000 },
    });
    otherWorld.upstream.answer((_hit, reply) => reply.destroy());
    const read = otherWorld.actionCall('get', { id: '1' });
    const write = otherWorld.actionCall('create', { title: 't' });
    const send = (call: Call, orgId?: string) =>
      otherWorld.gateway.execute(
        { permit: otherWorld.permitOf(call, orgId ? { orgId } : {}), call, options, context },
        testDeadline(),
      );
    for (let n = 0; n < 2; n += 1) await expect(send(read)).rejects.toThrow();
    expect(otherWorld.upstream.hits).toHaveLength(5);

    for (const call of [read, write]) {
      await expect(send(call)).rejects.toMatchObject({
        code: 'upstream_unreachable',
        details: { retry_after: expect.any(Number), audit_id: expect.any(String) },
      });
    }
    expect(otherWorld.upstream.hits).toHaveLength(5);
    otherWorld.upstream.reset();
    expect(await send(read, randomUUID())).toMatchObject({ kind: 'called' });
  });

  test('fails when its deadline ends', async () => {
    world.upstream.answer(() => {});

    await expect(
      execute(world.actionCall('get', { id: '1' }), { more: { timeoutMs: 100 } }),
    ).rejects.toMatchObject({ code: 'upstream_timeout' });
  });

  test('follows a redirect within its operation, with its credential, and no other redirect', async () => {
    const value = canary();
    const secret = await world.gateway.createSecret(
      {
        principal: world.admin,
        body: { name: 'redirected', value, allowed_hosts: [world.upstream.host] },
      },
      testDeadline(),
    );
    const secrets = [{ id: secret.id, name: 'redirected' }];
    const call = world.actionCall('get', { id: 'old' });
    world.upstream.answer((hit, reply) => {
      if (hit.url === '/things/old') reply.writeHead(302, { location: '/things/new' }).end();
      else if (hit.url === '/things/out') reply.writeHead(302, { location: '/trigger' }).end();
      else reply.end('there');
    });

    expect((await execute(call, { permit: world.permitOf(call, { secrets }) })).result.body).toBe(
      'there',
    );
    expect(world.upstream.hits.map(({ headers }) => headers.authorization)).toEqual([
      `Bearer ${value}`,
      `Bearer ${value}`,
    ]);
    const redirectOutcome = await execute(world.actionCall('get', { id: 'out' }));
    expect(redirectOutcome.result).toMatchObject({
      status_code: 302,
      headers: { location: '/trigger' },
    });
  });

  test('follows at most five redirects', async () => {
    let next = 0;
    world.upstream.answer((_hit, reply) => {
      next += 1;
      reply.writeHead(302, { location: `/things/${next}` }).end();
    });

    expect((await execute(world.actionCall('get', { id: '0' }))).result.status_code).toBe(302);
    expect(world.upstream.hits).toHaveLength(6);
  });
});

describe('the answer to a read', () => {
  test('is filtered, and reports a filter that fails or an answer that is not JSON', async () => {
    world.upstream.answer((hit, reply) => {
      if (hit.url.endsWith('text')) return reply.end('plain');
      reply.setHeader('content-type', 'application/json');
      return reply.end('{"items":[{"n":1},{"n":2}]}');
    });
    const executeFiltered = async (id: string, filter: string) =>
      (await execute(world.actionCall('get', { id }, filter))).result;

    expect((await executeFiltered('1', '.items | length')).filtered_body).toBe(2);
    expect((await executeFiltered('1', '.items[].n')).filtered_body).toEqual([1, 2]);
    expect((await executeFiltered('1', '.items | error("no")')).filter_error).toEqual(
      expect.any(String),
    );
    expect((await executeFiltered('1', 'def f: f; f')).filter_error).toEqual(expect.any(String));
    expect((await executeFiltered('text', '.')).filter_error).toContain('not JSON');
  });

  test('is not requested when the caller’s filter is invalid', async () => {
    await expect(execute(world.actionCall('get', { id: '1' }, '.items['))).rejects.toMatchObject({
      code: 'filter_invalid',
    });
    expect(world.upstream.hits).toHaveLength(0);
  });

  test('never repeats an injected credential in any encoding', async () => {
    const value = canary();
    const secret = await world.gateway.createSecret(
      {
        principal: world.admin,
        body: { name: 'echoed', value, allowed_hosts: [world.upstream.host] },
      },
      testDeadline(),
    );
    const spellings = [
      value,
      Buffer.from(`Bearer ${value}`).toString('base64'),
      Buffer.from(value).toString('base64url'),
      Buffer.from(value).toString('hex'),
      encodeURIComponent(value),
      value.replace('C', String.raw`\u0043`),
    ];
    world.upstream.answer((hit, reply) => {
      reply
        .setHeader('content-type', 'application/json')
        .setHeader('x-echo', hit.headers.authorization ?? '');
      reply.setHeader('set-cookie', `t=${value}`);
      // The upstream sends the text in pieces, so that a value is split between two pieces.
      const text = `{"all":["${spellings.join('","')}"]}`;
      reply.write(text.slice(0, 15));
      setTimeout(() => reply.write(text.slice(15, 60)), 20);
      setTimeout(() => reply.end(text.slice(60)), 40);
    });
    const call = world.actionCall('get', { id: '1' }, '.all[0]');
    const permit = world.permitOf(call, { secrets: [{ id: secret.id, name: 'echoed' }] });
    const { result } = await execute(call, { permit });

    expect(world.upstream.hits[0]?.headers.authorization).toBe(`Bearer ${value}`);
    const answer = JSON.stringify(result);
    for (const spelling of [...spellings.slice(0, 5), 'CANARY'])
      expect(answer).not.toContain(spelling);
    expect(result.headers['x-echo']).toBe('Bearer [REDACTED]');
    expect(result.filtered_body).toBe('[REDACTED]');
  });
});

describe('the executor', () => {
  test('refuses a forged permit, an expired permit, and a permit for another call, before anything is sent', async () => {
    const call = world.actionCall('get', { id: '1' });
    const other = world.actionCall('get', { id: '2' });
    const [payload, mac] = world.permitOf(call).split('.');

    await expect(execute(call, { permit: `${payload}x.${mac}` })).rejects.toMatchObject({
      code: 'unauthenticated',
    });
    await expect(execute(call, { permit: world.permitOf(other) })).rejects.toMatchObject({
      code: 'unauthenticated',
    });
    await expect(execute(call, { permit: world.gapOf(call) })).rejects.toMatchObject({
      code: 'unauthenticated',
    });
    await expect(
      execute(call, { permit: world.permitOf(call, { expiresAt: Date.now() - 6_000 }) }),
    ).rejects.toMatchObject({ code: 'unavailable' });
    expect(world.upstream.hits).toHaveLength(0);
  });

  test('refuses a host, path or permission key that is not in the permit, before anything is sent', async () => {
    const call = world.actionCall('get', { id: '1' });
    const raw = world.rawCall({ target: `${world.upstream.baseUrl}/a` });

    await expect(
      execute(call, { permit: world.permitOf(call, { hosts: ['api.example.com'] }) }),
    ).rejects.toMatchObject({ code: 'host_not_allowed' });
    await expect(
      execute(raw, {
        permit: world.permitOf(raw, { keys: [`http:GET:${world.upstream.host}/b`] }),
      }),
    ).rejects.toMatchObject({ code: 'unauthenticated' });
    await expect(execute(world.actionCall('get', { id: '..' }))).rejects.toMatchObject({
      code: 'invalid_params',
    });
    expect(world.upstream.hits).toHaveLength(0);
  });

  test('refuses a private address that the operator did not allow, before anything is sent', async () => {
    const call = world.rawCall({ target: 'http://169.254.169.254/latest' });
    const parts = { hosts: ['169.254.169.254'], keys: ['http:GET:169.254.169.254/latest'] };

    await expect(execute(call, { permit: world.permitOf(call, parts) })).rejects.toMatchObject({
      code: 'upstream_refused_address',
    });
  });

  test('refuses a secret that may not go to the host, belongs to another user, or was deleted, before anything is sent', async () => {
    const call = world.actionCall('get', { id: '1' });
    const storeSecret = async (name: string, allowed_hosts: string[]) =>
      world.gateway.createSecret(
        { principal: world.admin, body: { name, value: canary(), allowed_hosts } },
        testDeadline(),
      );
    const executeWithSecret = (id: string, parts = {}) =>
      execute(call, { permit: world.permitOf(call, { secrets: [{ id, name: 'x' }], ...parts }) });
    const otherWorld = await storeSecret('elsewhere', ['api.example.com']);
    const secretWithoutHosts = await storeSecret('nowhere', []);
    const deletedSecret = await storeSecret('gone', [world.upstream.host]);
    await world.gateway.deleteSecret(
      { principal: world.admin, id: deletedSecret.id },
      testDeadline(),
    );

    await expect(executeWithSecret(otherWorld.id)).rejects.toMatchObject({
      code: 'host_not_allowed',
    });
    await expect(executeWithSecret(secretWithoutHosts.id)).rejects.toMatchObject({
      code: 'host_not_allowed',
    });
    await expect(executeWithSecret(deletedSecret.id)).rejects.toMatchObject({
      code: 'credential_missing',
    });
    await expect(executeWithSecret(otherWorld.id, { userId: world.agentId })).rejects.toMatchObject(
      {
        code: 'credential_missing',
      },
    );
    await expect(executeWithSecret(otherWorld.id, { orgId: world.agentId })).rejects.toMatchObject({
      code: 'credential_missing',
    });
    expect(world.upstream.hits).toHaveLength(0);
  });

  test('refuses a secret without hosts, except in a call by full URL whose permission key names it', async () => {
    const value = canary();
    const { id } = await world.gateway.createSecret(
      { principal: world.admin, body: { name: 'free', value } },
      testDeadline(),
    );
    const { host, baseUrl } = world.upstream;
    const secrets = [{ id, name: 'free' }];
    const call = world.rawCall({
      target: `${baseUrl}/a`,
      secrets: [{ name: 'free', in: 'header', key: 'Authorization' }],
    });
    const keys = [`http:GET:${host}/a`, `secret:free:${host}`];

    await expect(
      execute(call, { permit: world.permitOf(call, { secrets }) }),
    ).rejects.toMatchObject({
      code: 'host_not_allowed',
    });
    await execute(call, { permit: world.permitOf(call, { secrets, keys }) });
    expect(world.upstream.hits.map(({ headers }) => headers.authorization)).toEqual([
      `Bearer ${value}`,
    ]);
  });
});

test('the executor refuses a call while all slots are taken, before anything is recorded', async () => {
  await using smallWorld = await createWorld({ variables: { EXECUTOR_IN_FLIGHT_MAX: '2' } });
  smallWorld.upstream.answer((_hit, reply) => void setTimeout(() => reply.end('late'), 300));
  const call = smallWorld.actionCall('create', { title: 't' });
  const all = await Promise.allSettled(
    Array.from({ length: 6 }, () =>
      smallWorld.gateway.execute(
        { permit: smallWorld.permitOf(call), call, options, context },
        testDeadline(),
      ),
    ),
  );

  const refusedOutcomes = all.filter((each) => each.status === 'rejected');
  expect(refusedOutcomes).toHaveLength(4);
  for (const { reason } of refusedOutcomes) {
    expect(reason).toMatchObject({
      code: 'unavailable',
      details: { component: 'executor', busy: true },
    });
  }
  expect(await smallWorld.sql`select 1 from executor.dispatch`).toHaveLength(2);
  expect(smallWorld.upstream.hits).toHaveLength(2);
});

test('the executor sends as many concurrent calls to one upstream as the upstream has slots', async () => {
  const undivided = {
    SHARE_ORG_PERCENT: '100',
    SHARE_USER_PERCENT: '100',
    SHARE_IDENTITY_PERCENT: '100',
  };
  await using wide = await createWorld({
    variables: { EXECUTOR_IN_FLIGHT_MAX: '120', ...undivided },
  });
  const heldResponses: ServerResponse[] = [];
  wide.upstream.answer((_hit, reply) => {
    // The upstream answers only after all calls have arrived. So the test ends only if no call
    // waits for another call.
    if (heldResponses.push(reply) === 108) for (const each of heldResponses) each.end('done');
  });
  const call = wide.actionCall('get', { id: '1' });
  const all = await Promise.allSettled(
    Array.from({ length: 108 }, () =>
      wide.gateway.execute({ permit: wide.permitOf(call), call, options, context }, testDeadline()),
    ),
  );

  expect(all.filter(({ status }) => status === 'rejected')).toEqual([]);
});

/**
 * An executor with two slots, both taken by calls that the upstream answers only through `held`.
 */
async function createFullWorld() {
  const smallWorld = await createWorld({ variables: { EXECUTOR_IN_FLIGHT_MAX: '2' } });
  const heldResponses: ServerResponse[] = [];
  smallWorld.upstream.answer((_hit, reply) => void heldResponses.push(reply));
  const send = (action: string, params: Record<string, string>, mayWait = false) => {
    const call = smallWorld.actionCall(action, params);
    const request = { permit: smallWorld.permitOf(call), call, options, context, mayWait };
    return smallWorld.gateway.execute(request, testDeadline());
  };
  const first = send('create', { title: 'a' });
  const second = send('get', { id: '1' });
  await vi.waitFor(() => expect(heldResponses).toHaveLength(2), 30_000);
  smallWorld.upstream.answer((_hit, reply) => void reply.end('done'));
  return { smallWorld, send, held: heldResponses, taken: [first, second] };
}
const busyError = { code: 'unavailable', details: { busy: true } };

test('the executor counts a call as under way until the call has ended', async () => {
  const { smallWorld, send, held, taken } = await createFullWorld();
  await using _small = smallWorld;

  const waitingCall = send('create', { title: 'waits' }, true);
  await expect(send('create', { title: 'b' })).rejects.toMatchObject(busyError);
  for (const reply of held) reply.end('done');
  await Promise.all(taken);
  await expect(waitingCall).resolves.toMatchObject({ kind: 'called' });
  expect(smallWorld.upstream.hits).toHaveLength(3);
  await expect(send('create', { title: 'c' })).resolves.toMatchObject({ kind: 'called' });
});

test('the executor finishes its calls when it stops, and refuses calls that wait for a slot', async () => {
  const { smallWorld, send, held, taken } = await createFullWorld();
  await using _small = smallWorld;

  const waitingCall = send('create', { title: 'waits' }, true);
  await expect(send('create', { title: 'b' })).rejects.toMatchObject(busyError);
  const executorStop = smallWorld.stopExecutor();
  for (const reply of held) reply.end('done');

  await expect(waitingCall).rejects.toMatchObject(busyError);
  expect(await Promise.all(taken)).toMatchObject([{ kind: 'called' }, { kind: 'called' }]);
  await executorStop;
  expect(smallWorld.upstream.hits).toHaveLength(2);
});

describe('a call whose client has disconnected', () => {
  const announceDisconnect = async (auditId: string) => {
    const { nats } = await world.environment.connect('gateway');
    nats.publish(clientGoneSubject, JSON.stringify({ auditId }));
  };
  /**
   * Starts a call that the upstream does not answer. Returns a promise that resolves when the
   * upstream sees the connection close.
   */
  const startHangingCall = async (call: Call) => {
    const auditId = randomUUID();
    const { promise: lost, resolve } = Promise.withResolvers<void>();
    const { promise: heldResponse, resolve: hold } = Promise.withResolvers<ServerResponse>();
    world.upstream.answer((_hit, reply) => {
      reply.once('close', resolve);
      hold(reply);
    });
    const permit = world.permitOf(call, { jti: auditId });
    const outcome = execute(call, { permit, more: { timeoutMs: 60_000 } }).then(
      (done) => done,
      (error: unknown) => error,
    );
    return { auditId, ended: outcome, lost, reply: await heldResponse };
  };

  test('is stopped and recorded when it is a read', async () => {
    const { auditId, ended, lost } = await startHangingCall(world.actionCall('get', { id: '1' }));
    await announceDisconnect(randomUUID());
    await announceDisconnect(auditId);

    await lost;
    expect(await ended).toMatchObject({
      code: 'upstream_timeout',
      details: { audit_id: auditId },
    });
    expect((await findStreamedEvent(auditId))?.audit).toMatchObject({
      outcome: 'failed',
      user_id: world.userId,
      action: 'get',
    });
    expect(world.upstream.hits).toHaveLength(1);
  });

  test('is stopped while it waits for a retry', async () => {
    const auditId = randomUUID();
    const call = world.actionCall('get', { id: '1' });
    world.upstream.answer((_hit, reply) => {
      reply.writeHead(503, { 'retry-after': '2' }).end();
      setImmediate(() => void announceDisconnect(auditId));
    });
    const permit = world.permitOf(call, { jti: auditId });
    const more = { timeoutMs: 60_000 };
    await expect(
      world.gateway.execute(
        { permit, call, options: { ...options, ...more }, context },
        deadlineIn(60_000),
      ),
    ).rejects.toMatchObject({ code: 'upstream_timeout', details: { audit_id: auditId } });
  });

  test('continues when it is a non-read', async () => {
    const { auditId, ended, reply } = await startHangingCall(
      world.actionCall('create', { title: 'T' }),
    );
    await announceDisconnect(auditId);
    // Messages arrive in order. So when this message has arrived, so has the earlier one about the
    // disconnect.
    const { nats } = await world.environment.connect('gateway');
    await nats.flush();
    reply.end('{"ok":true}');

    expect(await ended).toMatchObject({ kind: 'called', result: { status_code: 200 } });
  });
});
