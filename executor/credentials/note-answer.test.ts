import { expect, test } from 'vitest';

import { blankAuditEntry } from '#contracts/audit';
import type { FailureKind } from '#contracts/failure';
import { noteAnswer } from './note-answer.ts';

/** A database that records each attempt to use it and lets the attempt fail. */
function createFailingDatabase() {
  const uses: unknown[] = [];
  const transaction = (work: unknown) => {
    uses.push(work);
    return Promise.reject(new Error('there is no database here'));
  };
  const warnings: unknown[] = [];
  const deps = {
    db: { transaction },
    vault: { forget: () => undefined },
    logger: { warn: (fields: unknown) => void warnings.push(fields) },
  } as unknown as Parameters<typeof noteAnswer>[0];
  return { deps, uses, warnings };
}

const answeredCallOf = (refusedVersion: number | null, failure?: FailureKind) => ({
  orgId: 'org',
  credentials: [{ kind: 'secret' as const, id: 'id', name: 'token', version: 2, refusedVersion }],
  failure: failure && { kind: failure },
  entry: blankAuditEntry('Read'),
});

test.each<[string, number | null, FailureKind | undefined]>([
  ['succeeds with a credential that is not marked', null, undefined],
  ['is refused with a credential that is marked', 2, 'credential_refused'],
  ['fails for another reason', null, 'forbidden'],
  ['fails for another reason with a credential that is marked', 2, 'failed'],
])('a call that %s does not use the database', async (_what, refusedVersion, failure) => {
  const { deps, uses } = createFailingDatabase();
  await noteAnswer(deps, answeredCallOf(refusedVersion, failure));
  expect(uses).toEqual([]);
});

test.each<[string, number | null, FailureKind | undefined]>([
  ['succeeds with a credential that is marked', 2, undefined],
  ['succeeds with a version after the marked one', 1, undefined],
  ['is refused with a credential that is not marked', null, 'credential_refused'],
  ['is refused with a version after the marked one', 1, 'credential_refused'],
])(
  'a call that %s uses the database once, and succeeds although the database fails',
  async (_what, refusedVersion, failure) => {
    const { deps, uses, warnings } = createFailingDatabase();
    await noteAnswer(deps, answeredCallOf(refusedVersion, failure));
    expect(uses).toHaveLength(1);
    expect(warnings).toHaveLength(1);
  },
);
