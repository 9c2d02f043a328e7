import { once } from 'node:events';
import { createServer } from 'node:net';
import { resolve } from 'node:path';

import pg from 'pg';

import { natsAccounts } from '#bus';
import { ConfigError, defineConfig, keyNames, loadConfig } from '#config';
import type { Config, ConfigSpec, Environment, SettingName } from '#config';
import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { publicKeyOf } from '#signing';
import { createLogger } from '#telemetry';
import type { RunningComponent } from '#process';
import { approvalsConfig } from './approvals/config.ts';
import { startApprovals } from './approvals/start.ts';
import { auditConfig } from './audit/config.ts';
import { startAudit } from './audit/start.ts';
import { authConfig } from './auth/config.ts';
import { startAuth } from './auth/start.ts';
import { executorConfig } from './executor/config.ts';
import { startExecutor } from './executor/start.ts';
import { gatewayConfig } from './gateway/config.ts';
import { startGateway } from './gateway/start.ts';
import { notifierConfig } from './notifier/config.ts';
import { startNotifier } from './notifier/start.ts';
import { policyConfig } from './policy/config.ts';
import { startPolicy } from './policy/start.ts';
import { registryConfig } from './registry/config.ts';
import { startRegistry } from './registry/start.ts';
import { provisionBus, provisionDatabase, provisionTemplates, schemaOwners } from './provision.ts';
import type { Role } from './provision.ts';
import type { EmbeddedPostgres } from './services-src/embedded/index.ts';
import {
  databaseName,
  lockDataDir,
  openKeyFile,
  startNats,
  startPostgres,
} from './services-src/embedded/index.ts';

/** Everything in one process: what `npm start` runs, and the demo, the benchmark and the end-to-end tests. */
export interface Running extends AsyncDisposable {
  /** Where the gateway listens. */
  readonly url: string;
  /** One-time link of the first admin, a new one at each start; null when there is no active admin. */
  readonly firstSignInUrl: string | null;
  /** Settles with a sentence when embedded Postgres or NATS ended by itself. */
  readonly failed: Promise<string>;
}

/** The servers a set of components runs on, and the settings to reach them. */
export interface Backing extends AsyncDisposable {
  readonly environment: Environment;
  readonly adminUrl: string;
  readonly failed: Promise<string>;
  readonly pids: readonly number[];
}

/**
 * Starts embedded Postgres and NATS where the environment names no others, makes missing keys,
 * migrates, and returns the environment with which components find it all.
 */
export async function startBacking(
  environment: Environment,
  { dataDir, durable = true }: { dataDir: string; durable?: boolean },
): Promise<Backing> {
  await using startup = new AsyncDisposableStack();
  const home = resolve(dataDir);
  startup.use(await lockDataDir(home, { waitMs: 10_000 }));
  const logger = createLogger({ component: 'embedded', level: environment['LOG_LEVEL'] ?? 'warn' });
  const passwords = await openKeyFile(home, [
    ...keyNames,
    ...components.map((component) => `POSTGRES_${component}` as const),
    ...[...components, 'provision' as const].map((user) => `NATS_${user}` as const),
  ]);
  const made = missingKeys(environment, passwords);

  const [postgres, nats] = await Promise.all([
    isSet(environment, 'DATABASE_URL')
      ? undefined
      : startPostgres({ dataDir: home, logger, durable }).then((server) => startup.use(server)),
    isSet(environment, 'NATS_URL')
      ? undefined
      : startNats({
          dataDir: home,
          logger,
          config: natsAccounts((user) => JSON.stringify(passwords[`NATS_${user}`])),
        }).then((server) => startup.use(server)),
  ]);
  if (postgres !== undefined) await createDatabase(postgres.adminUrl);
  const roles = Object.fromEntries(
    schemaOwners.map((user) => [user, { user, password: passwords[`POSTGRES_${user}`] }]),
  );
  const all = {
    ...environment,
    ...made,
    ...(postgres && databaseVariables(postgres, roles)),
    ...(nats && busVariables(nats.url, (user) => passwords[`NATS_${user}`])),
  };
  const owner = loadConfig(
    {
      component: 'provision',
      names: [
        'DATABASE_URL',
        'NATS_URL',
        'NATS_REPLICAS',
        'CAP_FILES_BYTES',
        'TEMPLATES_DIR',
        'EGRESS_ALLOW',
      ],
    },
    all,
  );
  await Promise.all([
    provisionDatabase({
      adminUrl: owner.DATABASE_URL,
      roles: postgres === undefined ? {} : roles,
    }).then(() => provisionTemplates({ adminUrl: owner.DATABASE_URL, ...owner })),
    provisionBus({
      natsUrl: owner.NATS_URL,
      replicas: owner.NATS_REPLICAS,
      filesBytesMax: owner.CAP_FILES_BYTES,
    }),
  ]);

  const running = startup.move();
  return {
    environment: all,
    adminUrl: owner.DATABASE_URL,
    pids: [postgres?.pid, nats?.pid].filter((pid) => pid !== undefined),
    failed: Promise.race([postgres?.exited, nats?.exited].map((each) => each ?? never)),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** The keys that the environment does not set, from the key file, and the public half of what signs decisions. */
function missingKeys(
  environment: Environment,
  stored: Readonly<Record<(typeof keyNames)[number], string>>,
): Record<string, string> {
  const made: Record<string, string> = {};
  for (const name of keyNames) {
    if (!isSet(environment, name)) made[name] = stored[name];
  }
  if (!isSet(environment, 'DECISION_PUBLIC_KEY')) {
    // It may be set as a file.
    const signer = defineConfig('auth', ['DECISION_KEY']);
    const { DECISION_KEY } = loadConfig(signer, { ...environment, ...made });
    made['DECISION_PUBLIC_KEY'] = publicKeyOf(DECISION_KEY.reveal());
  }
  return made;
}

/** Starts all eight components on what `startBacking` gave: auth first, the gateway last. */
export async function startComponents(environment: Environment): Promise<Omit<Running, 'failed'>> {
  await using startup = new AsyncDisposableStack();
  const start = async <N extends SettingName, R extends RunningComponent>(
    spec: ConfigSpec<N>,
    startComponent: (config: Config<N>) => Promise<R>,
    known: Environment = {},
  ) => startup.use(await startComponent(loadConfig(spec, { ...environment, ...known })));

  // Where auth listens is known once it does; those that call out must not call it.
  const auth = await start(authConfig, startAuth);
  const known = { OAUTH_URL: auth.oauthUrl };
  const starting = [
    start(registryConfig, startRegistry, known),
    start(executorConfig, startExecutor, known),
    start(policyConfig, startPolicy),
    start(approvalsConfig, startApprovals),
    start(notifierConfig, startNotifier, known),
    start(auditConfig, startAudit),
  ];
  // When one cannot start, the others are stopped, which they can be only once they have started.
  await Promise.allSettled(starting);
  await Promise.all(starting);
  const gateway = await start(gatewayConfig, startGateway, known);

  const running = startup.move();
  return {
    url: gateway.url,
    firstSignInUrl: auth.firstSignInUrl,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Backing and components together. Disposing stops the components first. */
export async function launch(
  environment: Environment,
  options: { dataDir: string; durable?: boolean },
): Promise<Running & { pids: readonly number[] }> {
  checkSettings(environment);
  await using startup = new AsyncDisposableStack();
  // Links are made before the gateway listens, so a free port is chosen first.
  const known =
    environment['PORT'] === '0' ? { ...environment, PORT: await freePort() } : environment;
  const backing = startup.use(await startBacking(known, options));
  const all = startup.use(await startComponents(backing.environment));
  const running = startup.move();
  return {
    url: all.url,
    firstSignInUrl: all.firstSignInUrl,
    failed: backing.failed,
    pids: backing.pids,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Refuses wrong settings before anything is started; what is made later is filled in with something valid. */
function checkSettings(environment: Environment): void {
  const filled: Record<string, string | undefined> = {
    DATABASE_URL: 'postgres://embedded',
    NATS_URL: 'nats://embedded',
    ...Object.fromEntries(keyNames.map((name) => [name, 'x'.repeat(43)])),
    DECISION_PUBLIC_KEY: 'x'.repeat(43),
    ...environment,
  };
  const problems = new Set<string>();
  for (const spec of [
    gatewayConfig,
    authConfig,
    registryConfig,
    policyConfig,
    executorConfig,
    approvalsConfig,
    notifierConfig,
    auditConfig,
  ] as ConfigSpec<SettingName>[]) {
    try {
      loadConfig(spec, filled);
    } catch (thrown) {
      if (!(thrown instanceof ConfigError)) throw thrown;
      for (const line of thrown.message.split('\n')) problems.add(line);
    }
  }
  if (problems.size > 0) throw new ConfigError([...problems].join('\n'));
}

function databaseVariables(
  postgres: EmbeddedPostgres,
  roles: Record<string, Role>,
): Record<string, string> {
  const urls = Object.entries(roles).map(([component, role]) => [
    `${component.toUpperCase()}_DATABASE_URL`,
    postgres.urlFor({ ...role, database: databaseName }),
  ]);
  return { DATABASE_URL: inDatabase(postgres.adminUrl), ...Object.fromEntries(urls) };
}

function busVariables(
  url: string,
  passwordOf: (user: Component | 'provision') => string,
): Record<string, string> {
  const users = [...components, 'provision' as const];
  return Object.fromEntries(
    users.map((user) => [
      `${user.toUpperCase()}_NATS_URL`,
      url.replace('nats://', `nats://${user}:${encodeURIComponent(passwordOf(user))}@`),
    ]),
  );
}

async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('there is no free port');
  return String(address.port);
}

async function createDatabase(adminUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const { rows } = await client.query('select from pg_database where datname = $1', [
      databaseName,
    ]);
    if (rows.length === 0) await client.query(`create database ${databaseName}`);
  } finally {
    await client.end();
  }
}

function inDatabase(url: string): string {
  const changed = new URL(url);
  changed.pathname = `/${databaseName}`;
  return changed.href;
}

/** Set by itself, as a file, or for any one component. */
function isSet(environment: Environment, name: string): boolean {
  return Object.entries(environment).some(
    ([key, value]) =>
      value !== undefined && value !== '' && (key.endsWith(name) || key.endsWith(`${name}_FILE`)),
  );
}

const never = new Promise<string>(() => undefined);
