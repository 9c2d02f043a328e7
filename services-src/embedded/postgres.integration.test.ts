import { readFile, readlink, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import postgres from 'postgres';
import { describe, expect, test } from 'vitest';

import { needs } from '../../test/support/needs.ts';
import { startPostgres } from './index.ts';
import { isAlive } from './orphan.ts';
import {
  nobody,
  copyCheckout,
  endStarter,
  openTemporaryDir,
  query,
  silent,
  startInProcess,
} from './sandbox.testing.ts';

const start = (dataDir: string) => startPostgres({ dataDir, logger: silent, durable: false });

describe('embedded Postgres', { timeout: 60_000 }, () => {
  test('starts in an empty folder, keeps its data, and leaves nothing running', async () => {
    await using dir = await openTemporaryDir();
    let pid: number;
    {
      await using server = await start(dir.path);
      pid = server.pid;
      await query(server.adminUrl, 'create table kept (word text)');
      await query(server.adminUrl, "insert into kept values ('yes')");
    }
    expect(await isAlive(pid)).toBe(false);

    await using server = await start(dir.path);
    expect(await query(server.adminUrl, 'select word from kept')).toEqual([{ word: 'yes' }]);
  });

  test('is durable unless told otherwise', async () => {
    await using dir = await openTemporaryDir();
    await using server = await startPostgres({ dataDir: dir.path, logger: silent });

    expect(await query(server.adminUrl, 'show fsync')).toEqual([{ fsync: 'on' }]);
    expect(await query(server.adminUrl, 'show synchronous_commit')).toEqual([
      { synchronous_commit: 'on' },
    ]);
  });

  test('its URLs serve both clients, whatever is in a password', async () => {
    await using dir = await openTemporaryDir();
    await using server = await start(dir.path);
    const password = "p:/@?#%& '\\é";
    await query(server.adminUrl, `create role r login password '${password.replace("'", "''")}'`);
    const url = server.urlFor({ user: 'r', password, database: 'postgres' });

    expect(await query(url, 'select current_user as name')).toEqual([{ name: 'r' }]);

    const parsed = new URL(url);
    const host = parsed.searchParams.get('host') ?? '';
    parsed.search = '';
    const sql = postgres(parsed.href, { host, max: 1 });
    expect([...(await sql`select current_user as name`)]).toEqual([{ name: 'r' }]);
    await sql.end();
  });

  test('lets nobody in without a password, or into its files', async () => {
    await using dir = await openTemporaryDir();
    await using server = await start(dir.path);
    const home = join(dir.path, 'postgres');

    const wrong = server.urlFor({ user: 'postgres', password: 'guess' });
    await expect(query(wrong, 'select 1')).rejects.toThrow('password authentication failed');
    expect((await stat(join(home, 'password'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(home, 'data'))).mode & 0o777).toBe(0o700);
    expect((await stat(join(home, 'run'))).mode & 0o777).toBe(0o700);
  });

  test('refuses a folder that a live process uses, and names it', async () => {
    await using dir = await openTemporaryDir();
    await using first = await startInProcess(dir.path);

    await expect(start(dir.path)).rejects.toThrow(`is in use by process ${first.child.pid}`);
    expect(await query(first.server.url, 'select 1 as alive')).toEqual([{ alive: 1 }]);
  });

  test('stops what a killed start left running, and has its commits', async () => {
    await using dir = await openTemporaryDir();
    await using killed = await startInProcess(dir.path);
    await query(killed.server.url, 'create table kept as select 1 as x');
    await endStarter(killed.child, 'SIGKILL');
    expect(await isAlive(killed.server.pid)).toBe(true);

    await using server = await start(dir.path);
    expect(await isAlive(killed.server.pid)).toBe(false);
    expect(await query(server.adminUrl, 'select x from kept')).toEqual([{ x: 1 }]);
  });

  test('starts after a kill of starter and server, with all that was committed', async () => {
    await using dir = await openTemporaryDir();
    await using killed = await startInProcess(dir.path);
    await query(killed.server.url, 'create table kept as select 1 as x');
    process.kill(killed.server.pid, 'SIGKILL');
    await endStarter(killed.child, 'SIGKILL');

    await using server = await start(dir.path);
    expect(await query(server.adminUrl, 'select x from kept')).toEqual([{ x: 1 }]);
  });

  test('does not take another process for its own because of an old pid file', async () => {
    await using dir = await openTemporaryDir();
    const pidFile = join(dir.path, 'postgres/data/postmaster.pid');
    await (await start(dir.path))[Symbol.asyncDispose]();
    await writeFile(pidFile, `${process.pid}\n/elsewhere\n`);

    await using server = await start(dir.path);
    expect(await readFile(pidFile, 'utf8')).toMatch(new RegExp(`^${server.pid}\n`));
  });

  test('says so when it ends by itself', async () => {
    await using dir = await openTemporaryDir();
    await using server = await start(dir.path);
    process.kill(server.pid, 'SIGQUIT');

    expect(await server.exited).toContain('Postgres ended with code');
  });

  test('puts the socket elsewhere when its path would be too long, and finds it again', async () => {
    await using dir = await openTemporaryDir();
    const dataDir = join(dir.path, 'd'.repeat(120));
    await using killed = await startInProcess(dataDir);
    const left = await readlink(join(dataDir, 'postgres/run'));
    await endStarter(killed.child, 'SIGKILL');

    await using server = await start(dataDir);
    expect(await query(server.adminUrl, 'select 1 as x')).toEqual([{ x: 1 }]);
    await expect(stat(left)).rejects.toThrow('ENOENT');
  });

  test('says which folder it may not use', async () => {
    await using dir = await openTemporaryDir();
    await writeFile(join(dir.path, 'file'), '');

    await expect(start(join(dir.path, 'file'))).rejects.toThrow(
      /file\/postgres cannot be made .* Choose another DATA_DIR/,
    );
  });
});

const root = needs('root');

describe.runIf(root.available)(`embedded Postgres as root${root.note}`, { timeout: 60_000 }, () => {
  test('runs for an ordinary user too, and for root on that user’s data', async () => {
    await using dir = await openTemporaryDir({ mode: 0o755, owner: nobody });
    const checkout = await copyCheckout(dir.path);
    const dataDir = join(dir.path, 'data');
    {
      await using asUser = await startInProcess(dataDir, { user: nobody, checkout });
      await query(asUser.server.url, 'create table kept as select 1 as x');
    }
    await (await start(dataDir))[Symbol.asyncDispose]();

    await using again = await startInProcess(dataDir, { user: nobody, checkout });
    expect(await query(again.server.url, 'select x from kept')).toEqual([{ x: 1 }]);
  });

  test('runs with checkout and data below a folder that only root can enter', async () => {
    await using dir = await openTemporaryDir({ mode: 0o700 });
    const checkout = await copyCheckout(dir.path);
    const dataDir = join(dir.path, 'data');

    await using started = await startInProcess(dataDir, { checkout });
    expect(await query(started.server.url, 'select 1 as x')).toEqual([{ x: 1 }]);
    const program = await readlink(`/proc/${started.server.pid}/exe`);
    expect(program.startsWith(dir.path)).toBe(false);
    expect((await stat(join(dataDir, 'postgres/data'))).uid).toBe(nobody.uid);
  });
});
