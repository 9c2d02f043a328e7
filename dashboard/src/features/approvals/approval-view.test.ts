import { describe, expect, test } from 'vitest';

import type { Me } from '#contracts/http/identities';
import {
  cardWords,
  describeDecision,
  sortIntoQueue,
  isUnderWay,
  mayDecide,
  mayHandUp,
  findAdjacentId,
  progressOf,
  serviceOf,
  statusWordOf,
  toneOf,
  waitsToBeRun,
} from './approval-view.ts';
import { anApproval } from './fixtures.testing.ts';
import { spokenSentences } from './spoken-sentences.ts';

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

test('the queue lists the approvals that wait for this person before all others, each group oldest first', () => {
  const queue = sortIntoQueue(
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

test.each([
  ['a member above the requester', ann, {}, true],
  ['an auditor', { ...ann, role: 'auditor' } as Me, {}, false],
  ['the requester itself', ann, { relationship: 'self' as const }, false],
])('whether %s may decide an approval: $3', (_, me, differences, yes) => {
  expect(mayDecide(me, anApproval(differences)).isAllowed).toBe(yes);
});

test('an approval can be handed up while it waits for an agent, but not by the user at the top', () => {
  const withBot = anApproval({ resolver_id: 'bot', may_resolve: ['ann', 'bot'] });

  expect(mayHandUp(ann, withBot)).toBe(false);
  expect(mayHandUp({ ...ann, id: 'admin' }, withBot)).toBe(true);
  expect(mayHandUp({ ...ann, id: 'admin' }, anApproval())).toBe(false);
});

describe('an allowed call', () => {
  const allowedApproval = anApproval({ status: 'allowed', execution });

  test('is under way until its execution ends', () => {
    expect(isUnderWay(allowedApproval)).toBe(true);
    expect(
      isUnderWay({ ...allowedApproval, execution: { ...execution, status: 'executing' } }),
    ).toBe(true);
    expect(isUnderWay({ ...allowedApproval, execution: { ...execution, status: 'failed' } })).toBe(
      false,
    );
    expect(isUnderWay(anApproval({ status: 'denied' }))).toBe(false);
  });

  test('waits until the agent or a person runs it, but only without automatic replay', () => {
    expect(waitsToBeRun(allowedApproval)).toBe(false);
    expect(waitsToBeRun({ ...allowedApproval, auto_call_on_approve: false })).toBe(true);
  });
});

test('the text about a decision says who made the decision', () => {
  const by = (id: string) => ({ id, kind: 'user' as const, name: 'Ben', path: ['Ben'] });

  expect(describeDecision(anApproval({ status: 'denied', resolved_by: by('ben') }), 'ann')).toBe(
    'Denied by Ben',
  );
  expect(describeDecision(anApproval({ status: 'allowed', resolved_by: by('ann') }), 'ann')).toBe(
    'Allowed by you',
  );
  expect(describeDecision(anApproval({ status: 'denied', reason: 'cancelled' }), 'ann')).toBe(
    'Cancelled',
  );
  expect(describeDecision(anApproval({ status: 'expired' }), 'ann')).toBe('Expired undecided');
});

describe('the card of a call', () => {
  const endedApproval = (differences: object) =>
    anApproval({ status: 'allowed', execution: { ...execution, ...differences } });
  const unknownOutcome = { status: 'failed', error: { error: 'outcome_unknown', message: '' } };
  const failed = { status: 'failed', error: { error: 'approval_stale', message: '' } };

  test.for<[what: string, approval: ReturnType<typeof anApproval>, wants: string, does: string]>([
    ['waits', anApproval(), 'asks to', 'What it will do'],
    ['was handed up', anApproval({ status: 'bubbled' }), 'asks to', 'What it will do'],
    ['was allowed and is about to run', endedApproval({}), 'asked to', 'What it will do'],
    ['ran', endedApproval({ status: 'executed' }), 'asked to', 'What it did'],
    ['may have run', endedApproval(unknownOutcome), 'asked to', 'What it may have done'],
    ['failed', endedApproval(failed), 'asked to', 'What it would have done'],
    ['was stopped', endedApproval({ status: 'cancelled' }), 'asked to', 'What it would have done'],
    ['was denied', anApproval({ status: 'denied' }), 'asked to', 'What it would have done'],
    ['expired undecided', anApproval({ status: 'expired' }), 'asked to', 'What it would have done'],
  ])('has the words "$2" and the heading "$3" if the call %s', ([, approval, wants, does]) => {
    expect(cardWords[progressOf(approval)]).toMatchObject({ wants, does });
  });

  test.for<[differences: object, expected: string | undefined]>([
    [{ status: 'pending' }, undefined],
    [{ status: 'executing' }, undefined],
    [{ status: 'executed', http_status_code: 201 }, 'The call ran: github answered 201.'],
    [{ status: 'executed' }, 'The call ran: github answered.'],
    [{ status: 'executed', http_status_code: 404 }, 'The call failed at github.'],
    [unknownOutcome, 'It is not known whether the call happened.'],
    [failed, 'The call failed; nothing was changed.'],
    [{ status: 'cancelled' }, 'The call was stopped before it ran.'],
    [{ status: 'expired' }, 'The call was not run in time.'],
  ])('with the execution %j announces to screen readers: %s', ([differences, expected]) => {
    expect(spokenSentences['execution.finished'].onCard(endedApproval(differences))).toBe(expected);
  });
});

test('a call that the service refused is shown as failed there, even if its HTTP status is 200', () => {
  const failure = { kind: 'not_found' as const, message: 'channel_not_found' };
  const result = { status_code: 200, headers: {}, body: null, duration_ms: 1, failure };
  const shownApproval = anApproval({
    status: 'allowed',
    execution: { ...execution, status: 'executed', http_status_code: 200, result },
  });

  expect(statusWordOf(shownApproval)).toBe('Failed there');
  expect(toneOf(shownApproval)).toBe('warning');
  expect(spokenSentences['execution.finished'].onCard(shownApproval)).toBe(
    'The call failed at github: channel_not_found.',
  );
  const refusedExecution = { ...execution, status: 'executed' as const, http_status_code: 422 };
  expect(statusWordOf(anApproval({ status: 'allowed', execution: refusedExecution }))).toBe(
    'Failed there',
  );
});

test('a call whose outcome is unknown is not shown as failed', () => {
  const failed = (error: string) =>
    statusWordOf(
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
] as const)(
  'in the queue a, b, c with %s selected, a step of $1 selects $2',
  (current, step, expected) => {
    expect(findAdjacentId(['a', 'b', 'c'], current, step)).toBe(expected);
  },
);

test.for([
  ['its title alone when it is called like its template', {}, 'GitHub'],
  ['its name too when it is called differently', { service: 'org/github' }, 'GitHub (org/github)'],
  ['its name when the title is not verified', { service_title: undefined }, 'github'],
] as const)('the card calls a service by %s', ([, differences, words]) => {
  const approval = anApproval({ service_title: 'GitHub', ...differences });
  expect(serviceOf(approval)).toBe(words);
});
