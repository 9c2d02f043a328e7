import { randomBytes, randomUUID } from 'node:crypto';
import { openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import pg from 'pg';
import { pino } from 'pino';
import { inject } from 'vitest';

import { connectBus, connectReader, natsAccounts } from '#bus';
import type { Bus } from '#bus';
import { gapKeyNames, keyNames, principalKeyNames } from '#config';
import { components } from '#contracts/vocabulary';
import { publicKeyOf } from '#signing';
import type { Component } from '#contracts/vocabulary';
import { provisionBus, schemaOwners } from '../../provision.ts';
import { startNats } from '../../services-src/embedded/index.ts';
import { refuseLeaks, sweepDatabase, sweepFolder, watchLog } from './canaries.ts';

export interface TestEnvironment extends AsyncDisposable {
  /** What `loadConfig` reads: database, bus and keys of every component. */
  readonly variables: Record<string, string>;
  readonly keys: Record<(typeof keyNames)[number], string> & {
    /** What auth signs principals with. */
    readonly principal: readonly string[];
    /** What policy signs gaps with. */
    readonly gap: readonly string[];
  };
  /** Superuser URL of this environment's own database. */
  readonly adminUrl: string;
  /** A bus logged in as a component, closed with the environment. */
  connect(component: Component): Promise<Bus>;
  /** The same for the component's second user, which reads the stream. */
  connectReader(component: Component): Promise<Bus>;
}

/** A database of its own with every schema, and a NATS server of its own: nothing is shared between test files. */
export async function createTestEnvironment({
  serverLogLevel = 'error',
}: {
  /** For tests that make NATS complain thousands of times. */
  serverLogLevel?: 'error' | 'silent';
} = {}): Promise<TestEnvironment> {
  await using startup = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'aag-environment-'));
  startup.defer(() => rm(dataDir, { recursive: true, force: true }));
  // When the server has stopped: what it has stored until then.
  startup.defer(async () => refuseLeaks(await sweepFolder(join(dataDir, 'nats/jetstream'))));
  const password = 'CANARY-bus-password';
  const nats = startup.use(
    await startNats({
      dataDir,
      logger: pino({ level: serverLogLevel }),
      config: natsAccounts(() => JSON.stringify(password)),
    }),
  );
  const natsUrl = (user: string) => nats.url.replace('nats://', `nats://${user}:${password}@`);
  await provisionBus({
    natsUrl: natsUrl('provision'),
    replicas: 1,
    filesBytesMax: 64 * 1024 * 1024,
  });

  const serverUrl = inject('adminUrl');
  const database = `test_${randomUUID().replaceAll('-', '')}`;
  await administer(
    serverUrl,
    `create database ${database} template template_gateway strategy file_copy`,
  );
  startup.defer(() => administer(serverUrl, `drop database ${database} with (force)`));
  const adminUrl = serverUrl.replace('/postgres?', `/${database}?`);
  const sweepLog = await watchLog(adminUrl, inject('walDir'));
  startup.defer(async () =>
    refuseLeaks([...(await sweepDatabase(adminUrl)), ...(await sweepLog())]),
  );

  const made = Object.fromEntries(
    keyNames.map((name) => [name, randomBytes(32).toString('base64url')]),
  ) as Record<(typeof keyNames)[number], string>;
  const variables: Record<string, string> = {
    ...made,
    DECISION_PUBLIC_KEY: publicKeyOf(made.DECISION_KEY),
    LOG_LEVEL: logEverything(),
    PORT: '0',
  };
  for (const component of components) {
    variables[`${component.toUpperCase()}_NATS_URL`] = natsUrl(component);
  }
  for (const component of schemaOwners) {
    const url = new URL(adminUrl);
    url.username = component;
    url.password = 'CANARY-role-password';
    variables[`${component.toUpperCase()}_DATABASE_URL`] = url.href;
  }

  const running = startup.move();
  return {
    variables,
    keys: {
      ...made,
      principal: principalKeyNames.map((name) => made[name]),
      gap: gapKeyNames.map((name) => made[name]),
    },
    adminUrl,
    async connect(component) {
      return running.use(await connectBus({ url: natsUrl(component), name: component }));
    },
    async connectReader(component) {
      return running.use(await connectReader({ url: natsUrl(component), name: component }));
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/**
 * Components log to the descriptor of stdout. Here it is a file, which is swept when the run is over;
 * with TEST_LOG_LEVEL they log for whoever is looking instead.
 */
function logEverything(): string {
  const asked = process.env['TEST_LOG_LEVEL'];
  if (asked !== undefined) return asked;
  logFile ??= openSync(join(inject('logDir'), `${process.pid}.log`), 'a');
  Object.defineProperty(process.stdout, 'fd', { value: logFile, configurable: true });
  return 'trace';
}
let logFile: number | undefined;

async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
