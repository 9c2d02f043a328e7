import { randomBytes } from 'node:crypto';
import { join } from 'node:path';

import { pino } from 'pino';

import { natsAccounts } from '#bus';
import { keyNames } from '#config';
import { components } from '#contracts/vocabulary';
import { publicKeyOf } from '#signing';
import { provisionBus, provisionDatabase, schemaOwners } from '../../provision.ts';
import { lastingPort, startNats, startPostgres } from '../../services-src/embedded/index.ts';
import { listProcessTree } from '../bench/processes.ts';
import { smallStreams } from '../support/streams.ts';
import type { Server } from './schedule.ts';

/** A real Postgres and a real NATS. They can be stopped, and started again with the same data. */
export interface Servers extends AsyncDisposable {
  /** The logins and keys of every component. */
  readonly environment: Record<string, string>;
  /** The superuser's URL of the Postgres. */
  readonly adminUrl: string;
  kill(server: Server): Promise<void>;
  /** Stops the server as an operator would, and gives it time to finish. */
  stop(server: Server): Promise<void>;
  /** Starts the server again, with the same data and at the same address. */
  start(server: Server): Promise<void>;
  /**
   * Sends a signal to the server and all its processes. Postgres has one process for each session.
   */
  signal(server: Server, signal: 'SIGSTOP' | 'SIGCONT'): Promise<void>;
}

/**
 * Starts Postgres and NATS with settings under which they lose no data when they are killed:
 * Postgres writes every commit to disk before it confirms the commit.
 */
export async function startServers(folder: string): Promise<Servers> {
  await using startup = new AsyncDisposableStack();
  const logger = pino({ level: 'silent' });
  const dataDir = join(folder, 'servers');
  const newPassword = () => randomBytes(16).toString('base64url');
  const passwords = Object.fromEntries(
    [...components, 'provision'].map((name) => [name, newPassword()]),
  );
  const port = await lastingPort();
  const startByServer = {
    postgres: () => startPostgres({ dataDir, logger, maxConnections: 200 }),
    nats: () =>
      startNats({
        dataDir,
        logger,
        port,
        config: natsAccounts((user) => JSON.stringify(passwords[user])),
      }),
  };
  const postgres = await startByServer.postgres();
  const runningServers: Record<Server, Awaited<ReturnType<(typeof startByServer)[Server]>>> = {
    postgres,
    nats: await startByServer.nats(),
  };
  for (const server of ['postgres', 'nats'] as const) {
    startup.defer(() => runningServers[server][Symbol.asyncDispose]());
  }

  const roles = Object.fromEntries(
    schemaOwners.map((user) => [user, { user, password: passwords[user] ?? '' }]),
  );
  const natsUrl = (user: string) => `nats://${user}:${passwords[user]}@127.0.0.1:${port}`;
  await provisionDatabase({ adminUrl: postgres.adminUrl, roles });
  await provisionBus({
    natsUrl: natsUrl('provision'),
    ...smallStreams,
  });
  const environment: Record<string, string> = {};
  for (const name of keyNames) environment[name] = randomBytes(32).toString('base64url');
  environment['DECISION_PUBLIC_KEY'] = publicKeyOf(environment['DECISION_KEY'] ?? '');
  for (const component of components) {
    environment[`${component.toUpperCase()}_NATS_URL`] = natsUrl(component);
  }
  for (const [component, role] of Object.entries(roles)) {
    environment[`${component.toUpperCase()}_DATABASE_URL`] = postgres.urlFor(role);
  }

  const startedServers = startup.move();
  return {
    environment,
    adminUrl: postgres.adminUrl,
    async kill(server) {
      process.kill(runningServers[server].pid, 'SIGKILL');
      await runningServers[server].exited;
      await runningServers[server][Symbol.asyncDispose]();
    },
    stop: async (server) => runningServers[server][Symbol.asyncDispose](),
    async start(server) {
      runningServers[server] = await startByServer[server]();
    },
    async signal(server, signal) {
      const { pid } = runningServers[server];
      // The parent process gets the signal first, because it starts the other processes.
      process.kill(pid, signal);
      for (const each of await listProcessTree([pid])) if (each !== pid) process.kill(each, signal);
    },
    [Symbol.asyncDispose]: () => startedServers.disposeAsync(),
  };
}
