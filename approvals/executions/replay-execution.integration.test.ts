import { setTimeout as delay } from 'node:timers/promises';

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { CallResult } from '#contracts/call';
import { AppError } from '#errors';
import { attributesOf, collectSpans } from '../../test/support/collector.ts';
import { chooseSweepValue } from '../../test/support/sweeps.ts';
import { sampleResult, createWorld } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld({ replicas: 2 });
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(async () => {
  await world.clear();
  world.neighbours.sends = async () => sampleResult;
  world.neighbours.permits = async () => undefined;
  world.neighbours.asked.length = 0;
  world.neighbours.permitRequests.length = 0;
});

/** Waits until the execution has ended, and returns its approval. */
const waitForEndedApproval = (id: string) =>
  world.until(
    () => world.get(world.ann, id),
    (approval) => approval.execution !== undefined && approval.execution.finished_at !== null,
  );
const eventTypesOf = async (id: string) => (await world.eventsOf(id)).map((event) => event.type);
const fullEventTypes = [
  'approval.raised',
  'approval.resolved',
  'execution.started',
  'execution.finished',
];
const createUnavailableError = (details: AppError['details']) =>
  new AppError('unavailable', 'Not now.', { details });

/** Creates the state that a killed process leaves: executing, with a lease that has ended. */
async function leaveKilledExecution(
  id: string,
  { asked, overdue = false }: { asked: boolean; overdue?: boolean },
): Promise<string> {
  // A single statement, because the two replicas could change the row between two statements.
  const [row] = await world.sql<{ id: string }[]>`
    update approvals.execution
       set status = 'executing', started_at = now(), triggered_by = 'auto', attempts = 1,
           fence = nextval('approvals.execution_fence'), lease_until = now() - interval '1 second',
           asked_at = case when ${asked} then now() end,
           expires_at = case when ${overdue} then now() - interval '1 second' else expires_at end
     where approval_id = ${id}
    returning id
  `;
  return row?.id ?? '';
}

/** Allows a call that is not replayed automatically: its requester resumes the call itself. */
async function createAllowedApproval(
  spec: Parameters<World['suspend']>[1] = {},
  { suspend, resolve, helper, ann }: World = world,
): Promise<string> {
  const id = await suspend(helper, { auto: false, ...spec });
  await resolve(ann, id, { resolution: 'allow' });
  return id;
}

describe('the automatic replay', () => {
  test('runs the allowed call once, with the sealed call that was approved, and announces it', async () => {
    const { helper, ann, suspend, resolve, resume, neighbours, eventsOf, sql } = world;
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'allow' });
    const approval = await waitForEndedApproval(id);

    expect(approval).toMatchObject({
      status: 'allowed',
      execution: {
        status: 'executed',
        triggered_by: 'auto',
        http_status_code: 201,
        result: sampleResult,
      },
    });
    expect(neighbours.asked).toEqual([approval.execution?.id]);
    expect(neighbours.permitRequests[0]).toMatchObject({
      decided: { approvalId: id, deciderId: ann.id, as: 'ancestor' },
      cascade: null,
    });
    expect(await eventTypesOf(id)).toEqual(fullEventTypes);
    expect((await eventsOf(id)).at(-1)).toMatchObject({
      data: { approval_id: id, execution: { status: 'executed', result: sampleResult } },
      audit: {
        outcome: 'called',
        http_status: 201,
        user_id: ann.id,
        execution_id: approval.execution?.id,
        decision: { by: 'approval' },
      },
    });
    expect(await sql`select gap, sealed_call from approvals.approval where id = ${id}`).toEqual([
      { gap: null, sealed_call: null },
    ]);
    expect(await resume(helper, id)).toMatchObject({
      kind: 'called',
      result: sampleResult,
      description: 'Create an issue',
    });
    expect(neighbours.asked).toHaveLength(1);
  });

  test('belongs to the trace of the decision, and its spans link to the call like those of the decision and of later requests', async () => {
    const { helper, ann, suspend, resolve, resume } = world;
    let id = '';
    const spans = await collectSpans(async () => {
      id = await suspend(helper);
      await resolve(ann, id, { resolution: 'allow' });
      await waitForEndedApproval(id);
      await resume(helper, id);
    });

    const find = (name: string, kind: number) => {
      const found = spans.find((span) => span.name === name && span.kind === kind);
      if (found === undefined) throw new Error(`no span ${name}`);
      const { traceId, spanId, links = [] } = found;
      expect(attributesOf(found)).toMatchObject({ 'aag.approval_id': id });
      return { traceId, place: { traceId, spanId }, links };
    };
    const raised = find('rpc.approvals.v1.raise', 2);
    const decided = find('rpc.approvals.v1.resolve', 2);
    const replayed = find('approvals replay', 1);
    const resumed = find('rpc.approvals.v1.resume', 2);
    expect(new Set([raised, decided, resumed].map(({ traceId }) => traceId)).size).toBe(3);
    expect(raised.links).toEqual([]);
    expect(decided.links).toMatchObject([raised.place]);
    expect(replayed.traceId).toBe(decided.traceId);
    expect(replayed.links).toMatchObject([raised.place]);
    expect(resumed.links).toMatchObject([raised.place, decided.place]);
    const asked = spans.find(
      ({ name, kind }) => name === 'rpc.executor.v1.executeFrozen' && kind === 2,
    );
    expect(asked?.traceId).toBe(decided.traceId);
  });

  test(
    'runs each of 60 calls once when all are allowed at the same moment, on two replicas',
    { timeout: 60_000 },
    async () => {
      const { sql, neighbours, eventsOf } = world;
      const ids: string[] = [];
      for (const who of [world.bot, world.helper, world.bobsBot]) {
        for (let index = 0; index < 20; index += 1)
          ids.push(await world.suspend(who, { arg: `acme/${index}`, auto: false }));
      }
      // All calls become due at the same moment, for both replicas.
      await Promise.all(ids.map((id) => world.resolve(world.admin, id, { resolution: 'allow' })));
      await sql`update approvals.execution set automatic = true`;
      await world.until(
        () => sql`select id from approvals.execution where status <> 'executed'`,
        (rows) => rows.length === 0,
      );

      expect(neighbours.asked).toHaveLength(60);
      expect(new Set(neighbours.asked).size).toBe(60);
      for (const id of ids)
        expect((await eventsOf(id)).map((event) => event.type)).toEqual(fullEventTypes);
    },
  );

  test('ends with the error when the executor fails before it sends anything', async () => {
    const { helper, ann, suspend, resolve, resume, neighbours, eventsOf } = world;
    neighbours.sends = async () => {
      throw new AppError('credential_missing', 'The secret is gone.', {
        details: { secret: 'github_token' },
      });
    };
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'allow' });

    expect(await waitForEndedApproval(id)).toMatchObject({
      execution: {
        status: 'failed',
        error: { error: 'credential_missing', message: 'The secret is gone.' },
      },
    });
    await expect(resume(helper, id)).rejects.toMatchObject({
      code: 'credential_missing',
      details: { secret: 'github_token' },
    });
    expect((await eventsOf(id)).at(-1)).toMatchObject({
      audit: { outcome: 'failed', error: 'credential_missing' },
    });
  });

  test('sends nothing and denies the call when a deny rule was made in the meantime', async () => {
    const { helper, ann, suspend, resolve, resume, neighbours, eventsOf } = world;
    neighbours.permits = async () => ({ outcome: 'denied', reason: 'Denied by a rule.' });
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'allow' });

    expect(await waitForEndedApproval(id)).toMatchObject({
      execution: { status: 'failed', error: { error: 'denied' } },
    });
    expect(neighbours.asked).toEqual([]);
    expect(await resume(helper, id)).toEqual({
      kind: 'denied',
      reason: 'Denied by a rule.',
      approvalId: id,
    });
    expect((await eventsOf(id)).at(-1)).toMatchObject({ audit: { outcome: 'denied' } });
  });

  test('sends nothing and ends as approval_stale when policy reports a change since the approval', async () => {
    const { helper, ann, suspend, resolve, resume, neighbours } = world;
    neighbours.permits = async () => {
      throw new AppError('approval_stale', 'The template changed.');
    };
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'allow' });
    await waitForEndedApproval(id);

    await expect(resume(helper, id)).rejects.toMatchObject({ code: 'approval_stale' });
    expect(neighbours.asked).toEqual([]);
  });

  test('asks policy again after policy could not be reached', async () => {
    const { helper, ann, suspend, resolve, neighbours } = world;
    let refusals = 2;
    neighbours.permits = async () => {
      if (refusals-- > 0) throw createUnavailableError({ component: 'policy', lost: true });
      return undefined;
    };
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'allow' });

    expect(await waitForEndedApproval(id)).toMatchObject({ execution: { status: 'executed' } });
    expect(neighbours.asked).toHaveLength(1);
    expect(await eventTypesOf(id)).toEqual(fullEventTypes);
  });

  test.for<readonly [rule: string, error: AppError]>([
    ['a busy executor', createUnavailableError({ component: 'executor', busy: true })],
    ...chooseSweepValue<readonly (readonly [string, AppError])[]>({
      sampled: [],
      whole: [
        ['a lost answer', createUnavailableError({ component: 'executor', lost: true })],
        ['another attempt in flight', new AppError('execution_in_progress', 'Under way.')],
        ['an unexpected failure', new AppError('internal', 'Oh.')],
      ],
    }),
  ])('asks the executor again with the same execution id after %s', async ([, error]) => {
    const { helper, ann, suspend, resolve, neighbours } = world;
    neighbours.sends = async (_, earlierAttempts) => {
      if (earlierAttempts < 2) throw error;
      return sampleResult;
    };
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'allow' });
    const approval = await waitForEndedApproval(id);

    expect(approval.execution).toMatchObject({ status: 'executed' });
    expect(neighbours.asked).toEqual(Array.from({ length: 3 }, () => approval.execution?.id));
    expect(await eventTypesOf(id)).toEqual(fullEventTypes);
  });

  test('ends with the error outcome_unknown when the executor returns that error', async () => {
    const { helper, ann, suspend, resolve, resume, neighbours } = world;
    neighbours.sends = async (_, earlierAttempts) => {
      throw earlierAttempts === 0
        ? createUnavailableError({ component: 'executor', lost: true })
        : new AppError('outcome_unknown', 'Nobody knows.');
    };
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'allow' });
    await waitForEndedApproval(id);

    await expect(resume(helper, id)).rejects.toMatchObject({ code: 'outcome_unknown' });
  });

  test('stores a long answer without its body, and marks the body as left out', async () => {
    const { helper, ann, suspend, resolve, neighbours, get } = world;
    neighbours.sends = async () => ({ ...sampleResult, body: 'x'.repeat(300_000) });
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'allow' });
    await waitForEndedApproval(id);

    expect((await get(helper, id)).execution?.result).toMatchObject({
      status_code: 201,
      body: null,
      body_omitted: { reason: 'too_large', content_type: 'application/json', size: 300_002 },
    });
  });

  test('stores an answer that jsonb would refuse, without changing it', async () => {
    const { helper, ann, suspend, resolve, neighbours } = world;
    const body = { text: 'NUL \0 \ud800' };
    neighbours.sends = async () => ({ ...sampleResult, body });
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'allow' });

    expect((await waitForEndedApproval(id)).execution?.result?.body).toEqual(body);
  });
});

describe('after an interrupted replay', () => {
  test('another replica runs the call when the first replica was killed before it asked the executor', async () => {
    const id = await createAllowedApproval();
    const executionId = await leaveKilledExecution(id, { asked: false });

    expect(await waitForEndedApproval(id)).toMatchObject({ execution: { status: 'executed' } });
    expect(world.neighbours.asked).toEqual([executionId]);
  });

  test('another replica asks the executor with the same execution id when the first replica was killed after it asked', async () => {
    const id = await createAllowedApproval();
    const executionId = await leaveKilledExecution(id, { asked: true });

    expect(await waitForEndedApproval(id)).toMatchObject({ execution: { status: 'executed' } });
    expect(world.neighbours.asked).toEqual([executionId]);
  });

  test('two replicas take over ten abandoned executions, each once', async () => {
    const ids = [];
    for (let index = 0; index < 10; index += 1)
      ids.push(await createAllowedApproval({ arg: `acme/${index}` }));
    await Promise.all(ids.map((id) => leaveKilledExecution(id, { asked: true })));
    for (const id of ids) await waitForEndedApproval(id);

    expect(world.neighbours.asked).toHaveLength(10);
  });

  test('a replica that was paused beyond the end of its lease changes nothing when it continues', async () => {
    const { helper, ann, suspend, resolve, neighbours, sql, get } = world;
    let release: (result: CallResult) => void = () => undefined;
    neighbours.sends = async (_, earlierAttempts) => {
      if (earlierAttempts > 0) return sampleResult;
      return new Promise((resolve) => (release = resolve));
    };
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'allow' });
    await world.until(
      async () => neighbours.asked.length,
      (count) => count === 1,
    );
    await sql`update approvals.execution set lease_until = now() - interval '1 second' where approval_id = ${id}`;
    const approval = await waitForEndedApproval(id);
    release({ ...sampleResult, status_code: 500, body: 'late' });
    await delay(300);

    expect(await get(ann, id)).toEqual(approval);
    expect(approval.execution).toMatchObject({ status: 'executed', http_status_code: 201 });
    expect((await eventTypesOf(id)).filter((type) => type === 'execution.finished')).toHaveLength(
      1,
    );
  });

  test.for<[rule: string, asked: boolean, risk: 'read' | 'write', error: string]>([
    ['a write that may have been sent ends as outcome_unknown', true, 'write', 'outcome_unknown'],
    ['a write that was never sent ends with its last error', false, 'write', 'unavailable'],
    ['a read ends with its last error', true, 'read', 'unavailable'],
  ])('after 15 minutes no replica sends the call any more: %s', async ([, asked, risk, error]) => {
    const id = await createAllowedApproval({ risk });
    await leaveKilledExecution(id, { asked, overdue: true });

    expect(await waitForEndedApproval(id)).toMatchObject({
      status: 'allowed',
      execution: { status: 'failed', error: { error } },
    });
    expect(world.neighbours.asked).toEqual([]);
  });

  test('a later deny rule does not end a call as denied when the call may have been sent', async () => {
    const id = await createAllowedApproval();
    world.neighbours.permits = async () => ({ outcome: 'denied', reason: 'Denied by a rule.' });
    await leaveKilledExecution(id, { asked: true });

    expect(await waitForEndedApproval(id)).toMatchObject({
      execution: { status: 'failed', error: { error: 'outcome_unknown' } },
    });
  });
});

describe('a resume request', () => {
  test('runs an allowed call that waits for its requester, and returns the whole answer', async () => {
    const { helper, resume, get, neighbours, eventsOf } = world;
    const body = 'x'.repeat(300_000);
    neighbours.sends = async () => ({ ...sampleResult, body });
    const id = await createAllowedApproval();
    const state = await resume(helper, id);

    expect(state).toMatchObject({ kind: 'called', result: { body } });
    expect((await get(helper, id)).execution).toMatchObject({
      status: 'executed',
      triggered_by: 'agent',
    });
    const finished = (await eventsOf(id)).at(-1);
    expect(finished?.data['execution']).not.toHaveProperty('result');
    expect(finished?.audit).toMatchObject({ identity: { id: helper.id } });
  });

  test('returns the whole answer, not only what is stored, if the replay runs in the same replica', async () => {
    await using single = await createWorld();
    const { helper, resume, neighbours } = single;
    const body = 'x'.repeat(300_000);
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    neighbours.sends = async () => {
      await answered;
      return { ...sampleResult, body };
    };
    const id = await createAllowedApproval({}, single);
    const first = resume(helper, id);
    await expect.poll(() => neighbours.asked.length).toBe(1);
    const second = resume(helper, id);
    // The replica answers requests in turn, so the second request waits once these are answered.
    for (let count = 0; count < 10; count += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await single.get(helper, id);
    }
    answer();
    for (const state of [await first, await second]) {
      expect(state).toMatchObject({ kind: 'called', result: { body } });
    }
    expect(neighbours.asked).toHaveLength(1);
  });

  test('runs the call once even if it is sent ten times at once, and each request gets the answer', async () => {
    const { helper, resume, neighbours } = world;
    neighbours.sends = async () => {
      await delay(300);
      return sampleResult;
    };
    const id = await createAllowedApproval();
    const states = await Promise.all(Array.from({ length: 10 }, () => resume(helper, id)));

    for (const state of states)
      expect(state).toMatchObject({ kind: 'called', result: sampleResult });
    expect(neighbours.asked).toHaveLength(1);
  });

  test('returns pending_approval while the approval is open, to an ancestor with the relationship downstream', async () => {
    const { helper, bot, ann, admin, sibling, suspend, resume } = world;
    const id = await suspend(helper);

    expect(await resume(helper, id)).toMatchObject({
      kind: 'pending',
      envelope: { approval_id: id, relationship: 'self' },
    });
    for (const who of [bot, ann, admin]) {
      expect(await resume(who, id)).toMatchObject({
        kind: 'pending',
        envelope: { relationship: 'downstream' },
      });
    }
    await expect(resume(sibling, id)).rejects.toMatchObject({ code: 'not_in_your_chain' });
  });

  test('does not run the call when an ancestor sends it', async () => {
    const id = await createAllowedApproval();

    expect(await world.resume(world.bot, id)).toMatchObject({ kind: 'pending' });
    expect(world.neighbours.asked).toEqual([]);
  });

  test('returns that the call is in progress when the executor cannot be reached; the call runs later', async () => {
    const { helper, resume, neighbours } = world;
    neighbours.sends = async (_, earlierAttempts) => {
      if (earlierAttempts === 0)
        throw createUnavailableError({ component: 'executor', busy: true });
      return sampleResult;
    };
    const id = await createAllowedApproval();

    await expect(resume(helper, id)).rejects.toMatchObject({ code: 'execution_in_progress' });
    await waitForEndedApproval(id);
    expect(await resume(helper, id)).toMatchObject({ kind: 'called' });
  });

  test('returns expired after the time limit of the approval, even before its state is changed to expired', async () => {
    const { helper, resume, run, ann, sql, get, until, neighbours } = world;
    const id = await createAllowedApproval();
    await sql`update approvals.execution set expires_at = now() where approval_id = ${id}`;
    await resume(helper, id).catch(() => undefined);
    const approval = await until(
      () => get(ann, id),
      (each) => each.execution?.status === 'expired',
    );

    expect(approval.status).toBe('allowed');
    await expect(resume(helper, id)).rejects.toMatchObject({ code: 'expired' });
    await expect(run(ann, id)).rejects.toMatchObject({ code: 'expired' });
    expect(neighbours.asked).toEqual([]);
    expect(await eventTypesOf(id)).toEqual([
      'approval.raised',
      'approval.resolved',
      'execution.finished',
    ]);
  });
});

describe('a request to run an allowed call', () => {
  test('runs the call when an ancestor sends it, and a second request returns how the call ended', async () => {
    const { ann, run, neighbours, eventsOf } = world;
    const id = await createAllowedApproval();
    const approval = await run(ann, id);

    expect(approval).toMatchObject({
      execution: { status: 'executed', triggered_by: 'user', result: sampleResult },
    });
    expect(await run(ann, id)).toEqual(approval);
    expect(neighbours.asked).toHaveLength(1);
    expect((await eventsOf(id)).at(-1)).toMatchObject({ audit: { identity: { id: ann.id } } });
  });

  test('runs the call once when ten users and the agent send it at the same time', async () => {
    const { ann, admin, helper, run, resume, neighbours } = world;
    const id = await createAllowedApproval();
    await Promise.allSettled([
      ...Array.from({ length: 5 }, () => run(ann, id)),
      ...Array.from({ length: 5 }, () => run(admin, id)),
      resume(helper, id),
    ]);

    expect(neighbours.asked).toHaveLength(1);
  });

  test("is refused when the call is not allowed, and to identities outside the requester's chain", async () => {
    const { helper, ann, bob, auditor, suspend, resolve, run } = world;
    const openApprovalId = await suspend(helper);
    await expect(run(ann, openApprovalId)).rejects.toMatchObject({ code: 'conflict' });
    await expect(run(bob, openApprovalId)).rejects.toMatchObject({ code: 'not_in_your_chain' });
    await expect(run(auditor, openApprovalId)).rejects.toMatchObject({ code: 'not_in_your_chain' });
    await resolve(ann, openApprovalId, { resolution: 'deny' });

    await expect(run(ann, openApprovalId)).rejects.toMatchObject({ code: 'conflict' });
  });

  test('fails when the execution has ended as approval_stale', async () => {
    const id = await createAllowedApproval();
    world.neighbours.sends = async () => {
      throw new AppError('approval_stale', 'Other bytes than approved.');
    };

    await expect(world.run(world.ann, id)).rejects.toMatchObject({ code: 'approval_stale' });
  });
});

describe('a request to cancel a call', () => {
  test.for<[role: string, who: 'helper' | 'bot' | 'ann' | 'admin']>([
    ['the requester', 'helper'],
    ["the requester's agent", 'bot'],
    ["the requester's user", 'ann'],
    ['an admin of the org', 'admin'],
  ])('is accepted from %s while the approval is open', async ([, who]) => {
    const { helper, suspend, cancel, resume } = world;
    const id = await suspend(helper);

    expect(await cancel(world[who], id)).toMatchObject({
      status: 'denied',
      reason: 'cancelled',
      resolution: null,
    });
    expect(await resume(helper, id)).toMatchObject({ kind: 'denied', reason: 'cancelled' });
  });

  test('cancels an allowed call that has not run', async () => {
    const { helper, ann, cancel, run, resume, sql, neighbours } = world;
    const id = await createAllowedApproval();

    expect(await cancel(ann, id)).toMatchObject({
      status: 'allowed',
      execution: { status: 'cancelled' },
    });
    expect(await resume(helper, id)).toMatchObject({ kind: 'denied', reason: 'cancelled' });
    await expect(run(ann, id)).rejects.toMatchObject({ code: 'conflict' });
    await expect(cancel(ann, id)).rejects.toMatchObject({ code: 'already_resolved' });
    expect(neighbours.asked).toEqual([]);
    expect(await sql`select sealed_call from approvals.approval where id = ${id}`).toEqual([
      { sealed_call: null },
    ]);
    expect(await eventTypesOf(id)).toEqual([
      'approval.raised',
      'approval.resolved',
      'execution.finished',
    ]);
  });

  test('excludes a simultaneous request to run the call: exactly one of the two succeeds', async () => {
    const { ann, helper, cancel, resume, get, neighbours } = world;
    for (let round = 0; round < 10; round += 1) {
      const id = await createAllowedApproval({ arg: `acme/${round}` });
      neighbours.asked.length = 0;
      await Promise.allSettled([resume(helper, id), cancel(ann, id)]);
      const { execution } = await get(ann, id);

      expect(neighbours.asked).toHaveLength(execution?.status === 'executed' ? 1 : 0);
      expect(['executed', 'cancelled']).toContain(execution?.status);
      expect((await eventTypesOf(id)).filter((type) => type === 'execution.finished')).toHaveLength(
        1,
      );
    }
  });

  test("is refused to identities outside the requester's chain", async () => {
    const { helper, sibling, bob, auditor, suspend, cancel } = world;
    const id = await suspend(helper);
    for (const who of [sibling, bob, auditor]) {
      await expect(cancel(who, id)).rejects.toMatchObject({ code: 'not_in_your_chain' });
    }
  });
});
