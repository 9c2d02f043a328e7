import { expect, test } from 'vitest';

import { refusedCredentialsOf } from './credentials.ts';
import type { ExistingCredentials } from './credentials.ts';

const refusedAt = '2026-01-02T03:04:05.000Z';

function createExisting(refused: readonly string[]): ExistingCredentials {
  const names = ['token', 'org/app', 'other'];
  const createState = (reference: string) => ({
    reference,
    allowedHosts: [],
    refusedAt: refused.includes(reference) ? refusedAt : null,
  });
  return {
    secrets: new Map(names.map((name) => [name, createState(name)])),
    connections: new Map([
      [
        'notes',
        { ...createState('notes'), provider: 'acme', actsAs: null, status: 'active', authUrl: '' },
      ],
    ]),
  };
}

const service = { secrets: { key: 'token', app: 'org/app', again: 'token' }, connection: 'notes' };

test('a service names each refused credential that it uses, once', () => {
  expect(refusedCredentialsOf(service, createExisting(['token', 'other', 'notes']))).toEqual([
    { kind: 'secret', name: 'token', refused_at: refusedAt },
    { kind: 'connection', name: 'notes', refused_at: refusedAt },
  ]);
});

test('a service names no credential that is missing, accepted or not its own', () => {
  expect(refusedCredentialsOf(service, createExisting(['other']))).toEqual([]);
  const unknownCredentials = { secrets: { key: 'absent' }, connection: 'absent' };
  expect(refusedCredentialsOf(unknownCredentials, createExisting(['token', 'notes']))).toEqual([]);
  const other = { secrets: { key: 'token' }, connection: null };
  expect(refusedCredentialsOf(other, createExisting(['notes']))).toEqual([]);
});
