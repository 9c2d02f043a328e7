import { expect, test } from 'vitest';

import { blankAuditEntry } from '#contracts/audit';
import type { AuditRecord } from '#contracts/audit';
import { factsOf, newFactsOf } from './record-facts.ts';

const record = (fields: Partial<AuditRecord>) =>
  ({
    ...blankAuditEntry('Create issue'),
    type: 'action.outcome',
    seq: 7,
    hash: 'abc',
    unread: null,
    ...fields,
  }) as AuditRecord;

test('the facts of a record are everything that it contains, without empty fields', () => {
  const facts = factsOf(
    record({
      identity: { id: 'i', kind: 'agent', name: 'bot', path: ['mia', 'bot'] },
      disclosed: [{ label: 'Title', value: 'Broken', truncated: true }],
      decision: {
        by: 'rule',
        rule_id: 'r',
        approval_id: null,
        allowed_by: [{ rule_id: 'r', pattern: 'github:*:*' }],
      },
      http_status: 201,
      duration_ms: 1234,
    }),
  );

  expect(facts.map(({ label, value }) => [label, value])).toEqual([
    ['Who', 'mia › bot'],
    ['Title', 'Broken… (cut)'],
    ['Allowed by', 'a permission'],
    ['Permission', 'github:*:*'],
    ['HTTP status', '201'],
    ['Took', '1.2 s'],
    ['Type', 'action.outcome'],
    ['Number in the log', '7'],
    ['Hash', 'abc'],
  ]);
});

test('a record does not repeat facts of the records before it', () => {
  const same = { service: 'github', hash: 'abc' };
  const [, second] = newFactsOf([record(same), record({ ...same, seq: 8, error: 'expired' })]);

  expect(second?.map(({ label }) => label)).toEqual(['Error', 'Number in the log']);
});
