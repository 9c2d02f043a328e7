import { describe, expect, test } from 'vitest';

import type { Me } from '#contracts/http/identities';
import {
  cardWords,
  decidedFirst,
  decisionText,
  endSentence,
  inQueueOrder,
  isUnderWay,
  mayDecide,
  mayHandUp,
  neighbour,
  progressOf,
  statusWord,
  waitsToBeRun,
} from './approval-view.ts';
import { anApproval } from './fixtures.testing.ts';

const ann = { id: 'ann', role: 'member' } as Me;
const execution = {
  id: 'execution',
  status: 'pending' as const,
  runtime: 'http' as const,
  triggered_by: null,
  created_at: '2026-05-01T10:00:00.000Z',
  started_at: null,
  finished_at: null,
  expires_at: '2026-05-01T10:15:00.000Z',
};

test('the queue has what waits for me first, and what waited longest before the rest', () => {
  const queue = inQueueOrder(
    [
      anApproval({ id: 'new', created_at: '2026-05-01T12:00:00.000Z' }),
      anApproval({ id: 'bot', resolver_id: 'bot', created_at: '2026-05-01T09:00:00.000Z' }),
      anApproval({ id: 'old', status: 'bubbled', created_at: '2026-05-01T10:00:00.000Z' }),
      anApproval({ id: 'done', status: 'denied' }),
    ],
    'ann',
  );

  expect(queue.mine.map(({ id }) => id)).toEqual(['old', 'new']);
  expect(queue.others.map(({ id }) => id)).toEqual(['bot']);
});

test('decided ones stand latest decision first, expired ones by their end', () => {
  const decided = decidedFirst([
    anApproval({ id: 'open' }),
    anApproval({ id: 'early', status: 'allowed', resolved_at: '2026-05-01T10:00:00.000Z' }),
    anApproval({ id: 'expired', status: 'expired', expires_at: '2026-05-01T11:00:00.000Z' }),
    anApproval({ id: 'late', status: 'denied', resolved_at: '2026-05-01T12:00:00.000Z' }),
  ]);

  expect(decided.map(({ id }) => id)).toEqual(['late', 'expired', 'early']);
});

test.each([
  ['a member above the requester', ann, {}, true],
  ['an auditor', { ...ann, role: 'auditor' } as Me, {}, false],
  ['the requester itself', ann, { relationship: 'self' as const }, false],
])('%s may decide: %#', (_, me, differences, yes) => {
  expect(mayDecide(me, anApproval(differences)).yes).toBe(yes);
});

test('only who is not the user at the top can hand up, and only what is not there yet', () => {
  const withBot = anApproval({ resolver_id: 'bot', may_resolve: ['ann', 'bot'] });

  expect(mayHandUp(ann, withBot)).toBe(false);
  expect(mayHandUp({ ...ann, id: 'admin' }, withBot)).toBe(true);
  expect(mayHandUp({ ...ann, id: 'admin' }, anApproval())).toBe(false);
});

describe('an allowed call', () => {
  const allowed = anApproval({ status: 'allowed', execution });

  test('is under way until its execution ends', () => {
    expect(isUnderWay(allowed)).toBe(true);
    expect(isUnderWay({ ...allowed, execution: { ...execution, status: 'executing' } })).toBe(true);
    expect(isUnderWay({ ...allowed, execution: { ...execution, status: 'failed' } })).toBe(false);
    expect(isUnderWay(anApproval({ status: 'denied' }))).toBe(false);
  });

  test('waits for somebody only without automatic replay', () => {
    expect(waitsToBeRun(allowed)).toBe(false);
    expect(waitsToBeRun({ ...allowed, auto_call_on_approve: false })).toBe(true);
  });
});

test('a decision says who made it', () => {
  const by = (id: string) => ({ id, kind: 'user' as const, name: 'Ben', path: ['Ben'] });

  expect(decisionText(anApproval({ status: 'denied', resolved_by: by('ben') }), 'ann')).toBe(
    'Denied by Ben',
  );
  expect(decisionText(anApproval({ status: 'allowed', resolved_by: by('ann') }), 'ann')).toBe(
    'Allowed by you',
  );
  expect(decisionText(anApproval({ status: 'denied', reason: 'cancelled' }), 'ann')).toBe(
    'Cancelled',
  );
  expect(decisionText(anApproval({ status: 'expired' }), 'ann')).toBe('Expired undecided');
});

describe('a card speaks of a call', () => {
  const ended = (differences: object) =>
    anApproval({ status: 'allowed', execution: { ...execution, ...differences } });
  const unknown = { status: 'failed', error: { error: 'outcome_unknown', message: '' } };
  const failed = { status: 'failed', error: { error: 'approval_stale', message: '' } };

  test.for<[what: string, approval: ReturnType<typeof anApproval>, wants: string, does: string]>([
    ['that waits', anApproval(), 'asks to', 'What it will do'],
    ['handed up', anApproval({ status: 'bubbled' }), 'asks to', 'What it will do'],
    ['allowed and about to run', ended({}), 'asked to', 'What it will do'],
    ['that ran', ended({ status: 'executed' }), 'asked to', 'What it did'],
    ['that may have run', ended(unknown), 'asked to', 'What it may have done'],
    ['that failed', ended(failed), 'asked to', 'What it would have done'],
    ['that was stopped', ended({ status: 'cancelled' }), 'asked to', 'What it would have done'],
    ['denied', anApproval({ status: 'denied' }), 'asked to', 'What it would have done'],
    ['expired', anApproval({ status: 'expired' }), 'asked to', 'What it would have done'],
  ])('%s in its tense', ([, approval, wants, does]) => {
    expect(cardWords[progressOf(approval)]).toMatchObject({ wants, does });
  });

  test.for<[differences: object, expected: string | undefined]>([
    [{ status: 'pending' }, undefined],
    [{ status: 'executing' }, undefined],
    [{ status: 'executed', http_status_code: 201 }, 'The call ran: github answered 201.'],
    [{ status: 'executed' }, 'The call ran: github answered.'],
    [unknown, 'It is not known whether the call happened.'],
    [failed, 'The call failed; nothing was changed.'],
    [{ status: 'cancelled' }, 'The call was stopped before it ran.'],
    [{ status: 'expired' }, 'The call was not run in time.'],
  ])('%j, and at its end reads out: %s', ([differences, expected]) => {
    expect(endSentence(ended(differences))).toBe(expected);
  });
});

test('an unknown outcome is never called a failure', () => {
  const failed = (error: string) =>
    statusWord(
      anApproval({
        status: 'allowed',
        execution: { ...execution, status: 'failed', error: { error, message: '' } },
      }),
    );

  expect(failed('outcome_unknown')).toBe('Outcome unknown');
  expect(failed('approval_stale')).toBe('Failed');
});

test.each([
  ['b', 1, 'c'],
  ['b', -1, 'a'],
  ['c', 1, undefined],
  ['a', -1, undefined],
  [undefined, 1, 'a'],
  ['gone', 1, 'a'],
] as const)('after %s, step %d is %s', (current, step, expected) => {
  expect(neighbour(['a', 'b', 'c'], current, step)).toBe(expected);
});
