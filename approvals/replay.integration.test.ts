import { setTimeout as delay } from 'node:timers/promises';

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { CallResult } from '#contracts/call';
import { AppError } from '#errors';
import { answered, createWorld } from './world.testing.ts';
import type { World } from './world.testing.ts';

let world: World;
/** An answer that never comes while a test runs. */
let giveUp: (reason: unknown) => void = () => undefined;
const noAnswer = new Promise<CallResult>((_, reject) => {
  giveUp = reject;
});
noAnswer.catch(() => undefined);
beforeAll(async () => {
  world = await createWorld({ replicas: 2 });
});
afterAll(async () => {
  giveUp(new AppError('unavailable', 'The test is over.'));
  await world[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await world.clear();
  world.neighbours.sends = async () => answered;
  world.neighbours.permits = async () => undefined;
  world.neighbours.asked.length = 0;
  world.neighbours.permitRequests.length = 0;
});

/** The approval once its execution has ended. */
const ended = (id: string) =>
  world.until(
    () => world.get(world.ann, id),
    (approval) => approval.execution !== undefined && approval.execution.finished_at !== null,
  );
const typesOf = async (id: string) => (await world.eventsOf(id)).map((event) => event.type);
const wholeStory = [
  'approval.raised',
  'approval.resolved',
  'execution.started',
  'execution.finished',
];
const unavailable = (details: AppError['details']) =>
  new AppError('unavailable', 'Not now.', { details });

/** As a process leaves it that was killed: executing, with a lease that has passed. */
async function killedWhileExecuting(
  id: string,
  { asked, overdue = false }: { asked: boolean; overdue?: boolean },
): Promise<string> {
  // In one statement, because the clocks of two replicas are running.
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

/** An approval of a call that waits for its requester, allowed. */
async function allowed(spec: Parameters<World['suspend']>[1] = {}): Promise<string> {
  const id = await world.suspend(world.helper, { auto: false, ...spec });
  await world.resolve(world.ann, id, { resolution: 'allow' });
  return id;
}

describe('the automatic replay', () => {
  test('runs the allowed call once, with the sealed call that was approved, and tells everybody', async () => {
    const { helper, ann, suspend, resolve, resume, neighbours, eventsOf, sql } = world;
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'allow' });
    const approval = await ended(id);

    expect(approval).toMatchObject({
      status: 'allowed',
      execution: {
        status: 'executed',
        triggered_by: 'auto',
        http_status_code: 201,
        result: answered,
      },
    });
    expect(neighbours.asked).toEqual([approval.execution?.id]);
    expect(neighbours.permitRequests[0]).toMatchObject({
      decided: { approvalId: id, deciderId: ann.id, as: 'ancestor' },
      cascade: null,
    });
    expect(await typesOf(id)).toEqual(wholeStory);
    expect((await eventsOf(id)).at(-1)).toMatchObject({
      data: { approval_id: id, execution: { status: 'executed', result: answered } },
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
      result: answered,
      description: 'Create an issue',
    });
    expect(neighbours.asked).toHaveLength(1);
  });

  test(
    'of 60 calls allowed at once on two replicas each is asked for once',
    { timeout: 60_000 },
    async () => {
      const { sql, neighbours, eventsOf } = world;
      const ids: string[] = [];
      for (const who of [world.bot, world.helper, world.bobsBot]) {
        for (let index = 0; index < 20; index += 1)
          ids.push(await world.suspend(who, { arg: `acme/${index}`, auto: false }));
      }
      // All become due in the same moment, for both replicas.
      await Promise.all(ids.map((id) => world.resolve(world.admin, id, { resolution: 'allow' })));
      await sql`update approvals.execution set automatic = true`;
      await world.until(
        () => sql`select id from approvals.execution where status <> 'executed'`,
        (rows) => rows.length === 0,
      );

      expect(neighbours.asked).toHaveLength(60);
      expect(new Set(neighbours.asked).size).toBe(60);
      for (const id of ids)
        expect((await eventsOf(id)).map((event) => event.type)).toEqual(wholeStory);
    },
  );

  test('a failure before anything left is the end, and says why', async () => {
    const { helper, ann, suspend, resolve, resume, neighbours, eventsOf } = world;
    neighbours.sends = async () => {
      throw new AppError('credential_missing', 'The secret is gone.', {
        details: { secret: 'github_token' },
      });
    };
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'allow' });

    expect(await ended(id)).toMatchObject({
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

  test('a deny rule made meanwhile: nothing is sent, and the call is denied', async () => {
    const { helper, ann, suspend, resolve, resume, neighbours, eventsOf } = world;
    neighbours.permits = async () => ({ outcome: 'denied', reason: 'Denied by a rule.' });
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'allow' });

    expect(await ended(id)).toMatchObject({
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

  test('what changed since the approval: approval_stale, nothing is sent', async () => {
    const { helper, ann, suspend, resolve, resume, neighbours } = world;
    neighbours.permits = async () => {
      throw new AppError('approval_stale', 'The template changed.');
    };
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'allow' });
    await ended(id);

    await expect(resume(helper, id)).rejects.toMatchObject({ code: 'approval_stale' });
    expect(neighbours.asked).toEqual([]);
  });

  test('policy out of reach is no end: it is asked again', async () => {
    const { helper, ann, suspend, resolve, neighbours } = world;
    let refusals = 2;
    neighbours.permits = async () => {
      if (refusals-- > 0) throw unavailable({ component: 'policy', lost: true });
      return undefined;
    };
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'allow' });

    expect(await ended(id)).toMatchObject({ execution: { status: 'executed' } });
    expect(neighbours.asked).toHaveLength(1);
    expect(await typesOf(id)).toEqual(wholeStory);
  });

  test.for<[rule: string, error: AppError]>([
    ['a full executor', unavailable({ component: 'executor', busy: true })],
    ['a lost answer', unavailable({ component: 'executor', lost: true })],
    ['another attempt in flight', new AppError('execution_in_progress', 'Under way.')],
    ['a failure nobody foresaw', new AppError('internal', 'Oh.')],
  ])('after %s it asks again with the same execution id', async ([, error]) => {
    const { helper, ann, suspend, resolve, neighbours } = world;
    neighbours.sends = async (_, earlierAttempts) => {
      if (earlierAttempts < 2) throw error;
      return answered;
    };
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'allow' });
    const approval = await ended(id);

    expect(approval.execution).toMatchObject({ status: 'executed' });
    expect(neighbours.asked).toEqual(Array.from({ length: 3 }, () => approval.execution?.id));
    expect(await typesOf(id)).toEqual(wholeStory);
  });

  test('an executor that says outcome_unknown ends it', async () => {
    const { helper, ann, suspend, resolve, resume, neighbours } = world;
    neighbours.sends = async (_, earlierAttempts) => {
      throw earlierAttempts === 0
        ? unavailable({ component: 'executor', lost: true })
        : new AppError('outcome_unknown', 'Nobody knows.');
    };
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'allow' });
    await ended(id);

    await expect(resume(helper, id)).rejects.toMatchObject({ code: 'outcome_unknown' });
  });

  test('while an answer stays away, it is asked about again beside it', async () => {
    const { helper, ann, suspend, resolve, neighbours } = world;
    neighbours.sends = async (_, earlierAttempts) => {
      // The first request died with its executor; its dispatch row is found by the next.
      if (earlierAttempts === 0) return noAnswer;
      if (earlierAttempts === 1) throw new AppError('execution_in_progress', 'Under way.');
      return answered;
    };
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'allow' });

    expect(await ended(id)).toMatchObject({ execution: { status: 'executed' } });
    expect(neighbours.asked).toHaveLength(3);
  });

  test('a long answer is kept without its body, which is named', async () => {
    const { helper, ann, suspend, resolve, neighbours, get } = world;
    neighbours.sends = async () => ({ ...answered, body: 'x'.repeat(300_000) });
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'allow' });
    await ended(id);

    expect((await get(helper, id)).execution?.result).toMatchObject({
      status_code: 201,
      body: null,
      body_omitted: { reason: 'too_large', content_type: 'application/json', size: 300_002 },
    });
  });

  test('an answer that jsonb would refuse is kept as it is', async () => {
    const { helper, ann, suspend, resolve, neighbours } = world;
    const body = { text: 'NUL \0 \ud800' };
    neighbours.sends = async () => ({ ...answered, body });
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'allow' });

    expect((await ended(id)).execution?.result?.body).toEqual(body);
  });
});

describe('recovery', () => {
  test('a holder killed before it asked: another replica runs the call', async () => {
    const id = await allowed();
    const executionId = await killedWhileExecuting(id, { asked: false });

    expect(await ended(id)).toMatchObject({ execution: { status: 'executed' } });
    expect(world.neighbours.asked).toEqual([executionId]);
  });

  test('a holder killed after it asked: the executor is asked with the same id and tells', async () => {
    const id = await allowed();
    const executionId = await killedWhileExecuting(id, { asked: true });

    expect(await ended(id)).toMatchObject({ execution: { status: 'executed' } });
    expect(world.neighbours.asked).toEqual([executionId]);
  });

  test('ten left behind are taken over once each, by two replicas', async () => {
    const ids = [];
    for (let index = 0; index < 10; index += 1) ids.push(await allowed({ arg: `acme/${index}` }));
    await Promise.all(ids.map((id) => killedWhileExecuting(id, { asked: true })));
    for (const id of ids) await ended(id);

    expect(world.neighbours.asked).toHaveLength(10);
  });

  test('a holder that was stopped past its lease changes nothing when it wakes', async () => {
    const { helper, ann, suspend, resolve, neighbours, sql, get } = world;
    let release: (result: CallResult) => void = () => undefined;
    neighbours.sends = async (_, earlierAttempts) => {
      if (earlierAttempts > 0) return answered;
      return new Promise((resolve) => (release = resolve));
    };
    const id = await suspend(helper);
    await resolve(ann, id, { resolution: 'allow' });
    await world.until(
      async () => neighbours.asked.length,
      (count) => count === 1,
    );
    await sql`update approvals.execution set lease_until = now() - interval '1 second' where approval_id = ${id}`;
    const approval = await ended(id);
    release({ ...answered, status_code: 500, body: 'late' });
    await delay(300);

    expect(await get(ann, id)).toEqual(approval);
    expect(approval.execution).toMatchObject({ status: 'executed', http_status_code: 201 });
    expect((await typesOf(id)).filter((type) => type === 'execution.finished')).toHaveLength(1);
  });

  test.for<[rule: string, asked: boolean, risk: 'read' | 'write', error: string]>([
    ['that may have been sent is outcome_unknown', true, 'write', 'outcome_unknown'],
    ['that was never sent says so', false, 'write', 'unavailable'],
    ['that only reads says so', true, 'read', 'unavailable'],
  ])('after 15 minutes nothing is sent any more: a call %s', async ([, asked, risk, error]) => {
    const id = await allowed({ risk });
    await killedWhileExecuting(id, { asked, overdue: true });

    expect(await ended(id)).toMatchObject({
      status: 'allowed',
      execution: { status: 'failed', error: { error } },
    });
    expect(world.neighbours.asked).toEqual([]);
  });

  test('a call that may have been sent is not called denied by a later rule', async () => {
    const id = await allowed();
    world.neighbours.permits = async () => ({ outcome: 'denied', reason: 'Denied by a rule.' });
    await killedWhileExecuting(id, { asked: true });

    expect(await ended(id)).toMatchObject({
      execution: { status: 'failed', error: { error: 'outcome_unknown' } },
    });
  });
});

describe('resume', () => {
  test('runs an allowed call that waits for its requester; the whole answer comes back', async () => {
    const { helper, resume, get, neighbours, eventsOf } = world;
    const body = 'x'.repeat(300_000);
    neighbours.sends = async () => ({ ...answered, body });
    const id = await allowed();
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

  test('ten at once run it once; each gets the answer', async () => {
    const { helper, resume, neighbours } = world;
    neighbours.sends = async () => {
      await delay(300);
      return answered;
    };
    const id = await allowed();
    const states = await Promise.all(Array.from({ length: 10 }, () => resume(helper, id)));

    for (const state of states) expect(state).toMatchObject({ kind: 'called', result: answered });
    expect(neighbours.asked).toHaveLength(1);
  });

  test('gives the envelope again while nobody has decided; an ancestor sees it as downstream', async () => {
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

  test('an ancestor runs nothing by resuming', async () => {
    const id = await allowed();

    expect(await world.resume(world.bot, id)).toMatchObject({ kind: 'pending' });
    expect(world.neighbours.asked).toEqual([]);
  });

  test('when the executor cannot be reached, it says that the call is under way, and it is run later', async () => {
    const { helper, resume, neighbours } = world;
    neighbours.sends = async (_, earlierAttempts) => {
      if (earlierAttempts === 0) throw unavailable({ component: 'executor', busy: true });
      return answered;
    };
    const id = await allowed();

    await expect(resume(helper, id)).rejects.toMatchObject({ code: 'execution_in_progress' });
    await ended(id);
    expect(await resume(helper, id)).toMatchObject({ kind: 'called' });
  });

  test('too late it is expired, before and after the clock has moved it', async () => {
    const { helper, resume, run, ann, sql, get, until, neighbours } = world;
    const id = await allowed();
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
    expect(await typesOf(id)).toEqual([
      'approval.raised',
      'approval.resolved',
      'execution.finished',
    ]);
  });
});

describe('run', () => {
  test('an ancestor runs an allowed call, and a second time gets its end', async () => {
    const { ann, run, neighbours, eventsOf } = world;
    const id = await allowed();
    const approval = await run(ann, id);

    expect(approval).toMatchObject({
      execution: { status: 'executed', triggered_by: 'user', result: answered },
    });
    expect(await run(ann, id)).toEqual(approval);
    expect(neighbours.asked).toHaveLength(1);
    expect((await eventsOf(id)).at(-1)).toMatchObject({ audit: { identity: { id: ann.id } } });
  });

  test('ten users and the agent at once run it once', async () => {
    const { ann, admin, helper, run, resume, neighbours } = world;
    const id = await allowed();
    await Promise.allSettled([
      ...Array.from({ length: 5 }, () => run(ann, id)),
      ...Array.from({ length: 5 }, () => run(admin, id)),
      resume(helper, id),
    ]);

    expect(neighbours.asked).toHaveLength(1);
  });

  test('is refused where nothing is allowed, or by who may not', async () => {
    const { helper, ann, bob, auditor, suspend, resolve, run } = world;
    const open = await suspend(helper);
    await expect(run(ann, open)).rejects.toMatchObject({ code: 'conflict' });
    await expect(run(bob, open)).rejects.toMatchObject({ code: 'not_in_your_chain' });
    await expect(run(auditor, open)).rejects.toMatchObject({ code: 'not_in_your_chain' });
    await resolve(ann, open, { resolution: 'deny' });

    await expect(run(ann, open)).rejects.toMatchObject({ code: 'conflict' });
  });

  test('approval_stale is an error', async () => {
    const id = await allowed();
    world.neighbours.sends = async () => {
      throw new AppError('approval_stale', 'Other bytes than approved.');
    };

    await expect(world.run(world.ann, id)).rejects.toMatchObject({ code: 'approval_stale' });
  });
});

describe('cancel', () => {
  test.for<[who: 'helper' | 'bot' | 'ann' | 'admin']>([['helper'], ['bot'], ['ann'], ['admin']])(
    '%s withdraws an open approval',
    async ([who]) => {
      const { helper, suspend, cancel, resume } = world;
      const id = await suspend(helper);

      expect(await cancel(world[who], id)).toMatchObject({
        status: 'denied',
        reason: 'cancelled',
        resolution: null,
      });
      expect(await resume(helper, id)).toMatchObject({ kind: 'denied', reason: 'cancelled' });
    },
  );

  test('stops an allowed call that has not run', async () => {
    const { helper, ann, cancel, run, resume, sql, neighbours } = world;
    const id = await allowed();

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
    expect(await typesOf(id)).toEqual([
      'approval.raised',
      'approval.resolved',
      'execution.finished',
    ]);
  });

  test('against a run at the same time one of them wins, never both', async () => {
    const { ann, helper, cancel, resume, get, neighbours } = world;
    for (let round = 0; round < 10; round += 1) {
      const id = await allowed({ arg: `acme/${round}` });
      neighbours.asked.length = 0;
      await Promise.allSettled([resume(helper, id), cancel(ann, id)]);
      const { execution } = await get(ann, id);

      expect(neighbours.asked).toHaveLength(execution?.status === 'executed' ? 1 : 0);
      expect(['executed', 'cancelled']).toContain(execution?.status);
      expect((await typesOf(id)).filter((type) => type === 'execution.finished')).toHaveLength(1);
    }
  });

  test('is refused to others', async () => {
    const { helper, sibling, bob, auditor, suspend, cancel } = world;
    const id = await suspend(helper);
    for (const who of [sibling, bob, auditor]) {
      await expect(cancel(who, id)).rejects.toMatchObject({ code: 'not_in_your_chain' });
    }
  });
});
