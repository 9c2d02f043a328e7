import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { pino } from 'pino';

import { keyNames } from '#config';
import { components } from '#contracts/vocabulary';
import { publicKeyOf } from '#signing';
import { schemaOwners } from '../../provision.ts';
import { startNats, startPostgres } from '../../services-src/embedded/index.ts';
import type { Release } from '../support/deployment.ts';
import { programEnv } from '../support/program-env.ts';
import { smallStreams } from '../support/streams.ts';

const runCommand = promisify(execFile);

/**
 * A Postgres and a NATS. One release prepares them at the start, and another release can take over
 * later.
 */
export interface Servers extends AsyncDisposable {
  /** The logins and keys of every component. */
  readonly environment: Readonly<Record<string, string>>;
  readonly adminUrl: string;
  /** Gives NATS the accounts and permissions that the release needs, while NATS runs. */
  reload(release: Release): Promise<void>;
  /** Runs the `migrate` program of the release. */
  migrate(release: Release): Promise<void>;
}

export async function startServers(
  folder: string,
  release: Release,
  settings: Readonly<Record<string, string>>,
): Promise<Servers> {
  await using startup = new AsyncDisposableStack();
  const logger = pino({ level: 'silent' });
  const newPassword = () => randomBytes(16).toString('base64url');
  const passwords = Object.fromEntries(
    [...components, 'provision'].map((name) => [name, newPassword()]),
  );
  const postgres = startup.use(
    await startPostgres({ dataDir: folder, logger, durable: false, maxConnections: 300 }),
  );
  let accounts = await accountsOf(release, passwords);
  const nats = startup.use(await startNats({ dataDir: folder, logger, config: accounts }));

  const natsUrl = (user: string) => nats.url.replace('//', `//${user}:${passwords[user]}@`);
  const environment: Record<string, string> = { ...settings };
  for (const name of keyNames) environment[name] = randomBytes(32).toString('base64url');
  environment['DECISION_PUBLIC_KEY'] = publicKeyOf(environment['DECISION_KEY'] ?? '');
  for (const component of components) {
    environment[`${component.toUpperCase()}_NATS_URL`] = natsUrl(component);
  }
  for (const user of schemaOwners) {
    const role = { user, password: passwords[user] ?? '' };
    environment[`${user.toUpperCase()}_DATABASE_URL`] = postgres.urlFor(role);
  }

  const migrate = async ({ folder: cwd }: Release) => {
    await runCommand(process.execPath, ['migrate.ts'], {
      cwd,
      env: {
        ...programEnv,
        ...environment,
        DATABASE_URL: postgres.adminUrl,
        PROVISION_NATS_URL: natsUrl('provision'),
        AUDIT_BYTES_MAX: String(smallStreams.auditBytesMax),
        EVENTS_BYTES_MAX: String(smallStreams.eventsBytesMax),
        CAP_FILES_BYTES: String(smallStreams.filesBytesMax),
      },
    });
  };
  await migrate(release);
  const config = join(folder, 'nats/nats.conf');
  const running = startup.move();
  return {
    environment,
    adminUrl: postgres.adminUrl,
    migrate,
    async reload(next) {
      const nextAccounts = await accountsOf(next, passwords);
      const configBefore = await readFile(config, 'utf8');
      await writeFile(
        config,
        configBefore.replace(accounts, () => nextAccounts),
      );
      accounts = nextAccounts;
      process.kill(nats.pid, 'SIGHUP');
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** The accounts in nats.conf, which follow from the release's contracts. */
async function accountsOf(
  { folder }: Release,
  passwords: Readonly<Record<string, string>>,
): Promise<string> {
  const evaluatedCode = `import { natsAccounts } from '#bus';
    const passwords = JSON.parse(process.env.PASSWORDS);
    process.stdout.write(natsAccounts((user) => JSON.stringify(passwords[user])));`;
  const { stdout } = await runCommand(
    process.execPath,
    ['--input-type=module', '--eval', evaluatedCode],
    {
      cwd: folder,
      env: { ...programEnv, PASSWORDS: JSON.stringify(passwords) },
      maxBuffer: 16 * 1024 ** 2,
    },
  );
  return stdout;
}
