import { randomBytes } from 'node:crypto';
import { openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { pino } from 'pino';
import { inject } from 'vitest';

import { connectBus, connectReader, natsAccounts } from '#bus';
import type { Bus } from '#bus';
import { gapKeyNames, keyNames, principalKeyNames } from '#config';
import { components } from '#contracts/vocabulary';
import { publicKeyOf } from '#signing';
import type { Component } from '#contracts/vocabulary';
import { provisionBus } from '../../provision.ts';
import { startNats } from '../../services-src/embedded/index.ts';
import { refuseLeaks, sweepDatabase, sweepFolder, watchLog } from './canaries.ts';
import { copyDatabase } from './database-copy.ts';
import { smallStreams } from './streams.ts';

export interface TestEnvironment extends AsyncDisposable {
  /**
   * The environment variables that `loadConfig` reads, for all components: database URLs, bus URLs
   * and keys.
   */
  readonly variables: Record<string, string>;
  readonly keys: Record<(typeof keyNames)[number], string> & {
    /** The keys with which auth signs principals. */
    readonly principal: readonly string[];
    /** The keys with which policy signs permission gaps. */
    readonly gap: readonly string[];
  };
  /** The superuser URL of this environment's own database. */
  readonly adminUrl: string;
  /**
   * Logs in to the bus as a component. The connection is closed when the environment is disposed.
   */
  connect(component: Component): Promise<Bus>;
  /** Logs in as the component's second NATS user, which reads the stream. */
  connectReader(component: Component): Promise<Bus>;
}

/**
 * Creates a database with every schema, and a NATS server. Each test file has its own environment.
 */
export async function createTestEnvironment({
  serverLogLevel = 'error',
  streams = {},
}: {
  /** The log level of NATS; `silent` for tests that make it log thousands of errors. */
  serverLogLevel?: 'error' | 'silent';
  /** The sizes of the streams, if they differ from the usual sizes. */
  streams?: Partial<typeof smallStreams>;
} = {}): Promise<TestEnvironment> {
  await using startup = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'aag-environment-'));
  startup.defer(() => rm(dataDir, { recursive: true, force: true }));
  // When NATS has stopped, its stored streams are searched for credentials.
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
    ...smallStreams,
    ...streams,
  });

  const database = startup.use(await copyDatabase());
  const { adminUrl } = database;
  const sweepLog = await watchLog(adminUrl, inject('walDir'));
  startup.defer(async () =>
    refuseLeaks([...(await sweepDatabase(adminUrl)), ...(await sweepLog())]),
  );

  const generatedKeys = Object.fromEntries(
    keyNames.map((name) => [name, randomBytes(32).toString('base64url')]),
  ) as Record<(typeof keyNames)[number], string>;
  const variables: Record<string, string> = {
    ...generatedKeys,
    ...database.variables,
    DECISION_PUBLIC_KEY: publicKeyOf(generatedKeys.DECISION_KEY),
    LOG_LEVEL: redirectLogToFile(),
    PORT: '0',
    SHUTDOWN_PAUSE_SECONDS: '0',
  };
  for (const component of components) {
    variables[`${component.toUpperCase()}_NATS_URL`] = natsUrl(component);
  }

  const running = startup.move();
  return {
    variables,
    keys: {
      ...generatedKeys,
      principal: principalKeyNames.map((name) => generatedKeys[name]),
      gap: gapKeyNames.map((name) => generatedKeys[name]),
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
 * Redirects stdout to a file, because components log to the file descriptor of stdout. At its end,
 * the run searches the file for credentials. If TEST_LOG_LEVEL is set, components log to the
 * terminal instead.
 */
function redirectLogToFile(): string {
  const requestedLevel = process.env['TEST_LOG_LEVEL'];
  if (requestedLevel !== undefined) return requestedLevel;
  logFile ??= openSync(join(inject('logDir'), `${process.pid}.log`), 'a');
  Object.defineProperty(process.stdout, 'fd', { value: logFile, configurable: true });
  return 'trace';
}
let logFile: number | undefined;
