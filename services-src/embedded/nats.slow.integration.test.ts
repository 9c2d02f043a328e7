import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { chmod, chown, mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { needs } from '../../test/support/needs.ts';
import { openCacheDir } from './cache-dir.ts';
import { startNats } from './index.ts';
import { findNatsServer, findNewerDebianMirror } from './nats-binary.ts';
import { isAlive } from './orphan.ts';
import {
  nobody,
  endStarter,
  openTemporaryDir,
  silentLogger,
  startInProcess,
} from './sandbox.testing.ts';

const config = 'accounts { a { jetstream: enabled, users: [{ user: u, password: p }] } }';
const startServer = (dataDir: string) => startNats({ dataDir, config, logger: silentLogger });

/** Stores one message; returns how many messages are stored. */
async function storeMessage(url: string): Promise<number> {
  const connection = await connect({ servers: url, user: 'u', pass: 'p' });
  try {
    const manager = await jetstreamManager(connection);
    await manager.streams.add({ name: 'KEPT', subjects: ['kept'] });
    await connection.request('kept', 'x');
    return (await manager.streams.info('KEPT')).state.messages;
  } finally {
    await connection.close();
  }
}

describe('embedded NATS', { timeout: 120_000 }, () => {
  test('starts on loopback, keeps its streams, and leaves no process running', async () => {
    await using dir = await openTemporaryDir();
    let pid: number;
    {
      await using server = await startServer(dir.path);
      pid = server.pid;
      expect(server.url).toMatch(/^nats:\/\/127\.0\.0\.1:\d+$/);
      expect(await storeMessage(server.url)).toBe(1);
    }
    expect(await isAlive(pid)).toBe(false);

    await using server = await startServer(dir.path);
    expect(await storeMessage(server.url)).toBe(2);
  });

  test('requires a password that only the user who runs it can read', async () => {
    await using dir = await openTemporaryDir();
    await using server = await startServer(dir.path);

    await expect(connect({ servers: server.url, reconnect: false })).rejects.toThrow(
      /authorization/i,
    );
    expect((await stat(join(dir.path, 'nats/nats.conf'))).mode & 0o777).toBe(0o600);
  });

  test('stops the server that an earlier, killed start left running', async () => {
    await using dir = await openTemporaryDir();
    await using killedStarter = await startInProcess(dir.path, { what: 'nats' });
    expect(await storeMessage(killedStarter.server.url)).toBe(1);
    await endStarter(killedStarter.child, 'SIGKILL');
    expect(await isAlive(killedStarter.server.pid)).toBe(true);

    await using server = await startServer(dir.path);
    expect(await isAlive(killedStarter.server.pid)).toBe(false);
    expect(await storeMessage(server.url)).toBe(2);
  });

  test('refuses a data folder that a live process uses, and names the process', async () => {
    await using dir = await openTemporaryDir();
    await using first = await startInProcess(dir.path, { what: 'nats' });

    await expect(startServer(dir.path)).rejects.toThrow(`is in use by process ${first.child.pid}`);
  });

  test('refuses streams that a live process uses, by whatever link', async () => {
    await using dir = await openTemporaryDir();
    await using first = await startInProcess(join(dir.path, 'first'), { what: 'nats' });
    await mkdir(join(dir.path, 'second/nats'), { recursive: true });
    await symlink(join(dir.path, 'first/nats/jetstream'), join(dir.path, 'second/nats/jetstream'));

    await expect(startServer(join(dir.path, 'second'))).rejects.toThrow(
      `is in use by process ${first.child.pid}`,
    );
  });

  test("quotes the server's error when the configuration is wrong", async () => {
    await using dir = await openTemporaryDir();

    await expect(
      startNats({ dataDir: dir.path, config: 'accounts {', logger: silentLogger }),
    ).rejects.toThrow(/NATS ended with code 1[^]*Parse error on line/);
  });

  test('says what to install when no nats-server program is found or can be downloaded', async () => {
    await using dir = await openTemporaryDir();
    const environment = { PATH: dir.path, HOME: dir.path };

    await expect(
      findNatsServer({ environment, logger: silentLogger, systemDirs: [] }),
    ).rejects.toThrow(
      /^nats-server is missing: install version 2\.10\.27 or newer .*apt-get install nats-server.* NATS_URL.*ENOENT/,
    );
  });

  const cachedProgramIn = (dir: string) =>
    join(dir, `agent-action-gateway/nats-server-${process.arch}`);
  const sayVersion = (file: string, version: string) =>
    writeFile(file, `#!/bin/sh\necho nats-server: v${version}\n`, { mode: 0o755 });

  test.for(['2.1.9', '2.9.10', '2.10.26', '1.99.99'])(
    'ignores nats-server %s on the PATH, which is too old, and uses a newer program from the cache',
    async (old) => {
      await using dir = await openTemporaryDir();
      await mkdir(join(dir.path, 'agent-action-gateway'));
      await sayVersion(join(dir.path, 'nats-server'), old);
      await sayVersion(cachedProgramIn(dir.path), '2.10.27');

      const environment = { PATH: dir.path, XDG_CACHE_HOME: dir.path };
      const search = { environment, logger: silentLogger, systemDirs: [] };
      expect(await findNatsServer(search)).toBe(cachedProgramIn(dir.path));
    },
  );

  test.for(['2.10.27', '2.11.0', '2.12.3-RC.1', '3.0.0'])(
    'uses nats-server %s on the PATH, which is new enough',
    async (version) => {
      await using dir = await openTemporaryDir();
      await sayVersion(join(dir.path, 'nats-server'), version);

      const environment = { PATH: dir.path, XDG_CACHE_HOME: dir.path };
      expect(await findNatsServer({ environment, logger: silentLogger, systemDirs: [] })).toBe(
        join(dir.path, 'nats-server'),
      );
    },
  );

  test('does not use a program in the cache that is too old', async () => {
    await using dir = await openTemporaryDir();
    await mkdir(join(dir.path, 'agent-action-gateway'));
    await sayVersion(cachedProgramIn(dir.path), '2.9.10');

    const environment = { PATH: dir.path, XDG_CACHE_HOME: dir.path };
    await expect(
      findNatsServer({ environment, logger: silentLogger, systemDirs: [] }),
    ).rejects.toThrow(/^nats-server is missing/);
  });
});

describe('the source of the nats-server package', () => {
  const bookworm = 'ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n';
  const aptUris = (mirror: string, suite: string) =>
    [
      `'https://security.example/dists/${suite}-security/InRelease' s 0 `,
      `'${mirror}dists/${suite}-updates/InRelease' u 0 `,
      `'${mirror}dists/${suite}/InRelease' r 0 `,
    ].join('\n');

  test.for([
    ['https://mirror.example/debian/', 'bookworm'],
    ['mirror+file:/etc/apt/mirrors/debian.list/', 'bookworm'],
    ['http://mirror.example/d/', 'oldstable'],
  ] as const)(
    "is the machine's own mirror on an older Debian, here %s for the suite %s",
    ([mirror, suite]) => {
      expect(findNewerDebianMirror(bookworm, aptUris(mirror, suite))).toBe(mirror);
    },
  );

  test.for([
    ['ID=debian\nVERSION_ID="13"\nVERSION_CODENAME=trixie\n', 'trixie'],
    ['ID=debian\nVERSION_CODENAME=forky\n', 'forky'],
    ['ID=ubuntu\nVERSION_ID="25.10"\nVERSION_CODENAME=questing\n', 'questing'],
  ] as const)(
    'is the package of the system itself for the os-release file %j',
    ([osRelease, suite]) => {
      expect(
        findNewerDebianMirror(osRelease, aptUris('https://mirror.example/', suite)),
      ).toBeUndefined();
    },
  );
});

describe('the cache folder for programs', () => {
  const mode = 0o755;

  test('is the first candidate that only this user can write to', async () => {
    await using dir = await openTemporaryDir();
    const writable = join(dir.path, 'writable');
    const linked = join(dir.path, 'linked');
    const safeFolder = join(dir.path, 'deep/good');
    await mkdir(writable);
    await chmod(writable, 0o777);
    await symlink(dir.path, linked);
    await writeFile(join(dir.path, 'file'), '');
    const candidates = [writable, linked, join(dir.path, 'file/x'), safeFolder];

    expect(await openCacheDir(candidates, { mode })).toBe(safeFolder);
    expect((await stat(safeFolder)).mode & 0o777).toBe(mode);
  });

  const root = needs('root');
  test.runIf(root.isAvailable)(
    `is never a folder that another user has created${root.note}`,
    async () => {
      await using dir = await openTemporaryDir();
      const foreignFolder = join(dir.path, 'theirs');
      await mkdir(foreignFolder);
      await chown(foreignFolder, nobody.uid, nobody.gid);

      await expect(openCacheDir([foreignFolder], { mode })).rejects.toThrow(
        `tried ${foreignFolder}`,
      );
    },
  );
});
