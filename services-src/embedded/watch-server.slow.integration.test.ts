import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { describe, expect, test } from 'vitest';

import { pollUntil } from '../../test/support/world.ts';
import { startNats, startPostgres } from './index.ts';
import { isAlive } from './orphan.ts';
import { openTemporaryDir, query, silentLogger } from './sandbox.testing.ts';

const config = 'accounts { a { jetstream: enabled, users: [{ user: u, password: p }] } }';
const watchAs = { user: 'u', password: 'p' };
const startNatsIn = (dataDir: string) =>
  startNats({ dataDir, config, watchAs, logger: silentLogger });
const startPostgresIn = (dataDir: string) =>
  startPostgres({ dataDir, logger: silentLogger, isWatched: true });

/** Lists the streams of the server; the first call makes one. */
async function listStreams(url: string): Promise<string[]> {
  const connection = await connect({ servers: url, user: 'u', pass: 'p', reconnect: false });
  try {
    const manager = await jetstreamManager(connection);
    const streams = await manager.streams.list().next();
    if (streams.length === 0) await manager.streams.add({ name: 'KEPT', subjects: ['kept'] });
    return streams.map((stream) => stream.config.name);
  } finally {
    await connection.close();
  }
}

async function doesAnswer(askServer: () => Promise<unknown>): Promise<boolean> {
  return askServer().then(
    () => true,
    () => false,
  );
}

interface Server {
  readonly pid: number;
  readonly exited: Promise<string>;
}

async function killServer(server: Server): Promise<void> {
  const { pid } = server;
  process.kill(pid, 'SIGKILL');
  await pollUntil(() => server.pid !== pid, 'the next start');
}

// Each test spends most of its time waiting, so the tests run at the same time.
describe('a watched server', { timeout: 120_000, concurrent: true }, () => {
  test('NATS that was killed is started again, with the same address and streams', async () => {
    await using dir = await openTemporaryDir();
    await using server = await startNatsIn(dir.path);
    expect(await listStreams(server.url)).toEqual([]);

    await killServer(server);
    expect(await listStreams(server.url)).toEqual(['KEPT']);
  });

  test('Postgres that was killed is started again, with the same address and data', async () => {
    await using dir = await openTemporaryDir();
    await using server = await startPostgresIn(dir.path);
    await query(server.adminUrl, 'create table kept as select 1 as x');

    await killServer(server);
    expect(await query(server.adminUrl, 'select x from kept')).toEqual([{ x: 1 }]);
  });

  test('NATS and Postgres are started again when they hang, but not when they hang for only 3 seconds', async () => {
    await using dir = await openTemporaryDir();
    await using nats = await startNatsIn(dir.path);
    await using postgres = await startPostgresIn(dir.path);
    const servers = [nats, postgres];
    const pids = servers.map(({ pid }) => pid);

    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    for (const pid of pids) process.kill(pid, 'SIGCONT');
    expect(await doesAnswer(() => listStreams(nats.url))).toBe(true);
    expect(await doesAnswer(() => query(postgres.adminUrl, 'select 1'))).toBe(true);
    expect(servers.map(({ pid }) => pid)).toEqual(pids);

    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    await pollUntil(() => servers.every(({ pid }, index) => pid !== pids[index]), 'the next start');
    expect(await doesAnswer(() => listStreams(nats.url))).toBe(true);
    expect(await doesAnswer(() => query(postgres.adminUrl, 'select 1'))).toBe(true);
    for (const pid of pids) expect(await isAlive(pid)).toBe(false);
  });

  test('a server that ends a sixth time is given up, and the reason is reported', async () => {
    await using dir = await openTemporaryDir();
    await using server = await startNatsIn(dir.path);
    for (let time = 1; time <= 5; time += 1) await killServer(server);

    process.kill(server.pid, 'SIGKILL');
    expect(await server.exited).toMatch(
      /^NATS was started again 5 times within 5 minutes and does not stay up\..*was ended by SIGKILL/,
    );
  });

  test('NATS that hangs while it is stopped leaves no process running', async () => {
    await using dir = await openTemporaryDir();
    let pid: number;
    {
      await using server = await startNatsIn(dir.path);
      pid = server.pid;
      process.kill(pid, 'SIGSTOP');
    }
    expect(await isAlive(pid)).toBe(false);
  });

  test('Postgres whose processes all hang while it is stopped leaves no process running', async () => {
    await using dir = await openTemporaryDir();
    let pids: number[];
    {
      await using server = await startPostgresIn(dir.path);
      const sessions = await query(server.adminUrl, 'select pid from pg_stat_activity');
      pids = [server.pid, ...sessions.map(({ pid }) => Number(pid))];
      for (const pid of pids) {
        if (await isAlive(pid)) process.kill(pid, 'SIGSTOP');
      }
    }
    for (const pid of pids) expect(await isAlive(pid)).toBe(false);
  });
});
