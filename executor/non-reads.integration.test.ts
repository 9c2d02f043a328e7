import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { executor } from '#contracts/bus/executor';
import { blankAuditEntry } from '#contracts/audit';
import type { Call } from '#contracts/call';
import type { Permit } from '#contracts/permit';
import { digestOf } from '#signing';
import { createLogger } from '#telemetry';
import { openEgress, parseEgressAllow } from '#egress';
import { AppError } from '#errors';
import { Lease } from './calls/lease.ts';
import { sendOnce } from './calls/send.ts';
import { buildHttpRequest } from './domain/build-http-request.ts';
import { insertDispatch } from './repository/dispatch.ts';
import { sweepDispatches } from './usecases/sweep-dispatches.ts';
import { canary, context, createWorld, options, soon } from './world.testing.ts';
import type { World } from './world.testing.ts';

let world: World;
const logger = createLogger({ component: 'test', level: 'silent' });

beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => world.upstream.reset());

const create = () => world.actionCall('create', { title: uuidv7() });

async function execute(call: Call, permit = world.permitOf(call), timeoutMs = 10_000) {
  const request = { permit, call, options: { ...options, timeoutMs }, context };
  return executor.endpoints.execute.response.parse(await world.gateway.execute(request, soon()));
}

const codeOf = (error: unknown) => AppError.from(error).code;

describe('an allowed write', () => {
  test('leaves an intent before it leaves, and an outcome before the answer', async () => {
    const call = create();
    const before: unknown[] = [];
    world.upstream.answer(async (_hit, reply) => {
      before.push(...(await world.outbox('action.intent')).map(({ audit }) => audit));
      reply.writeHead(201, { 'content-type': 'application/json' }).end('{"id":7}');
    });
    const done = await execute(call);
    const outcomes = await world.outbox('action.outcome');

    expect(done).toMatchObject({
      kind: 'called',
      replayed: false,
      result: { status_code: 201, body: { id: 7 } },
    });
    expect(world.upstream.hits).toHaveLength(1);
    expect(world.upstream.hits[0]?.body).toBe(
      JSON.stringify(call.kind === 'action' && call.params),
    );
    expect(before).toMatchObject([
      { outcome: 'started', action: 'create', risk: 'write', service: 'acme' },
    ]);
    expect(outcomes.at(-1)?.audit).toMatchObject({
      outcome: 'called',
      http_status: 201,
      action: 'create',
    });
    expect(outcomes.at(-1)?.data['audit_id']).toBe(done.kind === 'called' && done.auditId);
  });

  test('is a write by its risk alone, even over GET', async () => {
    await execute(world.actionCall('risky'));

    expect((await world.outbox('action.intent')).at(-1)?.audit?.action).toBe('risky');
  });

  test('is called whatever the upstream’s status, and even when its answer breaks off', async () => {
    world.upstream.answer((_hit, reply) => {
      reply.writeHead(500, { 'content-type': 'text/plain', 'content-length': '100' });
      reply.write('half');
      setTimeout(() => reply.destroy(), 20);
    });

    expect(await execute(create())).toMatchObject({
      result: { status_code: 500, body: null, body_omitted: { reason: 'incomplete', size: 100 } },
    });
  });

  test('is never sent again: a lost answer is an unknown outcome, for ever', async () => {
    world.upstream.answer((_hit, reply) => reply.destroy());
    const call = create();
    const permit = world.permitOf(call);

    await expect(execute(call, permit)).rejects.toMatchObject({
      code: 'outcome_unknown',
      details: { audit_id: expect.any(String) },
    });
    world.upstream.reset();
    await expect(execute(call, permit)).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(world.upstream.hits).toHaveLength(0);
    expect((await world.outbox('action.outcome')).at(-1)?.audit).toMatchObject({
      outcome: 'outcome_unknown',
      error: 'outcome_unknown',
    });
  });

  test('is an unknown outcome when the deadline comes first', async () => {
    world.upstream.answer(() => {});

    await expect(execute(create(), undefined, 100)).rejects.toMatchObject({
      code: 'outcome_unknown',
    });
    expect(world.upstream.hits).toHaveLength(1);
  });

  test('that provably never left fails with its own error', async () => {
    const call = world.rawCall({ method: 'POST', target: 'https://127.0.0.1:9/', body: { a: 1 } });
    const permit = world.permitOf(call, {
      hosts: ['127.0.0.1:9'],
      keys: ['http:POST:127.0.0.1:9/'],
    });

    await expect(execute(call, permit)).rejects.toMatchObject({ code: 'upstream_unreachable' });
    await expect(execute(call, permit)).rejects.toMatchObject({ code: 'upstream_unreachable' });
  });

  test('follows no redirect', async () => {
    world.upstream.answer((_hit, reply) => reply.writeHead(307, { location: '/things' }).end());

    expect(await execute(create())).toMatchObject({ result: { status_code: 307 } });
    expect(world.upstream.hits).toHaveLength(1);
  });

  test('with an answer that holds zero bytes is stored and answered', async () => {
    world.upstream.answer((_hit, reply) =>
      reply.setHeader('content-type', 'application/json').end(String.raw`{"a":"\u0000\ud800"}`),
    );
    const call = create();
    const permit = world.permitOf(call);
    await execute(call, permit);

    expect(await execute(call, permit)).toMatchObject({
      replayed: true,
      result: { body: { a: '\0\ud800' } },
    });
  });
});

describe('one dispatch id', () => {
  test('reaches the upstream once, however many send it at the same moment', async () => {
    await using second = await world.start();
    expect(second).toBeDefined();
    world.upstream.answer((_hit, reply) => void setTimeout(() => reply.end('done'), 100));
    const call = create();
    const permit = world.permitOf(call);
    const all = await Promise.allSettled(Array.from({ length: 20 }, () => execute(call, permit)));

    expect(world.upstream.hits).toHaveLength(1);
    const fresh = all.filter(
      (each) => each.status === 'fulfilled' && each.value.kind === 'called' && !each.value.replayed,
    );
    expect(fresh).toHaveLength(1);
    for (const each of all) {
      if (each.status === 'rejected') expect(codeOf(each.reason)).toBe('execution_in_progress');
    }
    expect(await execute(call, permit)).toMatchObject({ replayed: true, result: { body: 'done' } });
    const { auditId } = (fresh[0] as PromiseFulfilledResult<{ auditId: string }>).value;
    const told = (await world.outbox('action.outcome')).filter(
      ({ data }) => data['audit_id'] === auditId,
    );
    expect(told).toHaveLength(1);
  });

  test('stands in the permit: presented again with other ids, it sends nothing more', async () => {
    const call = create();
    const permit = world.permitOf(call);
    const first = await execute(call, permit);
    const present = (idempotencyKey: string) =>
      world.gateway.execute(
        {
          permit,
          call,
          options: { ...options, idempotencyKey },
          context: { ...context, requestId: uuidv7() },
        },
        soon(),
      );

    expect(first).toMatchObject({ kind: 'called', replayed: false });
    for (let round = 0; round < 2; round += 1) {
      expect(await present(uuidv7())).toEqual({ ...first, replayed: true });
    }
    expect(world.upstream.hits).toHaveLength(1);
  });

  test('of another call is refused, not answered with a stranger’s outcome', async () => {
    const dispatchId = uuidv7();
    const [one, other] = [create(), create()];
    await execute(one, world.permitOf(one, { dispatchId }));

    await expect(execute(other, world.permitOf(other, { dispatchId }))).rejects.toMatchObject({
      code: 'approval_stale',
    });
    expect(world.upstream.hits).toHaveLength(1);
  });
});

/** The row a process leaves that died between its dispatch and its answer. */
async function abandon(
  call: Call,
  { dispatchId, ageSeconds }: { dispatchId: string; ageSeconds: number },
) {
  await insertDispatch(world.sql, {
    dispatchId,
    orgId: world.orgId,
    identityId: world.agentId,
    callDigest: digestOf(call),
    auditId: uuidv7(),
    audit: JSON.stringify(blankAuditEntry('left behind')),
    audience: [world.userId],
    leaseToken: uuidv7(),
    mayRepeat: false,
  });
  await world.sql`
    update executor.dispatch
       set lease_until = now() - ${ageSeconds} * interval '1 second'
     where dispatch_id = ${dispatchId}
  `;
}

describe('a dispatch whose executor died', () => {
  const outcomesOf = async (description: string) =>
    (await world.outbox('action.outcome')).filter(
      ({ audit }) => audit?.description === description,
    );

  test('is in progress while its lease lives, and unknown after it; never sent', async () => {
    const call = create();
    const dispatchId = uuidv7();
    await abandon(call, { dispatchId, ageSeconds: -10 });

    await expect(execute(call, world.permitOf(call, { dispatchId }))).rejects.toMatchObject({
      code: 'execution_in_progress',
    });
    await world.sql`update executor.dispatch set lease_until = now() where dispatch_id = ${dispatchId}`;
    const again = await Promise.allSettled(
      Array.from({ length: 10 }, () => execute(call, world.permitOf(call, { dispatchId }))),
    );
    for (const each of again) {
      expect(each.status === 'rejected' && codeOf(each.reason)).toBe('outcome_unknown');
    }
    expect(world.upstream.hits).toHaveLength(0);
    expect(await outcomesOf('left behind')).toHaveLength(1);
  });

  test('is called unknown exactly once when nobody asks, however many sweep', async () => {
    const before = (await outcomesOf('left behind')).length;
    for (let n = 0; n < 5; n += 1)
      await abandon(create(), { dispatchId: uuidv7(), ageSeconds: 60 });
    await Promise.all(Array.from({ length: 5 }, () => sweepDispatches({ db: world.sql, logger })));

    const outcomes = await outcomesOf('left behind');
    expect(outcomes).toHaveLength(before + 5);
    expect(outcomes.at(-1)?.audit).toMatchObject({
      outcome: 'outcome_unknown',
      error: 'outcome_unknown',
    });
  });

  test('answers its own late outcome as unknown when another has decided so', async () => {
    const call = create();
    const dispatchId = uuidv7();
    const permit = world.permitOf(call, { dispatchId });
    const asked = Promise.withResolvers<() => void>();
    world.upstream.answer((_hit, reply) => asked.resolve(() => reply.end('late')));
    const zombie = execute(call, permit).catch(codeOf);
    const finish = await asked.promise;
    await world.sql`
      update executor.dispatch set lease_until = now() where dispatch_id = ${dispatchId}
    `;
    await expect(execute(call, permit)).rejects.toMatchObject({ code: 'outcome_unknown' });
    finish();

    expect(await zombie).toBe('outcome_unknown');
    const ids = (await world.outbox('action.outcome')).map(({ data }) => data['audit_id']);
    expect(ids.filter((id) => id === ids.at(-1))).toHaveLength(1);
    expect(world.upstream.hits).toHaveLength(1);
  });

  test('sends nothing once its lease has passed', async () => {
    using passed = new Lease(performance.now() - 15_000, async () => true);
    using alive = new Lease(performance.now(), async () => true);
    await using egress = openEgress({ allow: parseEgressAllow('127.0.0.1/32') });
    const { baseUrl } = world.upstream;
    const call = world.rawCall({ method: 'POST', target: `${baseUrl}/x`, body: 1 });
    const request = buildHttpRequest({ call, baseUrl: null, callDigest: '0'.repeat(64) });
    const prepared = { request, template: undefined, action: undefined, baseUrl: null };
    const payload = world.permitOf(call).split('.')[0] ?? '';
    const facts = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Permit;
    const sending = { facts, prepared, credentials: [], timeoutMs: 5_000 };
    const send = (lease: Lease) =>
      sendOnce(
        {
          egress,
          storedBytesMax: 100_000,
          inlineBytesMax: 1_000,
          owners: {} as never,
          baseUrl,
        },
        sending,
        () => lease.requireAlive(),
      );

    expect(await send(passed)).toMatchObject({ kind: 'unsent', error: { code: 'unavailable' } });
    expect(world.upstream.hits).toHaveLength(0);
    expect((await send(alive)).kind).toBe('answered');
  });

  test('outcomes and keys are erased after a day', async () => {
    await execute(create());
    await world.sql`update executor.dispatch set created_at = now() - interval '25 hours'`;
    await sweepDispatches({ db: world.sql, logger });

    expect(await world.sql`select 1 from executor.dispatch`).toHaveLength(0);
  });

  test('a process that is killed in mid-call leaves exactly one hit and an unknown outcome', async () => {
    await using lonely = await createWorld();
    const value = canary();
    const body = { name: 'killed', value, allowed_hosts: [lonely.upstream.host] };
    const { id } = await lonely.gateway.createSecret({ principal: lonely.admin, body }, soon());
    const call = lonely.actionCall('create', { title: 'killed' });
    const dispatchId = uuidv7();
    // Signed when it is used: a permit lives for five seconds only.
    const attempt = () => {
      const permit = lonely.permitOf(call, { dispatchId, secrets: [{ id, name: 'killed' }] });
      return lonely.gateway.execute({ permit, call, options, context }, soon());
    };
    await lonely.stopExecutor();
    await using child = startProcess(lonely.variables);
    await expect.poll(child.output, { timeout: 30_000 }).toContain('started');
    lonely.upstream.answer(() => child.kill());
    const lost = attempt().catch(codeOf);
    await child.exited;

    await using _successor = await lonely.start();
    await lonely.sql`update executor.dispatch set lease_until = now()`;
    await expect(attempt()).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(lonely.upstream.hits).toHaveLength(1);
    expect(lonely.upstream.hits[0]?.headers.authorization).toBe(`Bearer ${value}`);
    expect(child.output()).not.toContain('CANARY');
    expect(await lost).toBe('unavailable');
  }, 60_000);
});

/** The executor as its own process, with everything it says. Killed at the end if it still runs. */
function startProcess(variables: Record<string, string>) {
  const child = spawn(process.execPath, ['executor/main.ts'], {
    env: { PATH: process.env['PATH'], ...variables, LOG_LEVEL: 'trace' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => void (output += chunk));
  child.stderr.on('data', (chunk) => void (output += chunk));
  const exited = once(child, 'exit');
  return {
    exited,
    output: () => output,
    kill: () => void child.kill('SIGKILL'),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

describe('an idempotency key', () => {
  const keyed = (call: Call, key: string, parts: Partial<Permit> = {}) =>
    world.permitOf(call, { idempotencyKey: key, dispatchId: `idempotency-${key}`, ...parts });

  test('gives the first answer again, and the upstream one call', async () => {
    const key = uuidv7();
    const call = create();
    const all = await Promise.allSettled(
      Array.from({ length: 20 }, () => execute(call, keyed(call, key))),
    );
    const last = await execute(call, keyed(call, key));

    expect(world.upstream.hits).toHaveLength(1);
    expect(all.some((each) => each.status === 'fulfilled')).toBe(true);
    expect(last).toMatchObject({ replayed: true, result: { status_code: 200 } });
  });

  test('is refused for another body, and free for another identity', async () => {
    const key = uuidv7();
    const [one, other] = [create(), create()];
    await execute(one, keyed(one, key));

    await expect(execute(other, keyed(other, key))).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    });
    const stranger = { identityId: uuidv7(), dispatchId: `idempotency-${uuidv7()}` };
    expect(await execute(other, keyed(other, key, stranger))).toMatchObject({ replayed: false });
    expect(world.upstream.hits).toHaveLength(2);
  });

  test('is free again after a call of which provably nothing left', async () => {
    const key = uuidv7();
    const dead = world.rawCall({ method: 'POST', target: 'https://127.0.0.1:9/', body: 1 });
    const parts = { hosts: ['127.0.0.1:9'], keys: ['http:POST:127.0.0.1:9/'] };
    await expect(execute(dead, keyed(dead, key, parts))).rejects.toMatchObject({
      code: 'upstream_unreachable',
    });

    const call = create();
    expect(await execute(call, keyed(call, key))).toMatchObject({ replayed: false });
  });

  test('stays taken by a call whose outcome is unknown', async () => {
    const key = uuidv7();
    const call = create();
    world.upstream.answer((_hit, reply) => reply.destroy());
    await expect(execute(call, keyed(call, key))).rejects.toMatchObject({
      code: 'outcome_unknown',
    });
    world.upstream.reset();

    await expect(execute(call, keyed(call, key))).rejects.toMatchObject({
      code: 'outcome_unknown',
    });
    expect(world.upstream.hits).toHaveLength(0);
  });

  test('is new again after 24 hours', async () => {
    const key = uuidv7();
    const [one, other] = [create(), create()];
    await execute(one, keyed(one, key));
    await world.sql`update executor.idempotency set created_at = now() - interval '25 hours'`;
    await world.sql`update executor.dispatch set created_at = now() - interval '25 hours'`;

    expect(await execute(other, keyed(other, key))).toMatchObject({ replayed: false });
    expect(world.upstream.hits).toHaveLength(2);
  });

  test('of a suspended call answers with its approval, unless the call is that approval’s replay', async () => {
    const key = uuidv7();
    const approvalId = uuidv7();
    const call = create();
    const gap = world.gapOf(call, { idempotencyKey: key, jti: approvalId });
    const preview = (id: string, of = call, by = gap) =>
      world.approvals.preview({ gap: by, call: of, options, approvalId: id }, soon());
    const first = await preview(approvalId);
    const other = create();

    expect(first.kind).toBe('preview');
    expect((await preview(approvalId)).kind).toBe('preview');
    // Made again by its caller, the same call has another gap, and this approval still.
    const again = world.gapOf(call, { idempotencyKey: key });
    expect((await preview(approvalId, call, again)).kind).toBe('preview');
    expect(await preview(uuidv7())).toEqual({
      kind: 'seen',
      outcome: { kind: 'suspended', approvalId },
    });
    expect(await execute(call, keyed(call, key))).toEqual({ kind: 'suspended', approvalId });
    await expect(
      preview(uuidv7(), other, world.gapOf(other, { idempotencyKey: key })),
    ).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    });
    expect(world.upstream.hits).toHaveLength(0);

    if (first.kind !== 'preview') return;
    const { sealedCall } = first;
    const permit = keyed(call, key, { approvalId, executionId: uuidv7(), ...targetOf(gap) });
    const replayed = await world.approvals.executeFrozen({ permit, sealedCall, context }, soon());
    expect(replayed).toMatchObject({ kind: 'called', replayed: false });
    expect(world.upstream.hits).toHaveLength(1);
  });

  test('of a call that was made is answered by its outcome when a rule is gone since', async () => {
    const key = uuidv7();
    const call = create();
    await execute(call, keyed(call, key));
    const gap = world.gapOf(call, { idempotencyKey: key });

    expect(
      await world.approvals.preview({ gap, call, options, approvalId: uuidv7() }, soon()),
    ).toMatchObject({
      kind: 'seen',
      outcome: { kind: 'called', replayed: true },
    });
  });
});

/** The target of a gap, as the permit of its replay repeats it. */
function targetOf(gap: string): Pick<Permit, 'target'> {
  const payload = gap.split('.')[0] ?? '';
  return { target: (JSON.parse(Buffer.from(payload, 'base64url').toString()) as Permit).target };
}
