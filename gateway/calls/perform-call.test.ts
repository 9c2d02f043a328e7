import { randomUUID } from 'node:crypto';

import pino from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';

import type { PendingApproval } from '#contracts/http/approvals';
import type { Event, FeedItem } from '#contracts/events';
import { createRepetitionBudget } from '#bus';
import { AppError } from '#errors';
import { callerLevels, createAuditShare } from '#shares';
import { performCall } from './perform-call.ts';
import type { CallDeps, IncomingCall } from './incoming-call.ts';
import type { CallReport } from '../records/call-report.ts';
import { createAgentPrincipal, createFeedItem } from '../principals.testing.ts';
import { openRefusals } from '../records/refusals.ts';

const claims = createAgentPrincipal();
const caller = { principal: 'signed', claims };
const context = { requestId: 'r1', traceId: null, ip: '192.0.2.1' };
const auditId = randomUUID();
const approvalId = randomUUID();
const summary = {
  service: 'github',
  template: 'github',
  action: 'issues.create',
  permissionKeys: ['github:issues.create:acme/site'],
  risk: 'write' as const,
  nonRead: true,
  description: 'Create issue "Hello"',
};
const permit = { outcome: 'permit' as const, permit: 'signed-permit', auditId, ...summary };
const gap = { outcome: 'gap' as const, gap: 'signed-gap', ...summary };
const result = { status_code: 201, headers: {}, body: { number: 1 }, duration_ms: 12 };
const called = { kind: 'called' as const, result, auditId, replayed: false };
const pendingAnswer = { status: 'pending_approval', approval_id: approvalId } as PendingApproval;

describe('a permitted call', () => {
  test('is executed with the permit; its answer contains the description and the audit id', async () => {
    const stage = start({ decide: () => permit, execute: () => called });

    expect(await stage.perform()).toEqual({
      kind: 'called',
      result,
      service: 'github',
      auditId,
      description: summary.description,
    });
    expect(stage.calls).toEqual(['decide', 'execute']);
    expect(stage.published).toEqual([]);
  });

  test.for([
    ['is full', { busy: true }],
    ['does not answer at all', { lost: false }],
  ] as const)('is retried, at most three times, while an executor %s', async ([, details]) => {
    const refusal = new AppError('unavailable', 'x', {
      details: { component: 'executor', ...details },
    });
    let refusalsLeft = 3;
    const stage = start({
      decide: () => permit,
      execute() {
        refusalsLeft -= 1;
        if (refusalsLeft >= 0) throw refusal;
        return called;
      },
    });
    expect((await stage.perform()).kind).toBe('called');

    const permitRequests: unknown[] = [];
    const stageWithFullExecutor = start({
      decide: () => permit,
      execute(request) {
        permitRequests.push(request);
        throw refusal;
      },
    });
    await expect(stageWithFullExecutor.perform()).rejects.toMatchObject({ code: 'unavailable' });
    // The first two attempts need an executor with room at once; later attempts may wait at a full
    // executor.
    expect(permitRequests).toMatchObject(
      [false, false, true, true].map((mayWaitFlags) => ({ mayWait: mayWaitFlags })),
    );
  });

  test("fails with rate_limited, after retries, when other calls of the caller use up the caller's share", async () => {
    const details = { component: 'executor', busy: true, retry_after: 5 };
    const stage = start({
      decide: () => permit,
      execute() {
        throw new AppError('rate_limited', 'Too many calls of this identity.', { details });
      },
    });

    await expect(stage.perform()).rejects.toMatchObject({
      code: 'rate_limited',
      details: { retry_after: 5 },
    });
    expect(stage.calls.filter((name) => name === 'execute')).toHaveLength(4);
    expect(stage.published).toEqual([]);
  });

  test.for<[name: string, thrown: unknown]>([
    ['a lost answer', answerLostError()],
    ['an answer that is no JSON', new SyntaxError('Unexpected end of JSON input')],
    ['an error that the executor does not declare', new AppError('internal', 'x')],
  ])(
    'that is a non-read ends with outcome_unknown and is not retried after %s',
    async ([, thrown]) => {
      const stage = start({
        decide: () => permit,
        execute() {
          throw thrown;
        },
      });

      await expect(stage.perform()).rejects.toMatchObject({
        code: 'outcome_unknown',
        details: { audit_id: auditId },
      });
      expect(stage.calls.filter((name) => name === 'execute')).toHaveLength(1);
      // With this record, the audit log contains the audit id of the answer even if the executor's
      // own record never arrives.
      expect(stage.published).toMatchObject([
        { type: 'action.unanswered', audit: { outcome: 'outcome_unknown', call_id: auditId } },
      ]);
    },
  );

  test('fails with an error that allows a retry if it is a read and its answer is lost', async () => {
    const stage = start({
      decide: () => ({ ...permit, nonRead: false, risk: 'read' }),
      execute() {
        throw answerLostError();
      },
    });

    await expect(stage.perform()).rejects.toMatchObject({ code: 'unavailable' });
    expect(stage.calls.filter((name) => name === 'execute')).toHaveLength(1);
  });

  test.for([
    ['a read is reported to the executors', { nonRead: false, risk: 'read' as const }, [auditId]],
    ['a non-read is not reported to the executors', {}, []],
  ] as const)('that is %s when its client disconnects', async ([, parts, told]) => {
    const { promise: executionAnswered, resolve: answer } = Promise.withResolvers<unknown>();
    const stage = start({
      decide: () => ({ ...permit, ...parts }),
      execute: () => executionAnswered,
    });
    const pendingCall = stage.perform();
    await expect.poll(() => stage.calls).toContain('execute');
    stage.gone.abort();
    expect(stage.told).toEqual(told);

    answer(called);
    expect((await pendingCall).kind).toBe('called');
  });

  test('is not retried after its client disconnects if it is a read; no disconnect is announced after the answer', async () => {
    const read = { ...permit, nonRead: false, risk: 'read' as const };
    const details = { component: 'executor', busy: true };
    const stageWithFullExecutor = start({
      decide: () => read,
      execute() {
        stageWithFullExecutor.gone.abort();
        throw new AppError('unavailable', 'x', { details });
      },
    });
    await expect(stageWithFullExecutor.perform()).rejects.toMatchObject({ code: 'unavailable' });
    expect(stageWithFullExecutor.calls.filter((name) => name === 'execute')).toHaveLength(1);

    const callOutcome = start({ decide: () => read, execute: () => called });
    await callOutcome.perform();
    callOutcome.gone.abort();
    expect(callOutcome.told).toEqual([]);
  });

  test("fails with the executor's error if the executor's contract declares this error", async () => {
    const stage = start({
      decide: () => permit,
      execute() {
        throw new AppError('credential_missing', 'x', { details: { secret: 'github_token' } });
      },
    });

    await expect(stage.perform()).rejects.toMatchObject({ code: 'credential_missing' });
  });

  test('is answered with the state of a suspended call if that call had the same idempotency key', async () => {
    const stage = start({
      decide: () => permit,
      execute: () => ({ kind: 'suspended', approvalId }),
      resume: () => ({ kind: 'pending', envelope: pendingAnswer }),
    });

    expect(await stage.perform()).toEqual({ kind: 'pending', envelope: pendingAnswer });
  });
});

describe('a denied call', () => {
  test('is refused before policy decides if its caller has used up the caller’s share of the audit log', async () => {
    const description = 'x'.repeat(2_000);
    const stage = start(
      { decide: () => ({ outcome: 'denied', reason: 'no', ...summary, description }) },
      { auditBytesPerMinute: 100_000 },
    );
    for (let n = 0; n < 15; n += 1) expect((await stage.perform()).kind).toBe('denied');
    const otherCalls = Array.from({ length: 10 }, () => stage.perform());
    await Promise.allSettled(otherCalls);

    await expect(stage.perform()).rejects.toMatchObject({
      code: 'rate_limited',
      details: { retry_after: 30 },
    });
    expect(stage.calls.length).toBe(stage.published.length);
    expect(stage.published.length).toBeLessThan(26);
  });

  test('is answered with a result, not an error, after the denial was recorded', async () => {
    const stage = start({
      decide: () => ({ outcome: 'denied', reason: 'Not at night', ...summary }),
    });

    expect(await stage.perform()).toEqual({
      kind: 'denied',
      reason: 'Not at night',
      approvalId: null,
    });
    expect(stage.published).toMatchObject([
      {
        type: 'action.denied',
        org_id: claims.orgId,
        audience: [claims.userId, claims.identityId],
        audit: {
          outcome: 'denied',
          user_id: claims.userId,
          identity: { id: claims.identityId, path: ['ann', 'deploy-bot'] },
          credential: { kind: 'agent_key' },
          service: 'github',
          permission_keys: summary.permissionKeys,
          risk: 'write',
          description: 'Denied: Create issue "Hello" (Not at night)',
          request_id: 'r1',
          ip: '192.0.2.1',
        },
      },
    ]);
  });

  test('fails with unavailable when the denial cannot be recorded', async () => {
    const stage = start({ decide: () => ({ outcome: 'denied', reason: 'no', ...summary }) });
    stage.deps.publisher.publish = () => Promise.reject(new AppError('unavailable', 'x'));

    await expect(stage.perform()).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('is answered with the id of the earlier approval by which a person denied it', async () => {
    const stage = start({
      decide: () => gap,
      raise: () => ({ kind: 'denied', reason: 'no', approvalId }),
    });

    expect(await stage.perform()).toMatchObject({ kind: 'denied', approvalId });
    expect(stage.published).toMatchObject([{ audit: { approval_id: approvalId } }]);
  });
});

describe('a refused call', () => {
  test('is recorded with its error code', async () => {
    const stage = start({
      decide() {
        throw new AppError('unknown_action', 'No such action.');
      },
    });

    await expect(stage.perform()).rejects.toMatchObject({ code: 'unknown_action' });
    expect(stage.published).toMatchObject([
      {
        type: 'action.refused',
        audit: { outcome: 'refused', error: 'unknown_action', service: 'github', action: 'a' },
      },
    ]);
    expect(JSON.stringify(stage.published)).not.toContain('CANARY');
  });

  test('is recorded with the decision of policy when its approval cannot be created', async () => {
    const stage = start({
      decide: () => gap,
      raise() {
        throw new AppError('too_many_open_approvals', 'x');
      },
    });

    await expect(stage.perform()).rejects.toMatchObject({ code: 'too_many_open_approvals' });
    expect(stage.published).toMatchObject([
      { audit: { error: 'too_many_open_approvals', action: 'issues.create' } },
    ]);
  });

  test.for(['filter_invalid', 'idempotency_key_reused'] as const)(
    'is recorded with the decision of policy if the executor refuses it with %s without recording it',
    async (code) => {
      const stage = start({
        decide: () => permit,
        execute() {
          throw new AppError(code, 'x');
        },
      });

      await expect(stage.perform()).rejects.toMatchObject({ code });
      expect(stage.published).toMatchObject([
        { type: 'action.refused', audit: { outcome: 'refused', error: code, risk: 'write' } },
      ]);
    },
  );

  test('is not recorded again if the executor has recorded it', async () => {
    const stage = start({
      decide: () => permit,
      execute() {
        throw new AppError('upstream_refused_address', 'x', { details: { audit_id: auditId } });
      },
    });

    await expect(stage.perform()).rejects.toMatchObject({ code: 'upstream_refused_address' });
    expect(stage.published).toEqual([]);
  });

  test.for(['unavailable', 'internal', 'unauthenticated', 'rate_limited'] as const)(
    'is not recorded if its error is %s, which does not count as a refusal',
    async (code) => {
      const stage = start({
        decide() {
          throw new AppError(code, 'x');
        },
      });

      await expect(stage.perform()).rejects.toMatchObject({ code });
      expect(stage.published).toEqual([]);
    },
  );
});

describe('a suspended call', () => {
  test('without a waiting time is answered at once as pending', async () => {
    const stage = start({
      decide: () => gap,
      raise: () => ({ kind: 'pending', envelope: pendingAnswer }),
    });

    expect(await stage.perform()).toEqual({ kind: 'pending', envelope: pendingAnswer });
    expect(stage.calls).toEqual(['decide', 'raise']);
  });

  test('is answered when its approval was allowed and it was replayed', async () => {
    const stage = startSuspendedCall(createApproval('pending'));
    const outcome = stage.perform({ waitMs: 60_000 });
    await stage.reads(1);

    stage.become(createApproval('allowed', { status: 'pending' }), 'approval.resolved');
    await stage.reads(2);
    stage.become(createApproval('allowed', { status: 'executed' }), 'execution.finished');

    expect(await outcome).toMatchObject({ kind: 'called', result });
  });

  test('is answered even if it was decided before its approval was first read', async () => {
    const stage = startSuspendedCall(createApproval('allowed', { status: 'executed' }));

    expect(await stage.perform({ waitMs: 60_000 })).toMatchObject({ kind: 'called' });
    expect(stage.calls).toEqual(['decide', 'raise', 'get', 'resume']);
  });

  test('without auto-call is answered when it is allowed, but is not executed', async () => {
    const stage = startSuspendedCall({
      ...createApproval('allowed', { status: 'pending' }),
      auto_call_on_approve: false,
    });

    expect(await stage.perform({ waitMs: 60_000 })).toMatchObject({ kind: 'pending' });
    expect(stage.calls).not.toContain('resume');
  });

  test('ignores events of other approvals', async () => {
    const stage = startSuspendedCall(createApproval('pending'));
    const outcome = stage.perform({ waitMs: 60_000 });
    await stage.reads(1);

    stage.announce(
      createFeedItem(claims, 1, { type: 'approval.resolved', data: { approval_id: 'x' } }),
    );
    stage.announce(
      createFeedItem(claims, 2, { type: 'rule.created', data: { approval_id: approvalId } }),
    );
    await new Promise((resolve) => setImmediate(resolve));

    expect(stage.calls.filter((name) => name === 'get')).toHaveLength(1);
    stage.gone.abort();
    expect(await outcome).toMatchObject({ kind: 'pending' });
  });

  test('reads its approval again when the event feed may have lost items', async () => {
    const stage = startSuspendedCall(createApproval('pending'));
    const outcome = stage.perform({ waitMs: 60_000 });
    await stage.reads(1);

    stage.row.now = createApproval('denied');
    stage.announce(null);

    expect(await outcome).toMatchObject({ kind: 'denied' });
  });

  test('keeps waiting while the component approvals is unavailable', async () => {
    const stage = startSuspendedCall(createApproval('pending'));
    stage.row.now = null;
    const outcome = stage.perform({ waitMs: 60_000 });
    await stage.reads(1);

    stage.become(createApproval('allowed', { status: 'executed' }), 'execution.finished');

    expect(await outcome).toMatchObject({ kind: 'called' });
  });

  test.for<[name: string, end: (stage: ReturnType<typeof startSuspendedCall>) => void]>([
    ['its client disconnects', (stage) => stage.gone.abort()],
    ['the gateway stops', (stage) => stage.stopping.abort()],
  ])('is answered with its current state when %s', async ([, end]) => {
    const stage = startSuspendedCall(createApproval('pending'));
    const outcome = stage.perform({ waitMs: 60_000 });
    await stage.reads(1);

    end(stage);

    expect(await outcome).toMatchObject({ kind: 'pending' });
    expect(stage.listeners.size).toBe(0);
  });

  test('authenticates its caller again before each time it reads the approval', async () => {
    const stage = startSuspendedCall(createApproval('pending'));
    const outcome = stage.perform({ waitMs: 60_000 });
    await stage.reads(1);
    stage.authenticated.fails = true;

    stage.become(createApproval('allowed', { status: 'executed' }), 'execution.finished');

    await expect(outcome).rejects.toMatchObject({ code: 'unauthenticated' });
  });
});

describe('a request to resume a call by approval_id', () => {
  test('is sent to the component approvals only', async () => {
    const stage = start({ resume: () => ({ kind: 'pending', envelope: pendingAnswer }) });

    expect(await stage.perform({ parse: () => ({ kind: 'resume', approvalId }) })).toEqual({
      kind: 'pending',
      envelope: pendingAnswer,
    });
    expect(stage.calls).toEqual(['resume']);
  });
});

describe('a request to resume an approval', () => {
  const parse = () => ({ kind: 'resume' as const, approvalId });

  test('is refused and recorded if the approval belongs to another caller', async () => {
    const stage = start({
      resume() {
        throw new AppError('not_in_your_chain', 'x');
      },
    });

    await expect(stage.perform({ parse })).rejects.toMatchObject({ code: 'not_in_your_chain' });
    expect(stage.published).toMatchObject([
      { audit: { outcome: 'refused', error: 'not_in_your_chain', approval_id: approvalId } },
    ]);
  });

  test('is answered with the error of the call if that call failed, and is not recorded', async () => {
    const stage = start({
      resume() {
        throw new AppError('approval_stale', 'x');
      },
    });

    await expect(stage.perform({ parse })).rejects.toMatchObject({ code: 'approval_stale' });
    expect(stage.published).toEqual([]);
  });
});

function answerLostError(): AppError {
  return new AppError('unavailable', 'x', { details: { component: 'executor', lost: true } });
}

function createApproval(status: string, execution?: { status: string }) {
  return {
    id: approvalId,
    status,
    auto_call_on_approve: true,
    expires_at: '2030-01-01T00:00:00Z',
    ...(execution === undefined ? {} : { execution }),
  };
}

type Answers = Partial<
  Record<'decide' | 'execute' | 'raise' | 'resume' | 'get', (request: unknown) => unknown>
>;

/** Starts stand-ins for the components that a call passes through. Each test sets their answers. */
function start(answers: Answers, { auditBytesPerMinute = 0 } = {}) {
  const calls: string[] = [];
  const publishedEvents: Event[] = [];
  const listeners = new Set<(item: FeedItem | null) => void>();
  const disconnectController = new AbortController();
  const progressTexts: string[] = [];
  const reports: CallReport[] = [];
  const stopping = new AbortController();
  const authenticated = { fails: false };
  const endpoint = (name: keyof Answers) => async (request: unknown) => {
    calls.push(name);
    return answers[name]?.(request);
  };
  const logger = pino({ enabled: false });
  const publisher = { publish: async (event: Event) => void publishedEvents.push(event) };
  const refusals = openRefusals({ publisher, logger });
  onTestFinished(() => refusals[Symbol.asyncDispose]());
  const deps = {
    policy: { decide: endpoint('decide') },
    executor: { execute: endpoint('execute') },
    approvals: { raise: endpoint('raise'), resume: endpoint('resume'), get: endpoint('get') },
    publisher,
    refusals,
    logger,
    feed: {
      subscribe(listener: (item: FeedItem | null) => void) {
        listeners.add(listener);
        return { [Symbol.dispose]: () => void listeners.delete(listener) };
      },
    },
    auditShare: createAuditShare({
      bytesPerMinute: auditBytesPerMinute,
      levels: callerLevels({
        SHARE_ORG_PERCENT: 80,
        SHARE_USER_PERCENT: 80,
        SHARE_IDENTITY_PERCENT: 80,
      }),
      component: 'gateway',
    }),
    announceDisconnect: (id: string) => void progressTexts.push(id),
    reportCall: (report: CallReport) => void reports.push(report),
    executors: {
      follow: () => ({
        untilSilent: () => new Promise(() => undefined),
        [Symbol.dispose]: () => undefined,
      }),
    },
    secondExecutions: createRepetitionBudget(),
    stopping: stopping.signal,
  } as unknown as CallDeps;
  const incoming: IncomingCall = {
    parse: () => ({
      kind: 'fresh',
      call: {
        kind: 'action',
        service: 'github',
        action: 'a',
        params: { body: 'CANARY-5' },
        filter: null,
      },
      options: { timeoutMs: 1_000, maxRisk: null, idempotencyKey: null },
    }),
    async authenticate() {
      if (authenticated.fails) throw new AppError('unauthenticated', 'x');
      return caller;
    },
    waitMs: 0,
    signal: () => disconnectController.signal,
    context,
  };
  return {
    deps: deps as CallDeps & { publisher: { publish: (event: Event) => Promise<void> } },
    calls,
    published: publishedEvents,
    listeners,
    gone: disconnectController,
    told: progressTexts,
    reports,
    stopping,
    authenticated,
    announce: (item: FeedItem | null) => listeners.forEach((listener) => listener(item)),
    perform: (given: Partial<IncomingCall> = {}) => performCall(deps, { ...incoming, ...given }),
  };
}

/**
 * Starts with a suspended call. `now` is the current state of its approval; null means that reading
 * the approval fails.
 */
function startSuspendedCall(first: object) {
  const row: { now: object | null } = { now: first };
  const stage = start({
    decide: () => gap,
    raise: () => ({ kind: 'pending', envelope: pendingAnswer }),
    get() {
      if (row.now === null) throw new AppError('unavailable', 'x');
      return row.now;
    },
    resume() {
      const { status } = row.now as { status: string };
      if (status === 'denied') return { kind: 'denied', reason: 'no', approvalId };
      return { kind: 'called', result, description: 'd', auditId };
    },
  });
  return {
    ...stage,
    row,
    become(next: object, type: 'approval.resolved' | 'execution.finished') {
      row.now = next;
      stage.announce(createFeedItem(claims, 1, { type, data: { approval_id: approvalId } }));
    },
    async reads(count: number) {
      const reads = () => stage.calls.filter((name) => name === 'get').length;
      await expect.poll(reads).toBeGreaterThanOrEqual(count);
    },
  };
}
