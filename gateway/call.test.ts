import { randomUUID } from 'node:crypto';

import pino from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';

import type { PendingApproval } from '#contracts/http/approvals';
import type { Event, FeedItem } from '#contracts/events';
import { AppError } from '#errors';
import { callerLevels, createAuditShare } from '#shares';
import { performCall } from './call.ts';
import type { CallDeps, IncomingCall } from './call.ts';
import { agent, feedItemOf } from './principals.testing.ts';
import { openRefusals } from './refusals.ts';

const claims = agent();
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
const envelope = { status: 'pending_approval', approval_id: approvalId } as PendingApproval;

describe('a permitted call', () => {
  test('is executed with the permit and answered with its description and audit id', async () => {
    const stage = start({ decide: () => permit, execute: () => called });

    expect(await stage.perform()).toEqual({
      kind: 'called',
      result,
      auditId,
      description: summary.description,
    });
    expect(stage.calls).toEqual(['decide', 'execute']);
    expect(stage.published).toEqual([]);
  });

  test.for([
    ['is full', { busy: true }],
    ['is not there', { lost: false }],
  ] as const)(
    'is asked for again, at most three times, while an executor %s',
    async ([, details]) => {
      const refusal = new AppError('unavailable', 'x', {
        details: { component: 'executor', ...details },
      });
      let left = 3;
      const stage = start({
        decide: () => permit,
        execute() {
          left -= 1;
          if (left >= 0) throw refusal;
          return called;
        },
      });
      expect((await stage.perform()).kind).toBe('called');

      const asked: unknown[] = [];
      const full = start({
        decide: () => permit,
        execute(request) {
          asked.push(request);
          throw refusal;
        },
      });
      await expect(full.perform()).rejects.toMatchObject({ code: 'unavailable' });
      // Others are looked for first; then it may wait with those that it finds.
      expect(asked).toMatchObject([false, false, true, true].map((mayWait) => ({ mayWait })));
    },
  );

  test('for which no executor has room because of others of the same caller is rate_limited, and may be made again', async () => {
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
    ['a lost answer', lost()],
    ['an answer nobody can read', new SyntaxError('Unexpected end of JSON input')],
    ['an error the executor never answers on purpose', new AppError('internal', 'x')],
  ])(
    'that is no read and ends in %s is outcome_unknown, and not asked again',
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
      // So that what the answer names is in the log, whatever becomes of the executor's record.
      expect(stage.published).toMatchObject([
        { type: 'action.unanswered', audit: { outcome: 'outcome_unknown', call_id: auditId } },
      ]);
    },
  );

  test('that is a read and whose answer is lost may be tried again', async () => {
    const stage = start({
      decide: () => ({ ...permit, nonRead: false, risk: 'read' }),
      execute() {
        throw lost();
      },
    });

    await expect(stage.perform()).rejects.toMatchObject({ code: 'unavailable' });
    expect(stage.calls.filter((name) => name === 'execute')).toHaveLength(1);
  });

  test.for([
    ['a read', { nonRead: false, risk: 'read' as const }, [auditId]],
    ['what may have effects', {}, []],
  ] as const)(
    'that is %s: executors are told accordingly when its client has gone',
    async ([, parts, told]) => {
      const { promise: answered, resolve: answer } = Promise.withResolvers<unknown>();
      const stage = start({ decide: () => ({ ...permit, ...parts }), execute: () => answered });
      const done = stage.perform();
      await expect.poll(() => stage.calls).toContain('execute');
      stage.gone.abort();
      expect(stage.told).toEqual(told);

      answer(called);
      expect((await done).kind).toBe('called');
    },
  );

  test('that is a read is not asked for again when its client has gone, and nobody is told once it has ended', async () => {
    const read = { ...permit, nonRead: false, risk: 'read' as const };
    const details = { component: 'executor', busy: true };
    const full = start({
      decide: () => read,
      execute() {
        full.gone.abort();
        throw new AppError('unavailable', 'x', { details });
      },
    });
    await expect(full.perform()).rejects.toMatchObject({ code: 'unavailable' });
    expect(full.calls.filter((name) => name === 'execute')).toHaveLength(1);

    const ended = start({ decide: () => read, execute: () => called });
    await ended.perform();
    ended.gone.abort();
    expect(ended.told).toEqual([]);
  });

  test('keeps the errors the executor answers on purpose', async () => {
    const stage = start({
      decide: () => permit,
      execute() {
        throw new AppError('credential_missing', 'x', { details: { secret: 'github_token' } });
      },
    });

    await expect(stage.perform()).rejects.toMatchObject({ code: 'credential_missing' });
  });

  test('whose idempotency key is that of a suspended one answers with its present state', async () => {
    const stage = start({
      decide: () => permit,
      execute: () => ({ kind: 'suspended', approvalId }),
      resume: () => ({ kind: 'pending', envelope }),
    });

    expect(await stage.perform()).toEqual({ kind: 'pending', envelope });
  });
});

describe('a denied call', () => {
  test('is refused before it is decided once its caller has filled the audit log enough', async () => {
    const description = 'x'.repeat(2_000);
    const stage = start(
      { decide: () => ({ outcome: 'denied', reason: 'no', ...summary, description }) },
      { auditBytesPerMinute: 100_000 },
    );
    for (let n = 0; n < 15; n += 1) expect((await stage.perform()).kind).toBe('denied');
    const rest = Array.from({ length: 10 }, () => stage.perform());
    await Promise.allSettled(rest);

    await expect(stage.perform()).rejects.toMatchObject({
      code: 'rate_limited',
      details: { retry_after: 30 },
    });
    expect(stage.calls.length).toBe(stage.published.length);
    expect(stage.published.length).toBeLessThan(26);
  });

  test('is a result, and recorded before it is answered', async () => {
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

  test('that cannot be recorded is unavailable', async () => {
    const stage = start({ decide: () => ({ outcome: 'denied', reason: 'no', ...summary }) });
    stage.deps.publisher.publish = () => Promise.reject(new AppError('unavailable', 'x'));

    await expect(stage.perform()).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('by an approval of minutes ago names it', async () => {
    const stage = start({
      decide: () => gap,
      raise: () => ({ kind: 'denied', reason: 'no', approvalId }),
    });

    expect(await stage.perform()).toMatchObject({ kind: 'denied', approvalId });
    expect(stage.published).toMatchObject([{ audit: { approval_id: approvalId } }]);
  });
});

describe('a refused call', () => {
  test('is recorded with its code', async () => {
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

  test('when its approval cannot be raised is recorded with what was decided', async () => {
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
    'by the executor with %s, before it recorded anything, is recorded with what was decided',
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

  test('that the executor recorded is not recorded again', async () => {
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
    '%s is no refusal and leaves no record',
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
  test('answers with its envelope at once when nobody waits', async () => {
    const stage = start({ decide: () => gap, raise: () => ({ kind: 'pending', envelope }) });

    expect(await stage.perform()).toEqual({ kind: 'pending', envelope });
    expect(stage.calls).toEqual(['decide', 'raise']);
  });

  test('waits until it was allowed and replayed', async () => {
    const stage = suspended(approval('pending'));
    const outcome = stage.perform({ waitMs: 60_000 });
    await stage.reads(1);

    stage.become(approval('allowed', { status: 'pending' }), 'approval.resolved');
    await stage.reads(2);
    stage.become(approval('allowed', { status: 'executed' }), 'execution.finished');

    expect(await outcome).toMatchObject({ kind: 'called', result });
  });

  test('misses no decision that falls before the row is read', async () => {
    const stage = suspended(approval('allowed', { status: 'executed' }));

    expect(await stage.perform({ waitMs: 60_000 })).toMatchObject({ kind: 'called' });
    expect(stage.calls).toEqual(['decide', 'raise', 'get', 'resume']);
  });

  test('without auto-call ends its wait when it is allowed, and is not run', async () => {
    const stage = suspended({
      ...approval('allowed', { status: 'pending' }),
      auto_call_on_approve: false,
    });

    expect(await stage.perform({ waitMs: 60_000 })).toMatchObject({ kind: 'pending' });
    expect(stage.calls).not.toContain('resume');
  });

  test('is not woken by the events of others', async () => {
    const stage = suspended(approval('pending'));
    const outcome = stage.perform({ waitMs: 60_000 });
    await stage.reads(1);

    stage.announce(
      feedItemOf(claims, 1, { type: 'approval.resolved', data: { approval_id: 'x' } }),
    );
    stage.announce(
      feedItemOf(claims, 2, { type: 'rule.created', data: { approval_id: approvalId } }),
    );
    await new Promise((resolve) => setImmediate(resolve));

    expect(stage.calls.filter((name) => name === 'get')).toHaveLength(1);
    stage.gone.abort();
    expect(await outcome).toMatchObject({ kind: 'pending' });
  });

  test('reads again when the feed may have lost something', async () => {
    const stage = suspended(approval('pending'));
    const outcome = stage.perform({ waitMs: 60_000 });
    await stage.reads(1);

    stage.row.now = approval('denied');
    stage.announce(null);

    expect(await outcome).toMatchObject({ kind: 'denied' });
  });

  test('keeps waiting while approvals does not answer', async () => {
    const stage = suspended(approval('pending'));
    stage.row.now = null;
    const outcome = stage.perform({ waitMs: 60_000 });
    await stage.reads(1);

    stage.become(approval('allowed', { status: 'executed' }), 'execution.finished');

    expect(await outcome).toMatchObject({ kind: 'called' });
  });

  test.for<[name: string, end: (stage: ReturnType<typeof suspended>) => void]>([
    ['the client is gone', (stage) => stage.gone.abort()],
    ['the gateway stops', (stage) => stage.stopping.abort()],
  ])('answers what it knows when %s', async ([, end]) => {
    const stage = suspended(approval('pending'));
    const outcome = stage.perform({ waitMs: 60_000 });
    await stage.reads(1);

    end(stage);

    expect(await outcome).toMatchObject({ kind: 'pending' });
    expect(stage.listeners.size).toBe(0);
  });

  test('asks who calls again before each look: a principal lives for seconds', async () => {
    const stage = suspended(approval('pending'));
    const outcome = stage.perform({ waitMs: 60_000 });
    await stage.reads(1);
    stage.authenticated.fails = true;

    stage.become(approval('allowed', { status: 'executed' }), 'execution.finished');

    await expect(outcome).rejects.toMatchObject({ code: 'unauthenticated' });
  });
});

describe('a resume by approval_id', () => {
  test('asks approvals alone', async () => {
    const stage = start({ resume: () => ({ kind: 'pending', envelope }) });

    expect(await stage.perform({ parse: () => ({ kind: 'resume', approvalId }) })).toEqual({
      kind: 'pending',
      envelope,
    });
    expect(stage.calls).toEqual(['resume']);
  });
});

describe('a resume of an approval', () => {
  const parse = () => ({ kind: 'resume' as const, approvalId });

  test('of somebody else is recorded', async () => {
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

  test('whose call has failed is told so, and leaves no record', async () => {
    const stage = start({
      resume() {
        throw new AppError('approval_stale', 'x');
      },
    });

    await expect(stage.perform({ parse })).rejects.toMatchObject({ code: 'approval_stale' });
    expect(stage.published).toEqual([]);
  });
});

function lost(): AppError {
  return new AppError('unavailable', 'x', { details: { component: 'executor', lost: true } });
}

function approval(status: string, execution?: { status: string }) {
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

/** The neighbours of the five layers, answering what a test says. */
function start(answers: Answers, { auditBytesPerMinute = 0 } = {}) {
  const calls: string[] = [];
  const published: Event[] = [];
  const listeners = new Set<(item: FeedItem | null) => void>();
  const gone = new AbortController();
  const told: string[] = [];
  const stopping = new AbortController();
  const authenticated = { fails: false };
  const endpoint = (name: keyof Answers) => async (request: unknown) => {
    calls.push(name);
    return answers[name]?.(request);
  };
  const logger = pino({ enabled: false });
  const publisher = { publish: async (event: Event) => void published.push(event) };
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
    announceDisconnect: (id: string) => void told.push(id),
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
    signal: () => gone.signal,
    context,
  };
  return {
    deps: deps as CallDeps & { publisher: { publish: (event: Event) => Promise<void> } },
    calls,
    published,
    listeners,
    gone,
    told,
    stopping,
    authenticated,
    announce: (item: FeedItem | null) => listeners.forEach((listener) => listener(item)),
    perform: (given: Partial<IncomingCall> = {}) => performCall(deps, { ...incoming, ...given }),
  };
}

/** A call that is suspended, and whose approval is `now`; null while it cannot be read. */
function suspended(first: object) {
  const row: { now: object | null } = { now: first };
  const stage = start({
    decide: () => gap,
    raise: () => ({ kind: 'pending', envelope }),
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
      stage.announce(feedItemOf(claims, 1, { type, data: { approval_id: approvalId } }));
    },
    async reads(count: number) {
      const reads = () => stage.calls.filter((name) => name === 'get').length;
      await expect.poll(reads).toBeGreaterThanOrEqual(count);
    },
  };
}
