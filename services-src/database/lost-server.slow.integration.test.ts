import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { AppError } from '#errors';
import { createTestEnvironment } from '../../test/support/environment.ts';
import type { TestEnvironment } from '../../test/support/environment.ts';
import { openDatabase } from './open.ts';
import type { Database, Transaction } from './open.ts';

/** Sessions end while statements and transactions are running (docs/reference/reliability.md#failure-modes). */
describe('a database client whose sessions end', () => {
  let environment: TestEnvironment;
  let admin: pg.Client;
  let db: Database;

  beforeAll(async () => {
    environment = await createTestEnvironment();
    admin = new pg.Client({ connectionString: environment.adminUrl });
    await admin.connect();
    await admin.query('create table public.note (text text)');
    // One connection, so that all statements share its session.
    db = openDatabase({ url: environment.adminUrl, schema: 'public', connectionsMax: 1 });
  });
  afterAll(async () => {
    await db[Symbol.asyncDispose]();
    await admin.end();
    await environment[Symbol.asyncDispose]();
  });
  beforeEach(() => admin.query('truncate public.note'));

  const listNotes = async () =>
    (await admin.query('select text from public.note order by 1')).rows.map(({ text }) => text);
  const insertNote = (sql: Database | Transaction, text: string) =>
    sql`insert into public.note (text) values (${text})`;
  const endSession = async (tx: Transaction) => {
    const [session] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
    await admin.query('select pg_terminate_backend($1, 60000)', [session?.pid]);
  };
  const expectUnavailable = async (failingWork: Promise<unknown>) => {
    const thrown: unknown = await failingWork.then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(AppError.from(thrown).code).toBe('unavailable');
  };
  const expectNewSession = () => expect(db`select 1 as one`).resolves.toEqual([{ one: 1 }]);

  test('fails a transaction that continues after its session ended, and runs the next transaction', async () => {
    const sessionGone = Promise.withResolvers<void>();
    const failingWork = db.transaction(async (tx) => {
      await insertNote(tx, 'before');
      await endSession(tx);
      await insertNote(tx, 'in between').catch(() => undefined);
      await insertNote(tx, 'after').finally(sessionGone.resolve);
    });
    await expectUnavailable(failingWork);
    await sessionGone.promise;
    await expectNewSession();
    expect(await listNotes()).toEqual([]);
  });

  test('never runs a remaining statement of a lost transaction in the next session', async () => {
    const lateAnswer = Promise.withResolvers<unknown>();
    const failingWork = db.transaction(async (tx) => {
      await insertNote(tx, 'before');
      await endSession(tx);
      await expectNewSession();
      insertNote(tx, 'after').then(lateAnswer.resolve, lateAnswer.reject);
    });
    await expectUnavailable(failingWork);
    await expectUnavailable(lateAnswer.promise);
    expect(await listNotes()).toEqual([]);
  });

  test.each(['return', 'throw'])(
    'does not disturb a second transaction when the callback of a lost transaction ends by %s',
    async (callbackOutcome) => {
      const transactionBegun = Promise.withResolvers<void>();
      const endedSignal = Promise.withResolvers<void>();
      const failingWork = db.transaction(async (tx) => {
        await endSession(tx);
        await transactionBegun.promise;
        setTimeout(endedSignal.resolve, 50); // Later than any statement that the end of the transaction's callback could send.
        if (callbackOutcome === 'throw') throw new Error('in vain');
      });
      await expectUnavailable(failingWork);
      const otherTransaction = db.transaction(async (tx) => {
        await insertNote(tx, 'half');
        transactionBegun.resolve();
        await endedSignal.promise;
        await insertNote(tx, 'other half');
        if (callbackOutcome === 'return') throw new Error('taken back');
      });
      if (callbackOutcome === 'return')
        await expect(otherTransaction).rejects.toThrow('taken back');
      else await otherTransaction;
      expect(await listNotes()).toEqual(callbackOutcome === 'return' ? [] : ['half', 'other half']);
    },
  );

  test('connects again after every lost session, even with statements waiting to be written', async () => {
    const pendingQueries = Array.from({ length: 8 }, async () => {
      for (let round = 0; round < 200; round += 1) await db`select 1`.catch(() => undefined);
    });
    for (let round = 0; round < 50; round += 1) {
      await admin.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where application_name = 'public' and datname = current_database()`,
      );
    }
    await Promise.all(pendingQueries);
    await expectNewSession();
  });

  test('says that a transaction may have been committed when the answer to its commit is lost', async () => {
    await admin.query(`
      create function public.end_session() returns trigger language plpgsql as
        $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$;
      create constraint trigger ended after insert on public.note deferrable initially deferred
        for each row execute function public.end_session()`);
    const failingWork = db.transaction((tx) => insertNote(tx, 'perhaps'));
    await expect(failingWork).rejects.toMatchObject({
      code: 'unavailable',
      details: { lost: true },
    });
    await admin.query('drop trigger ended on public.note');
    await expectNewSession();
  });

  test('keeps the error of a commit that the server refused', async () => {
    await admin.query('create table public.once (text text unique deferrable initially deferred)');
    const failingWork = db.transaction(async (tx) => {
      await tx`insert into public.once (text) values ('twice'), ('twice')`;
    });
    await expect(failingWork).rejects.toMatchObject({ name: 'PostgresError', code: '23505' });
  });

  test('rejects a statement when its session hangs', { timeout: 120_000 }, async () => {
    const [session] = await db<{ pid: number }[]>`select pg_backend_pid() as pid`;
    const pid = session?.pid ?? 0;
    process.kill(pid, 'SIGSTOP');
    try {
      await expectUnavailable(insertNote(db, 'never'));
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await expectNewSession();
  });
});
