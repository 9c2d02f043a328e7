import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';

import { jetstream } from '@nats-io/jetstream';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';

import { deadlineIn, storeApi } from '#bus';
import { executor } from '#contracts/bus/executor';
import type { Call, CallOptions } from '#contracts/call';
import { clientGoneSubject } from '#contracts/events';
import type { Event } from '#contracts/events';
import { canary, context, createWorld, options, soon } from './world.testing.ts';
import type { World } from './world.testing.ts';

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
    await world.gateway.execute(request, soon()),
  );
  if (done.kind !== 'called') throw new Error('suspended');
  return done;
}

/** What the stream EVENTS holds of a call, read by the audit component's own consumer. */
async function streamed(auditId: string): Promise<Event | undefined> {
  const bus = await world.environment.connectReader('audit');
  const store = jetstream(bus.nats, { apiPrefix: storeApi });
  const consumer = await store.consumers.get('EVENTS', 'audit');
  const messages = await consumer.fetch({ max_messages: 200, expires: 1_000 });
  let found: Event | undefined;
  for await (const message of messages) {
    const event = message.json<Event>();
    message.ack();
    if (event.data['audit_id'] === auditId) found = event;
    if (found) break;
  }
  return found;
}

describe('an allowed read', () => {
  test('is sent once, and its audit event is in the stream before the answer', async () => {
    const call = world.actionCall('get', { id: 'a/b' });
    const done = await execute(call);

    expect(done).toMatchObject({
      replayed: false,
      result: { status_code: 200, body: { ok: true } },
    });
    expect(world.upstream.hits).toHaveLength(1);
    expect(world.upstream.hits[0]).toMatchObject({ method: 'GET', url: '/things/a%2Fb' });
    expect(world.upstream.hits[0]?.headers['user-agent']).toBe('agent-action-gateway');
    const event = await streamed(done.auditId);
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

  test('leaves no row behind, unless the org wants its reads on disk', async () => {
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
        { timeout: 5_000, interval: 300 },
      )
      .not.toHaveLength(0);
    world.settings.durableReadAudit = false;
  });

  test('is sent again when the connection was lost, and not when it was answered', async () => {
    let failures = 2;
    world.upstream.answer((_hit, reply) => {
      failures -= 1;
      if (failures >= 0) reply.destroy();
      else reply.writeHead(500).end('down');
    });

    const { result } = await execute(world.actionCall('get', { id: '1' }));

    expect(result).toMatchObject({ status_code: 500, body: 'down' });
    expect(world.upstream.hits).toHaveLength(3);
  });

  test('fails with a typed error that names its audit row after three lost connections', async () => {
    world.upstream.answer((_hit, reply) => reply.destroy());

    await expect(execute(world.actionCall('get', { id: '1' }))).rejects.toMatchObject({
      code: 'upstream_unreachable',
      details: { audit_id: expect.any(String) },
    });
    expect(world.upstream.hits).toHaveLength(3);
  });

  test('is sent again when the upstream asked to wait, if the caller can', async () => {
    const answers: [status: number, retryAfter: string][] = [
      [429, '0'],
      [503, '0'],
      [200, '0'],
      [429, '60'],
    ];
    world.upstream.answer((_hit, reply) => {
      const [status, retryAfter] = answers.shift() ?? [500, '0'];
      reply.writeHead(status, { 'retry-after': retryAfter }).end();
    });

    const first = await execute(world.actionCall('get', { id: '1' }));
    expect(first.result.status_code).toBe(200);
    expect(world.upstream.hits).toHaveLength(3);
    const second = await execute(world.actionCall('get', { id: '1' }));
    expect(second.result).toMatchObject({ status_code: 429, headers: { 'retry-after': '60' } });
    expect(world.upstream.hits).toHaveLength(4);
  });

  test('is not even tried, by an org whose calls have failed there five times in a row', async () => {
    // Longer than this takes on any machine: after it, one call may try.
    await using elsewhere = await createWorld({
      breaker: { pauseMs: 600_000, pauseMaxMs: 600_000 },
    });
    elsewhere.upstream.answer((_hit, reply) => reply.destroy());
    const read = elsewhere.actionCall('get', { id: '1' });
    const write = elsewhere.actionCall('create', { title: 't' });
    const send = (call: Call, orgId?: string) =>
      elsewhere.gateway.execute(
        { permit: elsewhere.permitOf(call, orgId ? { orgId } : {}), call, options, context },
        soon(),
      );
    for (let n = 0; n < 2; n += 1) await expect(send(read)).rejects.toThrow();
    expect(elsewhere.upstream.hits).toHaveLength(5);

    for (const call of [read, write]) {
      await expect(send(call)).rejects.toMatchObject({
        code: 'upstream_unreachable',
        details: { retry_after: expect.any(Number), audit_id: expect.any(String) },
      });
    }
    expect(elsewhere.upstream.hits).toHaveLength(5);
    elsewhere.upstream.reset();
    expect(await send(read, randomUUID())).toMatchObject({ kind: 'called' });
  });

  test('ends at its deadline', async () => {
    world.upstream.answer(() => {});

    await expect(
      execute(world.actionCall('get', { id: '1' }), { more: { timeoutMs: 100 } }),
    ).rejects.toMatchObject({ code: 'upstream_timeout' });
  });

  test('follows a redirect within its operation, with its credential, and no other', async () => {
    const value = canary();
    const secret = await world.gateway.createSecret(
      {
        principal: world.admin,
        body: { name: 'redirected', value, allowed_hosts: [world.upstream.host] },
      },
      soon(),
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
    const out = await execute(world.actionCall('get', { id: 'out' }));
    expect(out.result).toMatchObject({ status_code: 302, headers: { location: '/trigger' } });
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

describe('the answer', () => {
  test('is filtered, and says so when the filter fails or there is nothing to filter', async () => {
    world.upstream.answer((hit, reply) => {
      if (hit.url.endsWith('text')) return reply.end('plain');
      reply.setHeader('content-type', 'application/json');
      return reply.end('{"items":[{"n":1},{"n":2}]}');
    });
    const filtered = async (id: string, filter: string) =>
      (await execute(world.actionCall('get', { id }, filter))).result;

    expect((await filtered('1', '.items | length')).filtered_body).toBe(2);
    expect((await filtered('1', '.items[].n')).filtered_body).toEqual([1, 2]);
    expect((await filtered('1', '.items | error("no")')).filter_error).toEqual(expect.any(String));
    expect((await filtered('1', 'def f: f; f')).filter_error).toEqual(expect.any(String));
    expect((await filtered('text', '.')).filter_error).toContain('not JSON');
  });

  test('is not asked for at all with a filter that is no jq', async () => {
    await expect(execute(world.actionCall('get', { id: '1' }, '.items['))).rejects.toMatchObject({
      code: 'filter_invalid',
    });
    expect(world.upstream.hits).toHaveLength(0);
  });

  test('never repeats an injected credential, in any spelling', async () => {
    const value = canary();
    const secret = await world.gateway.createSecret(
      {
        principal: world.admin,
        body: { name: 'echoed', value, allowed_hosts: [world.upstream.host] },
      },
      soon(),
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
      // In pieces that cut through the value.
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

describe('what is refused before anything leaves', () => {
  test('a forged, expired or foreign permit', async () => {
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

  test('a host, path or key other than the permitted one', async () => {
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

  test('a private address that the operator did not allow', async () => {
    const call = world.rawCall({ target: 'http://169.254.169.254/latest' });
    const parts = { hosts: ['169.254.169.254'], keys: ['http:GET:169.254.169.254/latest'] };

    await expect(execute(call, { permit: world.permitOf(call, parts) })).rejects.toMatchObject({
      code: 'upstream_refused_address',
    });
  });

  test('a secret for another host, of another user or that is gone', async () => {
    const call = world.actionCall('get', { id: '1' });
    const created = async (name: string, allowed_hosts: string[]) =>
      world.gateway.createSecret(
        { principal: world.admin, body: { name, value: canary(), allowed_hosts } },
        soon(),
      );
    const withSecret = (id: string, parts = {}) =>
      execute(call, { permit: world.permitOf(call, { secrets: [{ id, name: 'x' }], ...parts }) });
    const elsewhere = await created('elsewhere', ['api.example.com']);
    const nowhere = await created('nowhere', []);
    const gone = await created('gone', [world.upstream.host]);
    await world.gateway.deleteSecret({ principal: world.admin, id: gone.id }, soon());

    await expect(withSecret(elsewhere.id)).rejects.toMatchObject({ code: 'host_not_allowed' });
    await expect(withSecret(nowhere.id)).rejects.toMatchObject({ code: 'host_not_allowed' });
    await expect(withSecret(gone.id)).rejects.toMatchObject({ code: 'credential_missing' });
    await expect(withSecret(elsewhere.id, { userId: world.agentId })).rejects.toMatchObject({
      code: 'credential_missing',
    });
    await expect(withSecret(elsewhere.id, { orgId: world.agentId })).rejects.toMatchObject({
      code: 'credential_missing',
    });
    expect(world.upstream.hits).toHaveLength(0);
  });

  test('a secret without hosts goes only with a raw call whose key says so', async () => {
    const value = canary();
    const { id } = await world.gateway.createSecret(
      { principal: world.admin, body: { name: 'free', value } },
      soon(),
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

test('a full executor says so before anything is recorded', async () => {
  await using small = await createWorld({ variables: { EXECUTOR_IN_FLIGHT_MAX: '2' } });
  small.upstream.answer((_hit, reply) => void setTimeout(() => reply.end('late'), 300));
  const call = small.actionCall('create', { title: 't' });
  const all = await Promise.allSettled(
    Array.from({ length: 6 }, () =>
      small.gateway.execute({ permit: small.permitOf(call), call, options, context }, soon()),
    ),
  );

  const refused = all.filter((each) => each.status === 'rejected');
  expect(refused).toHaveLength(4);
  for (const { reason } of refused) {
    expect(reason).toMatchObject({
      code: 'unavailable',
      details: { component: 'executor', busy: true },
    });
  }
  expect(await small.sql`select 1 from executor.dispatch`).toHaveLength(2);
  expect(small.upstream.hits).toHaveLength(2);
});

test('as many calls of one upstream are under way as there are slots for it', async () => {
  const undivided = {
    SHARE_ORG_PERCENT: '100',
    SHARE_USER_PERCENT: '100',
    SHARE_IDENTITY_PERCENT: '100',
  };
  await using wide = await createWorld({
    variables: { EXECUTOR_IN_FLIGHT_MAX: '120', ...undivided },
  });
  const held: ServerResponse[] = [];
  wide.upstream.answer((_hit, reply) => {
    // Nobody is answered before all are there: none of them waits for the connection of another.
    if (held.push(reply) === 108) for (const each of held) each.end('done');
  });
  const call = wide.actionCall('get', { id: '1' });
  const all = await Promise.allSettled(
    Array.from({ length: 108 }, () =>
      wide.gateway.execute({ permit: wide.permitOf(call), call, options, context }, soon()),
    ),
  );

  expect(all.filter(({ status }) => status === 'rejected')).toEqual([]);
});

/** An executor whose two slots are taken by calls that `held` answers. */
async function createFullWorld() {
  const small = await createWorld({ variables: { EXECUTOR_IN_FLIGHT_MAX: '2' } });
  const held: ServerResponse[] = [];
  small.upstream.answer((_hit, reply) => void held.push(reply));
  const send = (action: string, params: Record<string, string>, mayWait = false) => {
    const call = small.actionCall(action, params);
    const request = { permit: small.permitOf(call), call, options, context, mayWait };
    return small.gateway.execute(request, soon());
  };
  const first = send('create', { title: 'a' });
  const second = send('get', { id: '1' });
  await vi.waitFor(() => expect(held).toHaveLength(2), 5_000);
  small.upstream.answer((_hit, reply) => void reply.end('done'));
  return { small, send, held, taken: [first, second] };
}
const isBusy = { code: 'unavailable', details: { busy: true } };

test('calls that are under way count until they have ended', async () => {
  const { small, send, held, taken } = await createFullWorld();
  await using _small = small;

  const waiting = send('create', { title: 'waits' }, true);
  await expect(send('create', { title: 'b' })).rejects.toMatchObject(isBusy);
  for (const reply of held) reply.end('done');
  await Promise.all(taken);
  await expect(waiting).resolves.toMatchObject({ kind: 'called' });
  expect(small.upstream.hits).toHaveLength(3);
  await expect(send('create', { title: 'c' })).resolves.toMatchObject({ kind: 'called' });
});

test('an executor that stops ends its calls and lets go those that wait', async () => {
  const { small, send, held, taken } = await createFullWorld();
  await using _small = small;

  const waiting = send('create', { title: 'waits' }, true);
  await expect(send('create', { title: 'b' })).rejects.toMatchObject(isBusy);
  const stopped = small.stopExecutor();
  for (const reply of held) reply.end('done');

  await expect(waiting).rejects.toMatchObject(isBusy);
  expect(await Promise.all(taken)).toMatchObject([{ kind: 'called' }, { kind: 'called' }]);
  await stopped;
  expect(small.upstream.hits).toHaveLength(2);
});

describe('a call whose client has gone', () => {
  const announceDisconnect = async (auditId: string) => {
    const { nats } = await world.environment.connect('gateway');
    nats.publish(clientGoneSubject, JSON.stringify({ auditId }));
  };
  /** Starts a call that the upstream leaves without an answer, and says when the upstream lost it. */
  const hang = async (call: Call) => {
    const auditId = randomUUID();
    const { promise: lost, resolve } = Promise.withResolvers<void>();
    const { promise: held, resolve: hold } = Promise.withResolvers<ServerResponse>();
    world.upstream.answer((_hit, reply) => {
      reply.once('close', resolve);
      hold(reply);
    });
    const permit = world.permitOf(call, { jti: auditId });
    const ended = execute(call, { permit, more: { timeoutMs: 60_000 } }).then(
      (done) => done,
      (error: unknown) => error,
    );
    return { auditId, ended, lost, reply: await held };
  };

  test('ends when it is a read, and is recorded', async () => {
    const { auditId, ended, lost } = await hang(world.actionCall('get', { id: '1' }));
    await announceDisconnect(randomUUID());
    await announceDisconnect(auditId);

    await lost;
    expect(await ended).toMatchObject({
      code: 'upstream_timeout',
      details: { audit_id: auditId },
    });
    expect((await streamed(auditId))?.audit).toMatchObject({
      outcome: 'failed',
      user_id: world.userId,
      action: 'get',
    });
    expect(world.upstream.hits).toHaveLength(1);
  });

  test('ends while it waits to be sent again', async () => {
    const auditId = randomUUID();
    const call = world.actionCall('get', { id: '1' });
    world.upstream.answer((_hit, reply) => {
      reply.writeHead(503, { 'retry-after': '30' }).end();
      setTimeout(() => void announceDisconnect(auditId), 200);
    });
    const permit = world.permitOf(call, { jti: auditId });
    const more = { timeoutMs: 60_000 };
    await expect(
      world.gateway.execute(
        { permit, call, options: { ...options, ...more }, context },
        deadlineIn(60_000),
      ),
    ).rejects.toMatchObject({ code: 'upstream_timeout', details: { audit_id: auditId } });
    expect(world.upstream.hits).toHaveLength(1);
  });

  test('goes on when it may have effects', async () => {
    const { auditId, ended, reply } = await hang(world.actionCall('create', { title: 'T' }));
    await announceDisconnect(auditId);
    // What the executor heard after that, it heard after the news as well.
    const { nats } = await world.environment.connect('gateway');
    await nats.flush();
    reply.end('{"ok":true}');

    expect(await ended).toMatchObject({ kind: 'called', result: { status_code: 200 } });
  });
});
