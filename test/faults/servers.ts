import { randomBytes } from 'node:crypto';
import { join } from 'node:path';

import { pino } from 'pino';

import { natsAccounts } from '#bus';
import { keyNames } from '#config';
import { components } from '#contracts/vocabulary';
import { publicKeyOf } from '#signing';
import { provisionBus, provisionDatabase, schemaOwners } from '../../provision.ts';
import { startNats, startPostgres } from '../../services-src/embedded/index.ts';
import { lastingPort } from './port.ts';
import type { Server } from './schedule.ts';

/** A real Postgres and a real NATS, which can be taken away and come back on their data. */
export interface Servers extends AsyncDisposable {
  /** Logins and keys of every component. */
  readonly environment: Record<string, string>;
  /** Postgres as its superuser: for the judge. */
  readonly adminUrl: string;
  kill(server: Server): Promise<void>;
  /** Ends the server as its operator would, finishing what it has in hand. */
  stop(server: Server): Promise<void>;
  /** On the data and at the address it had. */
  start(server: Server): Promise<void>;
  signal(server: Server, signal: 'SIGSTOP' | 'SIGCONT'): void;
}

/** Both safe against being killed: Postgres waits for its disk with every commit. */
export async function startServers(folder: string): Promise<Servers> {
  await using startup = new AsyncDisposableStack();
  const logger = pino({ level: 'silent' });
  const dataDir = join(folder, 'servers');
  const newPassword = () => randomBytes(16).toString('base64url');
  const passwords = Object.fromEntries(
    [...components, 'provision'].map((name) => [name, newPassword()]),
  );
  const port = await lastingPort();
  const start = {
    postgres: () => startPostgres({ dataDir, logger, maxConnections: 200 }),
    nats: () =>
      startNats({
        dataDir,
        logger,
        port,
        config: natsAccounts((user) => JSON.stringify(passwords[user])),
      }),
  };
  const postgres = await start.postgres();
  const running: Record<Server, Awaited<ReturnType<(typeof start)[Server]>>> = {
    postgres,
    nats: await start.nats(),
  };
  for (const server of ['postgres', 'nats'] as const) {
    startup.defer(() => running[server][Symbol.asyncDispose]());
  }

  const roles = Object.fromEntries(
    schemaOwners.map((user) => [user, { user, password: passwords[user] ?? '' }]),
  );
  const natsUrl = (user: string) => `nats://${user}:${passwords[user]}@127.0.0.1:${port}`;
  await provisionDatabase({ adminUrl: postgres.adminUrl, roles });
  await provisionBus({
    natsUrl: natsUrl('provision'),
    replicas: 1,
    filesBytesMax: 64 * 1024 * 1024,
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

  const everything = startup.move();
  return {
    environment,
    adminUrl: postgres.adminUrl,
    async kill(server) {
      process.kill(running[server].pid, 'SIGKILL');
      await running[server].exited;
      await running[server][Symbol.asyncDispose]();
    },
    stop: async (server) => running[server][Symbol.asyncDispose](),
    async start(server) {
      running[server] = await start[server]();
    },
    signal: (server, signal) => void process.kill(running[server].pid, signal),
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}
