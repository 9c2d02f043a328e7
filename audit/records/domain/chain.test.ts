import { describe, expect, test } from 'vitest';

import { blankAuditEntry } from '#contracts/audit';
import { appendToChain, chainStart, checkChain } from './chain.ts';
import type { UnchainedRecord } from './chain.ts';

const createRecord = (n: number): UnchainedRecord => ({
  ...blankAuditEntry(`something happened, ${n}`),
  id: `0198c0de-0000-7000-8000-00000000000${n}`,
  org_id: '0198c0de-0000-7000-8000-0000000000ff',
  at: '2026-01-01T00:00:00.000Z',
  type: 'action.outcome',
  unread: null,
});
const chain = appendToChain(chainStart, [
  createRecord(1),
  createRecord(2),
  createRecord(3),
  createRecord(4),
]);

describe('an audit chain', () => {
  test('numbers records from one and links each to the previous one', () => {
    expect(chain.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    expect(chain.map(({ prev_hash }) => prev_hash)).toEqual([
      '0'.repeat(64),
      ...chain.slice(0, 3).map(({ hash }) => hash),
    ]);
  });

  test('gives the same result whether it is checked as a whole or in parts', () => {
    const head = { seq: 4, hash: chain[3]?.hash };
    expect(checkChain(chainStart, chain)).toEqual({ head });
    const first = checkChain(chainStart, chain.slice(0, 2));
    expect('head' in first && checkChain(first.head, chain.slice(2))).toEqual({ head });
  });

  test('keeps the hash of a record when null members are added to the record', () => {
    expect(chain[0]?.hash).toMatchInlineSnapshot(
      `"dcb31f7b79789ee61e1c900222f263521e64b3e02e52ebfccde1ed530a96ca50"`,
    );
    const [first] = chain;
    const recordOfLaterRelease = { ...first, added_later: null } as unknown as NonNullable<
      typeof first
    >;
    expect(checkChain(chainStart, [recordOfLaterRelease])).toEqual({
      head: { seq: 1, hash: first?.hash },
    });
  });

  test('includes new members of a record in the hash unless they are null', () => {
    const before = chain.slice(0, 3);
    const head = { seq: 3, hash: chain[2]?.hash ?? '' };
    const [called] = appendToChain(head, [
      { ...createRecord(4), call_id: createRecord(1).id, request_digest: 'a'.repeat(64), count: 7 },
    ]) as [(typeof chain)[number]];
    expect(called.hash).not.toBe(chain[3]?.hash);
    expect(checkChain(chainStart, [...before, called])).toEqual({
      head: { seq: 4, hash: called.hash },
    });
    for (const other of [{ call_id: createRecord(2).id }, { request_digest: null }, { count: 8 }]) {
      expect(checkChain(head, [{ ...called, ...other }])).toEqual({ firstBadSeq: 4 });
    }
  });

  test('is reported as broken at the first record that was changed, removed, swapped or inserted', () => {
    const [one, two, three, four] = chain as [
      (typeof chain)[number],
      (typeof chain)[number],
      (typeof chain)[number],
      (typeof chain)[number],
    ];
    const inserted = { ...two, seq: 3 };

    for (const [records, firstBadSeq] of [
      [[one, { ...two, description: 'nothing happened' }, three], 2],
      [[one, { ...two, approval_id: two.id }, three], 2],
      [[one, three, four], 2],
      [[two, three, four], 1],
      [[one, { ...three, seq: 2 }, { ...two, seq: 3 }, four], 2],
      [[one, two, inserted, { ...three, seq: 4 }], 3],
      [[one, two, three, { ...four, hash: three.hash }], 4],
    ] as const) {
      expect(checkChain(chainStart, records)).toEqual({ firstBadSeq });
    }
  });
});
