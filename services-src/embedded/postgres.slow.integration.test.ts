import {
  copyFile,
  mkdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { openDatabase } from '#database';
import { needs } from '../../test/support/needs.ts';
import { startPostgres } from './index.ts';
import { isAlive } from './orphan.ts';
import {
  nobody,
  copyCheckout,
  endStarter,
  openTemporaryDir,
  query,
  silentLogger,
  startInProcess,
} from './sandbox.testing.ts';

const startServer = (dataDir: string) =>
  startPostgres({ dataDir, logger: silentLogger, durable: false });

describe('embedded Postgres', { timeout: 180_000 }, () => {
  test('starts in an empty folder, keeps its data, and leaves no process running', async () => {
    await using dir = await openTemporaryDir();
    let pid: number;
    {
      await using server = await startServer(dir.path);
      pid = server.pid;
      await query(server.adminUrl, 'create table kept (word text)');
      await query(server.adminUrl, "insert into kept values ('yes')");
    }
    expect(await isAlive(pid)).toBe(false);

    await using server = await startServer(dir.path);
    expect(await query(server.adminUrl, 'select word from kept')).toEqual([{ word: 'yes' }]);
  });

  test('runs with fsync and synchronous_commit by default', async () => {
    await using dir = await openTemporaryDir();
    await using server = await startPostgres({ dataDir: dir.path, logger: silentLogger });

    expect(await query(server.adminUrl, 'show fsync')).toEqual([{ fsync: 'on' }]);
    expect(await query(server.adminUrl, 'show synchronous_commit')).toEqual([
      { synchronous_commit: 'on' },
    ]);
  });

  test('has URLs that work in both Postgres client libraries, whatever characters a password has', async () => {
    await using dir = await openTemporaryDir();
    await using server = await startServer(dir.path);
    const password = "p:/@?#%& '\\é";
    await query(server.adminUrl, `create role r login password '${password.replace("'", "''")}'`);
    const url = server.urlFor({ user: 'r', password, database: 'postgres' });

    expect(await query(url, 'select current_user as name')).toEqual([{ name: 'r' }]);

    await using db = openDatabase({ url, schema: 'public', connectionsMax: 1 });
    expect([...(await db`select current_user as name`)]).toEqual([{ name: 'r' }]);
  });

  test('requires a password, and keeps its files private', async () => {
    await using dir = await openTemporaryDir();
    await using server = await startServer(dir.path);
    const home = join(dir.path, 'postgres');

    const wrongUrl = server.urlFor({ user: 'postgres', password: 'guess' });
    await expect(query(wrongUrl, 'select 1')).rejects.toThrow('password authentication failed');
    expect((await stat(join(home, 'password'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(home, 'data'))).mode & 0o777).toBe(0o700);
    expect((await stat(join(home, 'run'))).mode & 0o777).toBe(0o700);
  });

  test('refuses a data folder that a live process uses, and names the process', async () => {
    await using dir = await openTemporaryDir();
    await using first = await startInProcess(dir.path);

    await expect(startServer(dir.path)).rejects.toThrow(`is in use by process ${first.child.pid}`);
    expect(await query(first.server.url, 'select 1 as alive')).toEqual([{ alive: 1 }]);
  });

  test('stops the server that an earlier, killed start left running, and keeps the committed data', async () => {
    await using dir = await openTemporaryDir();
    await using killedStarter = await startInProcess(dir.path);
    await query(killedStarter.server.url, 'create table kept as select 1 as x');
    await endStarter(killedStarter.child, 'SIGKILL');
    expect(await isAlive(killedStarter.server.pid)).toBe(true);

    await using server = await startServer(dir.path);
    expect(await isAlive(killedStarter.server.pid)).toBe(false);
    expect(await query(server.adminUrl, 'select x from kept')).toEqual([{ x: 1 }]);
  });

  test('starts with all committed data after both the server and its starter were killed', async () => {
    await using dir = await openTemporaryDir();
    await using killedStarter = await startInProcess(dir.path);
    await query(killedStarter.server.url, 'create table kept as select 1 as x');
    process.kill(killedStarter.server.pid, 'SIGKILL');
    await endStarter(killedStarter.child, 'SIGKILL');

    await using server = await startServer(dir.path);
    expect(await query(server.adminUrl, 'select x from kept')).toEqual([{ x: 1 }]);
  });

  test('does not mistake another process for its server because of an old pid file', async () => {
    await using dir = await openTemporaryDir();
    const pidFile = join(dir.path, 'postgres/data/postmaster.pid');
    await (await startServer(dir.path))[Symbol.asyncDispose]();
    await writeFile(pidFile, `${process.pid}\n/elsewhere\n`);

    await using server = await startServer(dir.path);
    expect(await readFile(pidFile, 'utf8')).toMatch(new RegExp(`^${server.pid}\n`));
  });

  test('reports when the server ends by itself', async () => {
    await using dir = await openTemporaryDir();
    await using server = await startServer(dir.path);
    process.kill(server.pid, 'SIGQUIT');

    expect(await server.exited).toContain('Postgres ended with code');
  });

  test('warns of nothing when it is stopped while a client is signing in', async () => {
    await using dir = await openTemporaryDir();
    const warnings: object[] = [];
    const logger = { ...silentLogger, warn: (fields: object) => warnings.push(fields) };
    const server = await startPostgres({ dataDir: dir.path, logger, durable: false });
    const socketDir = new URL(server.adminUrl).searchParams.get('host') ?? '';
    const client = connect(join(socketDir, '.s.PGSQL.5432'));
    client.write(createStartupPacket({ user: 'postgres' }));
    await once(client, 'data');
    const clientClosed = once(client, 'close');

    await server[Symbol.asyncDispose]();
    await clientClosed;
    expect(warnings).toEqual([]);
  });

  test('puts its socket into another folder when the path would be too long, and finds it again', async () => {
    await using dir = await openTemporaryDir();
    const dataDir = join(dir.path, 'd'.repeat(120));
    await using killedStarter = await startInProcess(dataDir);
    const leftLinkTarget = await readlink(join(dataDir, 'postgres/run'));
    await endStarter(killedStarter.child, 'SIGKILL');

    await using server = await startServer(dataDir);
    expect(await query(server.adminUrl, 'select 1 as x')).toEqual([{ x: 1 }]);
    await expect(stat(leftLinkTarget)).rejects.toThrow('ENOENT');
  });

  test('leaves a live server alone when a copied link leads to its data or sockets', async () => {
    await using dir = await openTemporaryDir();
    const [first, second] = ['a', 'b'].map((name) => join(dir.path, name.repeat(120))) as [
      string,
      string,
    ];
    await using liveStarter = await startInProcess(first);
    await mkdir(join(second, 'postgres'), { recursive: true });
    await copyFile(join(first, 'postgres/password'), join(second, 'postgres/password'));
    await symlink(join(first, 'postgres/data'), join(second, 'postgres/data'));
    await symlink(await readlink(join(first, 'postgres/run')), join(second, 'postgres/run'));

    await expect(startServer(second)).rejects.toThrow(
      `is in use by process ${liveStarter.child.pid}`,
    );
    await rm(join(second, 'postgres/data'));
    await using _other = await startServer(second);
    expect(await query(liveStarter.server.url, 'select 1 as alive')).toEqual([{ alive: 1 }]);
  });

  test('names the folder that it may not use', async () => {
    await using dir = await openTemporaryDir();
    await writeFile(join(dir.path, 'file'), '');

    await expect(startServer(join(dir.path, 'file'))).rejects.toThrow(
      /file\/postgres cannot be made .* Choose another DATA_DIR/,
    );
  });
});

const root = needs('root');
/** A user id that no machine has a name for. */
const nameless = { uid: 3_141_592, gid: 3_141_592 };

describe.runIf(root.isAvailable)(
  `embedded Postgres as root${root.note}`,
  { timeout: 180_000 },
  () => {
    test('also runs for an ordinary user, and for root on data that belongs to an ordinary user', async () => {
      await using dir = await openTemporaryDir({ mode: 0o755, owner: nobody });
      const checkout = await copyCheckout(dir.path);
      const dataDir = join(dir.path, 'data');
      {
        await using userStarter = await startInProcess(dataDir, { user: nobody, checkout });
        await query(userStarter.server.url, 'create table kept as select 1 as x');
      }
      await (await startServer(dataDir))[Symbol.asyncDispose]();

      await using secondStart = await startInProcess(dataDir, { user: nobody, checkout });
      expect(await query(secondStart.server.url, 'select x from kept')).toEqual([{ x: 1 }]);
    });

    test('runs for a user id without a name, where that user may make a user namespace', async () => {
      await using dir = await openTemporaryDir({ mode: 0o755, owner: nameless });
      const checkout = await copyCheckout(dir.path);
      const dataDir = join(dir.path, 'data');
      for (const statement of [
        'create table kept as select 1 as x',
        'insert into kept values (2)',
      ]) {
        await using starter = await startInProcess(dataDir, { user: nameless, checkout });
        await query(starter.server.url, statement);
      }
      expect((await stat(join(dataDir, 'postgres/data'))).uid).toBe(nameless.uid);
    });

    test('runs when the checkout and the data are below a folder that only root can enter', async () => {
      await using dir = await openTemporaryDir({ mode: 0o700 });
      const checkout = await copyCheckout(dir.path);
      const dataDir = join(dir.path, 'data');

      await using rootStarter = await startInProcess(dataDir, { checkout });
      expect(await query(rootStarter.server.url, 'select 1 as x')).toEqual([{ x: 1 }]);
      const program = await readlink(`/proc/${rootStarter.server.pid}/exe`);
      expect(program.startsWith(dir.path)).toBe(false);
      expect((await stat(join(dataDir, 'postgres/data'))).uid).toBe(nobody.uid);
    });
  },
);

/** The first message of a client of Postgres: a length, version 3.0 of the protocol, parameters. */
function createStartupPacket(parameters: Record<string, string>): Buffer {
  const pairs = Object.entries(parameters).flatMap(([name, value]) => [`${name}\0`, `${value}\0`]);
  const body = Buffer.from(['\0\x03\0\0', ...pairs, '\0'].join(''), 'latin1');
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length + 4);
  return Buffer.concat([length, body]);
}
