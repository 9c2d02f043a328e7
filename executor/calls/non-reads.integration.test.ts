import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';

import { executor } from '#contracts/bus/executor';
import { blankAuditEntry } from '#contracts/audit';
import type { Call } from '#contracts/call';
import type { Permit } from '#contracts/permit';
import { openDatabase } from '#database';
import { prepareEvent } from '#events';
import { digestOf } from '#signing';
import { createLogger } from '#telemetry';
import { openEgress, parseEgressAllow } from '#egress';
import { AppError } from '#errors';
import { Lease } from './lease.ts';
import { sendOnce } from '../sending/send.ts';
import { buildHttpRequest } from '../request/domain/build-http-request.ts';
import { createDispatchWrites } from './dispatch-writes.ts';
import { runNonRead } from './run-non-read.ts';
import { insertDispatch } from './dispatch.sql.ts';
import { sweepDispatches } from './sweep-dispatches.ts';
import { context, createWorld, options, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

let world: World;
const logger = createLogger({ component: 'test', level: 'silent' });

beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => world.upstream.reset());

const createCall = () => world.actionCall('create', { title: uuidv7() });

async function execute(call: Call, permit = world.permitOf(call), timeoutMs = 10_000) {
  const request = { permit, call, options: { ...options, timeoutMs }, context };
  return executor.endpoints.execute.response.parse(
    await world.gateway.execute(request, testDeadline()),
  );
}

const codeOf = (error: unknown) => AppError.from(error).code;

describe('an allowed non-read', () => {
  test('is recorded before it is sent, and its outcome before the caller gets the answer', async () => {
    const call = createCall();
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

  test('is refused, and neither recorded nor sent, when its form body would be too large', async () => {
    const names = Object.fromEntries(Array.from({ length: 25_000 }, (_, at) => [`m${at}`, '']));
    const call = world.rawCall({
      method: 'POST',
      target: `${world.upstream.baseUrl}/form`,
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: { ['n'.repeat(200)]: { nested: names } },
    });
    const intentsBefore = (await world.outbox('action.intent')).length;
    const refusal = await execute(call).catch((error: unknown) => codeOf(error));

    expect(refusal).toBe('too_large');
    expect(await world.outbox('action.intent')).toHaveLength(intentsBefore);
    expect(world.upstream.hits).toHaveLength(0);
  });

  test('can be a GET, if its risk makes it a non-read', async () => {
    await execute(world.actionCall('risky'));

    expect((await world.outbox('action.intent')).at(-1)?.audit?.action).toBe('risky');
  });

  test('has the outcome `called` whatever the upstream’s status, even when the answer breaks off', async () => {
    world.upstream.answer((_hit, reply) => {
      reply.writeHead(500, { 'content-type': 'text/plain', 'content-length': '100' });
      reply.write('half');
      setTimeout(() => reply.destroy(), 20);
    });

    expect(await execute(createCall())).toMatchObject({
      result: { status_code: 500, body: null, body_omitted: { reason: 'incomplete', size: 100 } },
    });
  });

  test('is never sent again when its answer is lost, and its outcome stays unknown', async () => {
    world.upstream.answer((_hit, reply) => reply.destroy());
    const call = createCall();
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

  test('has an unknown outcome when its deadline ends before the answer', async () => {
    world.upstream.answer(() => {});

    await expect(execute(createCall(), undefined, 100)).rejects.toMatchObject({
      code: 'outcome_unknown',
    });
    expect(world.upstream.hits).toHaveLength(1);
  });

  test('fails with a specific error when nothing was sent', async () => {
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

    expect(await execute(createCall())).toMatchObject({ result: { status_code: 307 } });
    expect(world.upstream.hits).toHaveLength(1);
  });

  test('has an outcome that can be stored even if the answer contains zero bytes', async () => {
    world.upstream.answer((_hit, reply) =>
      reply.setHeader('content-type', 'application/json').end(String.raw`{"a":"\u0000\ud800"}`),
    );
    const call = createCall();
    const permit = world.permitOf(call);
    await execute(call, permit);

    expect(await execute(call, permit)).toMatchObject({
      replayed: true,
      result: { body: { a: '\0\ud800' } },
    });
  });
});

describe('a dispatch id', () => {
  test('leads to one request to the upstream, however many concurrent calls have this dispatch id', async () => {
    await using second = await world.start();
    expect(second).toBeDefined();
    world.upstream.answer((_hit, reply) => void setTimeout(() => reply.end('done'), 100));
    const call = createCall();
    const permit = world.permitOf(call);
    const all = await Promise.allSettled(Array.from({ length: 20 }, () => execute(call, permit)));

    expect(world.upstream.hits).toHaveLength(1);
    const freshOutcomes = all.filter(
      (each) => each.status === 'fulfilled' && each.value.kind === 'called' && !each.value.replayed,
    );
    expect(freshOutcomes).toHaveLength(1);
    for (const each of all) {
      if (each.status === 'rejected') expect(codeOf(each.reason)).toBe('execution_in_progress');
    }
    expect(await execute(call, permit)).toMatchObject({ replayed: true, result: { body: 'done' } });
    const { auditId } = (freshOutcomes[0] as PromiseFulfilledResult<{ auditId: string }>).value;
    const outcomeEvents = (await world.outbox('action.outcome')).filter(
      ({ data }) => data['audit_id'] === auditId,
    );
    expect(outcomeEvents).toHaveLength(1);
  });

  test('is read from the permit, so that using the permit again with another request id and key sends nothing', async () => {
    const call = createCall();
    const permit = world.permitOf(call);
    const first = await execute(call, permit);
    const executeWithKey = (idempotencyKey: string) =>
      world.gateway.execute(
        {
          permit,
          call,
          options: { ...options, idempotencyKey },
          context: { ...context, requestId: uuidv7() },
        },
        testDeadline(),
      );

    expect(first).toMatchObject({ kind: 'called', replayed: false });
    for (let round = 0; round < 2; round += 1) {
      expect(await executeWithKey(uuidv7())).toEqual({ ...first, replayed: true });
    }
    expect(world.upstream.hits).toHaveLength(1);
  });

  test('is refused when it belongs to another call, and the outcome of that call is not revealed', async () => {
    const dispatchId = uuidv7();
    const [one, other] = [createCall(), createCall()];
    await execute(one, world.permitOf(one, { dispatchId }));

    await expect(execute(other, world.permitOf(other, { dispatchId }))).rejects.toMatchObject({
      code: 'approval_stale',
    });
    expect(world.upstream.hits).toHaveLength(1);
  });
});

/** Stores the row that a process leaves when it dies after its dispatch and before the answer. */
async function abandonDispatch(
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

  test('is in progress until its lease ends; then its outcome is unknown, and the call is not sent again', async () => {
    const call = createCall();
    const dispatchId = uuidv7();
    await abandonDispatch(call, { dispatchId, ageSeconds: -10 });

    await expect(execute(call, world.permitOf(call, { dispatchId }))).rejects.toMatchObject({
      code: 'execution_in_progress',
    });
    await world.sql`update executor.dispatch set lease_until = now() where dispatch_id = ${dispatchId}`;
    const secondAttempts = await Promise.allSettled(
      Array.from({ length: 10 }, () => execute(call, world.permitOf(call, { dispatchId }))),
    );
    for (const each of secondAttempts) {
      expect(each.status === 'rejected' && codeOf(each.reason)).toBe('outcome_unknown');
    }
    expect(world.upstream.hits).toHaveLength(0);
    expect(await outcomesOf('left behind')).toHaveLength(1);
  });

  test('gets an unknown outcome exactly once, however many executors sweep', async () => {
    const before = (await outcomesOf('left behind')).length;
    for (let n = 0; n < 5; n += 1)
      await abandonDispatch(createCall(), { dispatchId: uuidv7(), ageSeconds: 60 });
    await Promise.all(Array.from({ length: 5 }, () => sweepDispatches({ db: world.sql, logger })));

    const outcomes = await outcomesOf('left behind');
    expect(outcomes).toHaveLength(before + 5);
    expect(outcomes.at(-1)?.audit).toMatchObject({
      outcome: 'outcome_unknown',
      error: 'outcome_unknown',
    });
  });

  test('has an unknown outcome when another executor recorded that before the first executor finished', async () => {
    const call = createCall();
    const dispatchId = uuidv7();
    const permit = world.permitOf(call, { dispatchId });
    const callArrived = Promise.withResolvers<() => void>();
    world.upstream.answer((_hit, reply) => callArrived.resolve(() => reply.end('late')));
    const slowReplicaOutcome = execute(call, permit).catch(codeOf);
    const finishAnswer = await callArrived.promise;
    await world.sql`
      update executor.dispatch set lease_until = now() where dispatch_id = ${dispatchId}
    `;
    await expect(execute(call, permit)).rejects.toMatchObject({ code: 'outcome_unknown' });
    finishAnswer();

    expect(await slowReplicaOutcome).toBe('outcome_unknown');
    const ids = (await world.outbox('action.outcome')).map(({ data }) => data['audit_id']);
    expect(ids.filter((id) => id === ids.at(-1))).toHaveLength(1);
    expect(world.upstream.hits).toHaveLength(1);
  });

  test('is not sent by an executor whose lease has ended', async () => {
    using expiredLease = new Lease(performance.now() - 15_000, async () => true);
    using validLease = new Lease(performance.now(), async () => true);
    await using egress = openEgress({ allow: parseEgressAllow('127.0.0.1/32') });
    const { baseUrl } = world.upstream;
    const call = world.rawCall({ method: 'POST', target: `${baseUrl}/x`, body: 1 });
    const request = buildHttpRequest({ call, baseUrl: null, callDigest: '0'.repeat(64) });
    const prepared = { request, template: undefined, action: undefined, baseUrl: null };
    const payload = world.permitOf(call).split('.')[0] ?? '';
    const permit = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Permit;
    const sending = { permit, prepared, credentials: [], timeoutMs: 5_000 };
    const send = (lease: Lease) =>
      sendOnce(
        {
          egress,
          storedBytesMax: 100_000,
          inlineBytesMax: 1_000,
          owners: {} as never,
          baseUrl,
          sendsTraceContext: false,
        },
        sending,
        () => lease.requireAlive(),
      );

    expect(await send(expiredLease)).toMatchObject({
      kind: 'unsent',
      error: { code: 'unavailable' },
    });
    expect(world.upstream.hits).toHaveLength(0);
    expect((await send(validLease)).kind).toBe('answered');
  });

  test('is erased after a day, with its outcome and its idempotency key', async () => {
    await execute(createCall());
    await world.sql`
      insert into executor.dispatch (dispatch_id, org_id, identity_id, call_digest, audit_id, audit,
                                     audience, lease_token, lease_until, outcome, finished_at)
      select gen_random_uuid(), org_id, identity_id, call_digest, audit_id, audit, audience,
             lease_token, lease_until, outcome, finished_at
        from (select * from executor.dispatch where outcome is not null limit 1) as one,
             generate_series(1, 2500)`;
    await world.sql`update executor.dispatch set created_at = now() - interval '25 hours'`;
    await sweepDispatches({ db: world.sql, logger });

    expect(await world.sql`select 1 from executor.dispatch`).toHaveLength(0);
  });
});

describe('an idempotency key', () => {
  const permitWithKey = (call: Call, key: string, parts: Partial<Permit> = {}) =>
    world.permitOf(call, { idempotencyKey: key, dispatchId: `idempotency-${key}`, ...parts });

  test('returns the first answer again without another call to the upstream', async () => {
    const key = uuidv7();
    const call = createCall();
    const all = await Promise.allSettled(
      Array.from({ length: 20 }, () => execute(call, permitWithKey(call, key))),
    );
    const last = await execute(call, permitWithKey(call, key));

    expect(world.upstream.hits).toHaveLength(1);
    expect(all.some((each) => each.status === 'fulfilled')).toBe(true);
    expect(last).toMatchObject({ replayed: true, result: { status_code: 200 } });
  });

  test('is refused for a call with another body, and can be used by another identity', async () => {
    const key = uuidv7();
    const [one, other] = [createCall(), createCall()];
    await execute(one, permitWithKey(one, key));

    await expect(execute(other, permitWithKey(other, key))).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    });
    const otherCaller = { identityId: uuidv7(), dispatchId: `idempotency-${uuidv7()}` };
    expect(await execute(other, permitWithKey(other, key, otherCaller))).toMatchObject({
      replayed: false,
    });
    expect(world.upstream.hits).toHaveLength(2);
  });

  test('can be used again after a call that was not sent', async () => {
    const key = uuidv7();
    const callToClosedPort = world.rawCall({
      method: 'POST',
      target: 'https://127.0.0.1:9/',
      body: 1,
    });
    const parts = { hosts: ['127.0.0.1:9'], keys: ['http:POST:127.0.0.1:9/'] };
    await expect(
      execute(callToClosedPort, permitWithKey(callToClosedPort, key, parts)),
    ).rejects.toMatchObject({
      code: 'upstream_unreachable',
    });

    const call = createCall();
    expect(await execute(call, permitWithKey(call, key))).toMatchObject({ replayed: false });
  });

  test('cannot be used again while the outcome of its call is unknown', async () => {
    const key = uuidv7();
    const call = createCall();
    world.upstream.answer((_hit, reply) => reply.destroy());
    await expect(execute(call, permitWithKey(call, key))).rejects.toMatchObject({
      code: 'outcome_unknown',
    });
    world.upstream.reset();

    await expect(execute(call, permitWithKey(call, key))).rejects.toMatchObject({
      code: 'outcome_unknown',
    });
    expect(world.upstream.hits).toHaveLength(0);
  });

  test('can be used again after 24 hours', async () => {
    const key = uuidv7();
    const [one, other] = [createCall(), createCall()];
    await execute(one, permitWithKey(one, key));
    await world.sql`update executor.idempotency set created_at = now() - interval '25 hours'`;
    await world.sql`update executor.dispatch set created_at = now() - interval '25 hours'`;

    expect(await execute(other, permitWithKey(other, key))).toMatchObject({ replayed: false });
    expect(world.upstream.hits).toHaveLength(2);
  });

  test('returns the approval of a call that waits for one, and only the replay of that approval may use the key', async () => {
    const key = uuidv7();
    const approvalId = uuidv7();
    const call = createCall();
    const gap = world.gapOf(call, { idempotencyKey: key, jti: approvalId });
    const preview = (id: string, of = call, by = gap) =>
      world.approvals.preview({ gap: by, call: of, options, approvalId: id }, testDeadline());
    const first = await preview(approvalId);
    const other = createCall();

    expect(first.kind).toBe('preview');
    expect((await preview(approvalId)).kind).toBe('preview');
    // The caller makes the same call again. Policy signs a new permission gap, and the executor
    // returns the first approval.
    const secondAttempts = world.gapOf(call, { idempotencyKey: key });
    expect((await preview(approvalId, call, secondAttempts)).kind).toBe('preview');
    expect(await preview(uuidv7())).toEqual({
      kind: 'seen',
      outcome: { kind: 'suspended', approvalId },
    });
    expect(await execute(call, permitWithKey(call, key))).toEqual({
      kind: 'suspended',
      approvalId,
    });
    await expect(
      preview(uuidv7(), other, world.gapOf(other, { idempotencyKey: key })),
    ).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    });
    expect(world.upstream.hits).toHaveLength(0);

    if (first.kind !== 'preview') return;
    const { sealedCall } = first;
    const permit = permitWithKey(call, key, {
      approvalId,
      executionId: uuidv7(),
      ...targetOf(gap),
    });
    const replayed = await world.approvals.executeFrozen(
      { permit, sealedCall, context },
      testDeadline(),
    );
    expect(replayed).toMatchObject({ kind: 'called', replayed: false });
    expect(world.upstream.hits).toHaveLength(1);
  });

  describe('of a call that joins the approval of an identical call', () => {
    const join = (
      call: Call,
      {
        key,
        ...request
      }: {
        key: string;
        approvalId: string;
        joining?: { unstoredId?: string; isDenied?: boolean };
      },
    ) =>
      world.approvals.preview(
        {
          gap: world.gapOf(call, { idempotencyKey: key }),
          call,
          options,
          joining: {},
          ...request,
        },
        testDeadline(),
      );
    const suspendedBy = (approvalId: string) => ({ kind: 'suspended' as const, approvalId });
    const replay = async (
      call: Call,
      approvalId: string,
      parts: Pick<Partial<Permit>, 'hosts' | 'keys'> = {},
    ) => {
      const gap = world.gapOf(call, { jti: approvalId, ...parts });
      const preview = await world.approvals.preview(
        { gap, call, options, approvalId },
        testDeadline(),
      );
      if (preview.kind !== 'preview') throw new Error('seen');
      const { sealedCall } = preview;
      const permit = world.permitOf(call, {
        approvalId,
        executionId: uuidv7(),
        dispatchId: approvalId,
        ...targetOf(gap),
        ...parts,
      });
      return world.approvals.executeFrozen({ permit, sealedCall, context }, testDeadline());
    };

    test('belongs to that approval, also after the approved call has run', async () => {
      const [key, approvalId, call] = [uuidv7(), uuidv7(), createCall()];
      const joined = { kind: 'seen', outcome: suspendedBy(approvalId) };

      expect(await join(call, { key, approvalId })).toEqual(joined);
      expect(await join(call, { key, approvalId })).toEqual(joined);
      expect(await replay(call, approvalId)).toMatchObject({ kind: 'called', replayed: false });
      expect(await join(call, { key, approvalId: uuidv7() })).toEqual(joined);
      expect(await execute(call, permitWithKey(call, key))).toEqual(suspendedBy(approvalId));
      expect(world.upstream.hits).toHaveLength(1);
      const other = createCall();
      await expect(join(other, { key, approvalId: uuidv7() })).rejects.toMatchObject({
        code: 'idempotency_key_reused',
      });
    });

    test('stays free when that approval was denied, and answers with the call that has it', async () => {
      const [key, madeKey, approvalId, call] = [uuidv7(), uuidv7(), uuidv7(), createCall()];
      const joining = { isDenied: true };
      expect(await join(call, { key, approvalId, joining })).toMatchObject({
        outcome: suspendedBy(approvalId),
      });
      const nextId = uuidv7();
      expect(await join(call, { key, approvalId: nextId })).toMatchObject({
        outcome: suspendedBy(nextId),
      });

      await execute(call, permitWithKey(call, madeKey));
      expect(await join(call, { key: madeKey, approvalId, joining })).toMatchObject({
        outcome: { kind: 'called', replayed: true },
      });
      await expect(join(createCall(), { key: madeKey, approvalId, joining })).rejects.toMatchObject(
        { code: 'idempotency_key_reused' },
      );
    });

    test('does not let a new approval card have the id of that approval', async () => {
      const [key, approvalId, call] = [uuidv7(), uuidv7(), createCall()];
      await join(call, { key, approvalId });
      const gap = world.gapOf(call, { idempotencyKey: key });

      expect(
        await world.approvals.preview({ gap, call, options, approvalId }, testDeadline()),
      ).toEqual({ kind: 'seen', outcome: suspendedBy(approvalId) });
    });

    test('does not let a concurrent preview make a card with the id of that approval', async () => {
      for (let round = 0; round < 5; round += 1) {
        const [key, approvalId, call] = [uuidv7(), uuidv7(), createCall()];
        const gap = world.gapOf(call, { idempotencyKey: key });
        const preview = () =>
          world.approvals.preview({ gap, call, options, approvalId }, testDeadline());
        const all = await Promise.allSettled([
          ...Array.from({ length: 8 }, preview),
          join(call, { key, approvalId }),
          ...Array.from({ length: 8 }, preview),
        ]);
        const kinds = all.map((each) =>
          each.status === 'fulfilled' ? each.value.kind : 'refused',
        );
        expect(kinds).toContain('seen');
        expect(kinds).not.toContain('preview');
      }
    });

    test('moves only from an approval that was never stored, never from a call', async () => {
      const [key, otherKey, approvalId, call] = [uuidv7(), uuidv7(), uuidv7(), createCall()];
      const [unstoredId, storedId] = [uuidv7(), uuidv7()];
      const gap = world.gapOf(call, { idempotencyKey: key, jti: unstoredId });
      await world.approvals.preview({ gap, call, options, approvalId: unstoredId }, testDeadline());
      const outcomeOf = async (joining: { unstoredId?: string }) =>
        join(call, { key, approvalId, joining });

      expect(await outcomeOf({ unstoredId: storedId })).toMatchObject({
        outcome: suspendedBy(unstoredId),
      });
      expect(await outcomeOf({ unstoredId })).toMatchObject({ outcome: suspendedBy(approvalId) });
      await execute(call, permitWithKey(call, otherKey));
      expect(
        await join(call, { key: otherKey, approvalId, joining: { unstoredId } }),
      ).toMatchObject({ outcome: { kind: 'called', replayed: true } });
    });

    test('is not stored for a read', async () => {
      const [key, approvalId] = [uuidv7(), uuidv7()];
      const call = world.actionCall('get', { id: 'T1' });
      const gap = world.gapOf(call, { idempotencyKey: key, nonRead: false });
      await world.approvals.preview(
        { gap, call, options, approvalId, joining: {} },
        testDeadline(),
      );
      expect(
        await world.sql`select 1 from executor.idempotency where dispatch_id like ${`%${approvalId}`}`,
      ).toHaveLength(0);
    });

    test('keeps that approval when the approved call was not sent, so that a repeated replay is not followed by another call', async () => {
      const [key, approvalId] = [uuidv7(), uuidv7()];
      const call = world.rawCall({ method: 'POST', target: 'https://127.0.0.1:9/', body: 1 });
      await join(call, { key, approvalId });
      const parts = { hosts: ['127.0.0.1:9'], keys: ['http:POST:127.0.0.1:9/'] };
      await expect(replay(call, approvalId, parts)).rejects.toMatchObject({
        code: 'upstream_unreachable',
      });

      expect(await join(call, { key, approvalId: uuidv7() })).toMatchObject({
        outcome: suspendedBy(approvalId),
      });
      expect(await execute(call, permitWithKey(call, key, parts))).toEqual(suspendedBy(approvalId));
    });
  });

  test('returns the outcome of a finished call, even when no rule allows the call any more', async () => {
    const key = uuidv7();
    const call = createCall();
    await execute(call, permitWithKey(call, key));
    const gap = world.gapOf(call, { idempotencyKey: key });

    expect(
      await world.approvals.preview({ gap, call, options, approvalId: uuidv7() }, testDeadline()),
    ).toMatchObject({
      kind: 'seen',
      outcome: { kind: 'called', replayed: true },
    });
  });
});

/** The target of a signed permission gap, for the permit of the replay. */
function targetOf(gap: string): Pick<Permit, 'target'> {
  const payload = gap.split('.')[0] ?? '';
  return { target: (JSON.parse(Buffer.from(payload, 'base64url').toString()) as Permit).target };
}

describe('a non-read that cannot be recorded', () => {
  /** The error that the caller gets, with its code and details. */
  const refusalOf = async (call: Call) =>
    execute(call).then(
      () => 'called',
      (error: unknown) => ({ code: codeOf(error), unsent: AppError.from(error).details['unsent'] }),
    );

  const openExecutorDatabase = () =>
    openDatabase({
      url: world.environment.variables['EXECUTOR_DATABASE_URL'] ?? '',
      schema: 'executor',
      connectionsMax: 3,
    });
  const createDispatches = () => {
    const orgId = uuidv7();
    const eventOf = () =>
      prepareEvent({
        type: 'action.intent',
        orgId,
        audience: [],
        data: {},
        audit: blankAuditEntry('Called'),
      }).row;
    const dispatches = Array.from({ length: 30 }, () => ({
      dispatchId: uuidv7(),
      orgId,
      identityId: uuidv7(),
      callDigest: 'a',
      auditId: uuidv7(),
      audit: '"quoted" \\, {comma}',
      audience: [orgId, uuidv7()],
      leaseToken: uuidv7(),
      mayRepeat: false,
    }));
    return { orgId, eventOf, dispatches };
  };

  test('fails as `unavailable` and is not sent when the disk of the database is full', async () => {
    await world.sql.unsafe(`
      create function executor.refuse() returns trigger language plpgsql as
        $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$;
      create trigger refuse before insert on executor.dispatch
        for each row execute function executor.refuse()`);
    try {
      expect(await refusalOf(createCall())).toEqual({ code: 'unavailable', unsent: true });
    } finally {
      await world.sql.unsafe('drop trigger refuse on executor.dispatch');
    }
    expect(world.upstream.hits).toEqual([]);
  });

  test('fails alone: the rows of other calls that are written in the same statement are stored', async () => {
    await using db = openExecutorDatabase();
    const writes = createDispatchWrites(db);
    const { orgId, eventOf, dispatches } = createDispatches();
    const refusedId = dispatches[20]?.dispatchId;
    await world.sql.unsafe(`
      create function executor.refuse_one() returns trigger language plpgsql as
        $$ begin
             if new.dispatch_id = '${refusedId}' then raise exception 'no'; end if;
             return new;
           end $$;
      create trigger refuse_one before insert or update on executor.dispatch
        for each row execute function executor.refuse_one()`);
    const settle = async (writing: readonly Promise<boolean>[]) =>
      (await Promise.allSettled(writing)).map((each) => each.status === 'fulfilled' && each.value);
    const allButRefused = dispatches.map(({ dispatchId }) => dispatchId !== refusedId);
    try {
      const claim = () =>
        settle(dispatches.map((dispatch) => writes.claim({ dispatch, event: eventOf() })));
      const finish = () =>
        settle(
          dispatches.map(({ dispatchId, leaseToken }) =>
            writes.finish({ orgId, dispatchId, leaseToken, outcome: dispatchId, event: eventOf() }),
          ),
        );
      expect(await claim()).toEqual(allButRefused);
      expect(await claim()).toEqual(dispatches.map(() => false));
      expect(await finish()).toEqual(allButRefused);
      expect(await finish()).toEqual(dispatches.map(() => false));
    } finally {
      await world.sql.unsafe('drop function executor.refuse_one() cascade');
    }
    const stored = await world.sql`
      select dispatch_id from executor.dispatch
       where org_id = ${orgId} and outcome = dispatch_id and audit = ${'"quoted" \\, {comma}'}
    `;
    expect(stored).toHaveLength(29);
    expect(await world.sql`select from executor.outbox where org_id = ${orgId}`).toHaveLength(58);
  });

  test.for([
    ['alone', 0],
    ['with others', 20],
  ] as const)(
    'does not delay the outcomes of other calls while another executor holds its row, which is written %s',
    async ([, heldAt]) => {
      await using db = openExecutorDatabase();
      const writes = createDispatchWrites(db);
      const { orgId, eventOf, dispatches } = createDispatches();
      await Promise.all(dispatches.map((dispatch) => writes.claim({ dispatch, event: eventOf() })));
      const heldId = dispatches[heldAt]?.dispatchId ?? '';
      const finished: string[] = [];
      let finishing: Promise<unknown> | undefined;
      await world.sql.begin(async (tx) => {
        await tx`select from executor.dispatch where dispatch_id = ${heldId} for update`;
        finishing = Promise.all(
          dispatches.map(async ({ dispatchId, leaseToken }) => {
            const outcome = dispatchId;
            await writes.finish({ orgId, dispatchId, leaseToken, outcome, event: eventOf() });
            finished.push(dispatchId);
          }),
        );
        await expect.poll(() => finished.length).toBe(29);
        expect(finished).not.toContain(heldId);
      });
      await finishing;
      expect(finished).toHaveLength(30);
      expect(await world.sql`select from executor.outbox where org_id = ${orgId}`).toHaveLength(60);
    },
  );

  test('leaves no row when the connection was lost after the commit', async () => {
    await using db = openExecutorDatabase();
    const { orgId, dispatches } = createDispatches();
    const [{ dispatchId, identityId, callDigest } = expect.fail()] = dispatches;
    const writes = createDispatchWrites(db);
    const claim = vi.fn(async (...args: Parameters<typeof writes.claim>) => {
      await writes.claim(...args);
      throw new AppError('unavailable', 'The connection was lost.');
    });
    const deps = { db, logger, relay: { isAuditBlocked: () => false }, dispatchWrites: { claim } };
    const permit = { orgId, identityId, dispatchId, callDigest, jti: uuidv7() };
    const run = {
      permit: { ...permit, idempotencyKey: null, approvalId: null, chain: [] },
      entry: blankAuditEntry('Called'),
    };
    await expect(runNonRead(deps as never, run as never, testDeadline())).rejects.toMatchObject({
      code: 'unavailable',
      details: { unsent: true },
    });
    const typesOf = async () =>
      (
        await world.sql<{ type: string }[]>`
          select type from executor.outbox where org_id = ${orgId} order by id
        `
      ).map(({ type }) => type);
    await expect.poll(typesOf).toEqual(['action.intent', 'action.outcome']);
    expect(await world.sql`select from executor.dispatch where org_id = ${orgId}`).toEqual([]);
  });

  test('fails as `unavailable` before the caller’s deadline, and can be repeated, when the database does not answer', async () => {
    const call = createCall();
    const permit = { idempotencyKey: uuidv7() };
    let refusal: unknown;
    await world.sql.begin(async (tx) => {
      await tx.unsafe('lock table executor.dispatch in exclusive mode');
      refusal = await execute(call, world.permitOf(call, permit)).catch((error: unknown) =>
        AppError.from(error),
      );
    });
    expect(refusal).toMatchObject({ code: 'unavailable', details: { unsent: true } });

    let repeated: unknown;
    await expect
      .poll(async () => {
        repeated = await execute(call, world.permitOf(call, permit)).catch(codeOf);
        return repeated;
      })
      .toMatchObject({ kind: 'called', replayed: false });
    expect(world.upstream.hits).toHaveLength(1);
  });
});
