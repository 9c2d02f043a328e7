import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { AppError } from '#errors';
import { createTestEnvironment } from '../../test/support/environment.ts';
import type { TestEnvironment } from '../../test/support/environment.ts';
import { openDatabase } from './open.ts';
import type { Database, Transaction } from './open.ts';

/** Sessions end under statements and transactions (docs/reference/reliability.md#failure-modes). */
describe('a database whose sessions end', () => {
  let environment: TestEnvironment;
  let admin: pg.Client;
  let db: Database;

  beforeAll(async () => {
    environment = await createTestEnvironment();
    admin = new pg.Client({ connectionString: environment.adminUrl });
    await admin.connect();
    await admin.query('create table public.note (text text)');
    // One connection, so that every statement that finds a session finds this one's.
    db = openDatabase({ url: environment.adminUrl, schema: 'public', connectionsMax: 1 });
  });
  afterAll(async () => {
    await db[Symbol.asyncDispose]();
    await admin.end();
    await environment[Symbol.asyncDispose]();
  });
  beforeEach(() => admin.query('truncate public.note'));

  const notes = async () =>
    (await admin.query('select text from public.note order by 1')).rows.map(({ text }) => text);
  const note = (sql: Database | Transaction, text: string) =>
    sql`insert into public.note (text) values (${text})`;
  const endSession = async (tx: Transaction) => {
    const [session] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
    await admin.query('select pg_terminate_backend($1, 5000)', [session?.pid]);
  };
  const expectUnavailable = async (failing: Promise<unknown>) => {
    const thrown: unknown = await failing.then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(AppError.from(thrown).code).toBe('unavailable');
  };
  const untilReplaced = () => expect(db`select 1 as one`).resolves.toEqual([{ one: 1 }]);

  test('fails a transaction that goes on without its session, and serves the next', async () => {
    const gone = Promise.withResolvers<void>();
    const failing = db.transaction(async (tx) => {
      await note(tx, 'before');
      await endSession(tx);
      await note(tx, 'in between').catch(() => undefined);
      await note(tx, 'after').finally(gone.resolve);
    });
    await expectUnavailable(failing);
    await gone.promise;
    await untilReplaced();
    expect(await notes()).toEqual([]);
  });

  test('executes no later statement of it in the session that follows', async () => {
    const late = Promise.withResolvers<unknown>();
    const failing = db.transaction(async (tx) => {
      await note(tx, 'before');
      await endSession(tx);
      await untilReplaced();
      note(tx, 'after').then(late.resolve, late.reject);
    });
    await expectUnavailable(failing);
    await expectUnavailable(late.promise);
    expect(await notes()).toEqual([]);
  });

  test.each(['return', 'throw'])(
    'leaves another transaction alone when its work comes to a %s',
    async (end) => {
      const begun = Promise.withResolvers<void>();
      const ended = Promise.withResolvers<void>();
      const failing = db.transaction(async (tx) => {
        await endSession(tx);
        await begun.promise;
        setTimeout(ended.resolve, 50); // Later than what the end of this work could send.
        if (end === 'throw') throw new Error('in vain');
      });
      await expectUnavailable(failing);
      const other = db.transaction(async (tx) => {
        await note(tx, 'half');
        begun.resolve();
        await ended.promise;
        await note(tx, 'other half');
        if (end === 'return') throw new Error('taken back');
      });
      if (end === 'return') await expect(other).rejects.toThrow('taken back');
      else await other;
      expect(await notes()).toEqual(end === 'return' ? [] : ['half', 'other half']);
    },
  );

  test('connects again however often, whatever was about to be written', async () => {
    const asking = Array.from({ length: 8 }, async () => {
      for (let round = 0; round < 200; round += 1) await db`select 1`.catch(() => undefined);
    });
    for (let round = 0; round < 50; round += 1) {
      await admin.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where application_name = 'public' and datname = current_database()`,
      );
    }
    await Promise.all(asking);
    await untilReplaced();
  });
});
