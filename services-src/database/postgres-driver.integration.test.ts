import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createTestEnvironment } from '../../test/support/environment.ts';
import type { TestEnvironment } from '../../test/support/environment.ts';
import postgres from './postgres-driver/index.js';

/** Each test needs one change of the fork (postgres-driver/README.md) and fails without it. */
describe('the fork of the Postgres driver', () => {
  let environment: TestEnvironment;
  let admin: pg.Client;

  beforeAll(async () => {
    environment = await createTestEnvironment();
    admin = new pg.Client({ connectionString: environment.adminUrl });
    await admin.connect();
  });
  afterAll(async () => {
    await admin.end();
    await environment[Symbol.asyncDispose]();
  });

  test('connects again when a session ends before a statement was written to it', async () => {
    await using driver = openDriver(environment.adminUrl);
    const { sql } = driver;
    await sql`select 1`;
    // The driver writes in the next turn of the event loop. A socket that is destroyed in an
    // immediate closes at the end of this turn, which is before that.
    await new Promise((resolve) => setImmediate(resolve));
    const lostQuery = sql`select 2`.execute();
    driver.socket().destroy();
    await expect(lostQuery).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
    expect(await sql`select 3 as number`).toEqual([{ number: 3 }]);
  });

  test('rejects a statement for a reserved connection that has lost its socket', async () => {
    await using driver = openDriver(environment.adminUrl);
    const reservedConnection = await driver.sql.reserve();
    await reservedConnection`select 1`;
    const socketClosed = once(driver.socket(), 'close');
    driver.socket().destroy();
    await socketClosed;
    await expect(reservedConnection`select 2`).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  });

  test('leaves no rejection unhandled when a session is reset while the driver reads the list of types', async () => {
    const unhandledReasons: unknown[] = [];
    const onUnhandled = (reason: unknown) => unhandledReasons.push(reason);
    process.on('unhandledRejection', onUnhandled);
    let isFirst = true;
    await using driver = openDriver(environment.adminUrl, (socket) => {
      if (isFirst) resetWhenReady(socket);
      isFirst = false;
    });
    await expect(driver.sql`select 1`).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(await driver.sql`select 2 as number`).toEqual([{ number: 2 }]);
    process.off('unhandledRejection', onUnhandled);
    expect(unhandledReasons).toEqual([]);
  });

  test('rejects a statement that is sent between the error of a socket and its close', async () => {
    await using driver = openDriver(environment.adminUrl);
    await driver.sql`select 1`;
    const socketFailed = once(driver.socket(), 'error');
    driver.socket().destroy(createResetError());
    await socketFailed;
    await expect(driver.sql`select 2`).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  });

  test('does not reject a statement with the error that ended an earlier session', async () => {
    await using driver = openDriver(environment.adminUrl);
    const { sql } = driver;
    const [session] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
    const lostQuery = expect(sql`select pg_sleep(30)`).rejects.toMatchObject({
      code: 'CONNECTION_CLOSED',
    });
    await waitUntilAsleep(session?.pid);
    await endSession(session?.pid);
    await lostQuery;
    expect(await sql`select 2 as number`).toEqual([{ number: 2 }]);
  });

  test('rejects the queued statements of a transaction when its session ends', async () => {
    await using driver = openDriver(environment.adminUrl);
    const settledStatuses = Promise.withResolvers<readonly string[]>();
    const failingTransaction = driver.sql.begin(async (tx) => {
      const [session] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
      // A new statement with a parameter makes the later ones wait for its description.
      const statements = [tx`select pg_sleep(${30})`, tx`select 2`, tx`select 3`];
      const pendingResults = Promise.allSettled(statements);
      await waitUntilAsleep(session?.pid);
      await endSession(session?.pid);
      settledStatuses.resolve((await pendingResults).map(({ status }) => status));
    });
    await expect(failingTransaction).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
    expect(await settledStatuses.promise).toEqual(['rejected', 'rejected', 'rejected']);
  });

  const endSession = (pid: number | undefined) =>
    admin.query('select pg_terminate_backend($1, 60000)', [pid]);
  const waitUntilAsleep = async (pid: number | undefined) => {
    await expect
      .poll(async () => {
        const { rows } = await admin.query(
          'select wait_event from pg_stat_activity where pid = $1',
          [pid],
        );
        return rows;
      })
      .toEqual([{ wait_event: 'PgSleep' }]);
  };
});

/** One connection, over sockets that a test can end at an exact moment. */
function openDriver(adminUrl: string, onSocket?: (socket: Socket) => void) {
  const url = new URL(adminUrl);
  const host = url.searchParams.get('host') ?? '';
  url.searchParams.delete('host');
  let socket: Socket | undefined;
  const options = {
    host,
    max: 1,
    connect_timeout: 30,
    backoff: () => 0.01,
    async socket({ path }: { path: string }) {
      socket = connect(path);
      await once(socket, 'connect');
      onSocket?.(socket);
      return socket;
    },
  };
  const sql = postgres(url.href, options);
  return {
    sql,
    socket() {
      if (!socket) throw new Error('The driver has not connected yet.');
      return socket;
    },
    async [Symbol.asyncDispose]() {
      await sql.end({ timeout: 1 });
    },
  };
}

/** Resets the session once the server is ready, when the driver asks for the types. */
function resetWhenReady(socket: Socket) {
  socket.on('data', (receivedBytes) => {
    const isReady = receivedBytes.subarray(-6).equals(Buffer.from('Z\0\0\0\x05I'));
    if (isReady) setImmediate(() => socket.destroy(createResetError()));
  });
}

function createResetError() {
  return Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
}
