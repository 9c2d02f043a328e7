import { describe, expect, test } from 'vitest';

import { blankAuditEntry } from '#contracts/audit';
import type { AuditRecord } from '#contracts/audit';
import type { Usage } from '#contracts/http/audit';
import { eventLinesOf, lastCallsOf, outcomeCountsOf, outcomeOf } from './calls-view.ts';

test('the counts of outcomes are sums over all days, without outcomes that did not occur', () => {
  const items = [
    { bucket: '2026-11-23T00:00:00.000Z', key: 'denied', count: 1 },
    { bucket: '2026-11-23T00:00:00.000Z', key: 'called', count: 2 },
    { bucket: '2026-11-24T00:00:00.000Z', key: 'called', count: 40 },
    { bucket: '2026-11-24T00:00:00.000Z', key: 'of_a_later_release', count: 3 },
  ];

  expect(outcomeCountsOf({ items } as unknown as Usage)).toEqual([
    { words: 'went through', tone: 'good', count: 42 },
    { words: 'denied', tone: 'bad', count: 1 },
  ]);
});

const recordOf = (id: string, fields: Partial<AuditRecord>) =>
  ({ ...blankAuditEntry('Write a note'), id, at: id, ...fields }) as AuditRecord;

test('the activity has one line for each call, and one line for each other record', () => {
  const approved = { approval_id: 'a', call_id: 'c' };
  const records = [
    recordOf('7', { ...approved, type: 'execution.finished', outcome: 'called' }),
    recordOf('6', { ...approved, type: 'action.outcome', outcome: 'called' }),
    recordOf('5', { ...approved, type: 'action.intent', outcome: 'started' }),
    recordOf('4', { type: 'rule.created', approval_id: 'a' }),
    recordOf('3', { type: 'approval.raised', approval_id: 'a', outcome: 'pending_approval' }),
    recordOf('2', { type: 'action.intent', call_id: 'd', outcome: 'started' }),
    recordOf('1', { type: 'request.refused', outcome: 'refused' }),
  ];

  expect(
    eventLinesOf(records).map(({ key, record }) => [key, record.id, outcomeOf(record)?.words]),
  ).toEqual([
    ['a', '6', 'Done'],
    ['4', '4', undefined],
    ['d', '2', 'Started'],
    ['1', '1', 'Refused'],
  ]);
});

describe('the last calls', () => {
  test('are each listed once, as their latest record describes them', () => {
    const approved = { approval_id: 'a', call_id: 'c' };
    const records = [
      recordOf('6', { ...approved, type: 'execution.finished', outcome: 'called' }),
      recordOf('5', { ...approved, type: 'action.outcome', outcome: 'called' }),
      recordOf('4', { ...approved, type: 'action.intent', outcome: 'started' }),
      recordOf('3', { type: 'rule.created' }),
      recordOf('2', { type: 'approval.raised', approval_id: 'a', outcome: 'pending_approval' }),
      recordOf('1', { type: 'action.denied', outcome: 'denied', description: 'Denied: Read' }),
      recordOf('0', { type: 'action.refused', outcome: 'refused' }),
    ];

    expect(lastCallsOf(records, 2)).toMatchObject([
      { id: '5', words: 'Done', tone: 'good', href: '/approvals/a' },
      { id: '1', words: 'Denied', description: 'Read', href: null },
    ]);
  });

  test.for([
    [
      { outcome: 'called', failure: 'not_found' },
      { words: 'Failed there', tone: 'warning' },
    ],
    [{ outcome: 'failed' }, { words: 'Failed', isDecider: false }],
    [
      {
        type: 'approval.resolved',
        outcome: 'failed',
        error: 'expired',
        description: 'Expired undecided: X',
      },
      { words: 'Expired', description: 'X', isDecider: true },
    ],
    [{ outcome: 'outcome_unknown' }, { words: 'Outcome unknown', tone: 'bad' }],
  ] as const)('show a record with %j as %j', ([fields, shown]) => {
    const record = recordOf('1', { type: 'action.outcome', ...fields });

    expect(lastCallsOf([record], 10)).toMatchObject([shown]);
  });

  test('combine repeated calls into one with a count, except calls with an approval', () => {
    const read = { type: 'action.outcome', outcome: 'called', description: 'List notes' } as const;
    const asked = { ...read, approval_id: 'a' };
    const records = [
      recordOf('7', read),
      recordOf('6', read),
      recordOf('5', { ...read, failure: 'not_found' }),
      recordOf('4', read),
      recordOf('3', asked),
      recordOf('2', { ...asked, approval_id: 'b' }),
      recordOf('1', read),
      recordOf('0', read),
    ];

    const shown = lastCallsOf(records, 6).map(({ id, words }) => `${id} ${words}`);
    expect(shown).toEqual([
      '7 Done 2 times',
      '5 Failed there',
      '4 Done',
      '3 Done',
      '2 Done',
      '1 Done 2 times',
    ]);
    expect(lastCallsOf(records, 1)).toMatchObject([{ id: '7', words: 'Done 2 times' }]);
  });

  test('do not include changes of settings, even if they were refused', () => {
    const records = [
      recordOf('2', { type: 'identity.created', outcome: null }),
      recordOf('1', { type: 'request.refused', outcome: 'refused' }),
    ];
    expect(lastCallsOf(records, 10)).toEqual([]);
  });
});
