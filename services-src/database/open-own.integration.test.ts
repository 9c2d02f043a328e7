import { describe, expect, inject, test } from 'vitest';

import { openOwnDatabase } from './open-own.ts';

describe('a component that starts', () => {
  const open = async (settings: { DATABASE_CONNECTIONS_MAX: number; pooler?: 'on' | 'off' }) => {
    const warnings: unknown[] = [];
    const { pooler = 'off', DATABASE_CONNECTIONS_MAX } = settings;
    await using _db = await openOwnDatabase(
      {
        DATABASE_URL: inject('adminUrl'),
        DATABASE_CONNECTIONS_MAX,
        DATABASE_POOLER: pooler,
        SERVERS_CA_FILE: undefined,
      },
      { schema: 'auth', logger: { warn: (...words: unknown[]) => void warnings.push(words) } },
    );
    return warnings;
  };

  test('warns when one replica of each component would open more connections than Postgres has', async () => {
    // The Postgres of the tests has 400, of which three are for superusers.
    expect(await open({ DATABASE_CONNECTIONS_MAX: 55 })).toEqual([]);
    expect(await open({ DATABASE_CONNECTIONS_MAX: 56 })).toEqual([
      [{ needed: 7 * 57, room: 397 }, 'Postgres has fewer connections than the components open'],
    ]);
  });

  test('is refused behind a pooler when its role lacks the session settings', async () => {
    await expect(open({ DATABASE_CONNECTIONS_MAX: 2, pooler: 'on' })).rejects.toThrow(
      "alter role postgres in database postgres set search_path = 'auth'",
    );
  });
});
