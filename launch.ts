import { resolve } from 'node:path';

import { createLocalTransport, natsAccounts } from '#bus';
import type { InProcess } from '#bus';
import { defineConfig, keyNames, loadConfig } from '#config';
import type { Config, ConfigSpec, Environment, SettingName } from '#config';
import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { databaseUrlOf } from '#database';
import { startSampleBeside } from '#sample';
import { publicKeyOf } from '#signing';
import { createLogger } from '#telemetry';
import type { Logger } from '#telemetry';
import { warnOfStrayVariables } from '#process';
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
import type { ServerOptions } from './gateway/server.ts';
import { checkCanListen, startGateway } from './gateway/start.ts';
import { notifierConfig } from './notifier/config.ts';
import { startNotifier } from './notifier/start.ts';
import { policyConfig } from './policy/config.ts';
import { startPolicy } from './policy/start.ts';
import { registryConfig } from './registry/config.ts';
import { startRegistry } from './registry/start.ts';
import { checkSettings, provisionConfig, storeSizes } from './check-settings.ts';
import { provisionBus, provisionDatabase, provisionTemplates, schemaOwners } from './provision.ts';
import type { Role } from './provision.ts';
import type { EmbeddedNats, EmbeddedPostgres } from './services-src/embedded/index.ts';
import {
  checkCanStartPostgres,
  createDatabase,
  databaseName,
  lastingPort,
  lockDataDir,
  openKeyFile,
  startNats,
  startPostgres,
} from './services-src/embedded/index.ts';

/**
 * All components, running in one process. `npm start`, the demo, the benchmark and the end-to-end
 * tests use this.
 */
export interface Running extends AsyncDisposable {
  /** The URL at which the gateway listens. */
  readonly url: string;
  /**
   * The link with which the first admin signs in. It works once, and each start creates a new one.
   * Null when an active admin exists.
   */
  readonly firstSignInUrl: string | null;
  /** The names of the components' readiness checks that fail. */
  failing(): readonly string[];
  /**
   * Resolves with a sentence when embedded Postgres or NATS has ended and cannot be started again.
   */
  readonly failed: Promise<string>;
}

/** Postgres and NATS, and the environment variables with which the components reach them. */
export interface BackingServers extends AsyncDisposable {
  readonly environment: Environment;
  readonly adminUrl: string;
  readonly failed: Promise<string>;
  readonly pids: readonly number[];
}

const gibibyte = 1_073_741_824;
const storeBytesMin = 10 * gibibyte;
type Passwords = Readonly<
  Record<`POSTGRES_${Component}` | `NATS_${Component | 'provision'}`, string>
>;

/**
 * Starts embedded Postgres and NATS, unless the environment names other servers. Creates missing
 * keys, migrates the database, and returns the environment for the components.
 */
export async function startBacking(
  environment: Environment,
  options: { dataDir: string; durable?: boolean; beforeServers?: () => Promise<void> },
): Promise<BackingServers> {
  const { dataDir, durable = true, beforeServers } = options;
  await using startup = new AsyncDisposableStack();
  const home = resolve(dataDir);
  if (!isSet(environment, 'DATABASE_URL')) {
    const logger = createOwnLogger('embedded', environment);
    await checkCanStartPostgres({ dataDir: home, logger });
  }
  startup.use(await lockDataDir(home, { waitMs: 10_000 }));
  await beforeServers?.();
  const passwords = await openKeyFile(home, [
    ...keyNames,
    ...components.map((component) => `POSTGRES_${component}` as const),
    ...[...components, 'provision' as const].map((user) => `NATS_${user}` as const),
  ]);
  const madeKeys = makeMissingKeys(environment, passwords);

  const [postgres, nats] = await startServers(environment, {
    startup,
    home,
    durable,
    passwords,
  });
  if (postgres !== undefined) await createDatabase(postgres.adminUrl, databaseName);
  const sample = postgres && startup.use(await startSampleBeside(environment, home));
  const roles = Object.fromEntries(
    schemaOwners.map((user) => [user, { user, password: passwords[`POSTGRES_${user}`] }]),
  );
  const all = {
    ...environment,
    ...madeKeys,
    ...sample?.settings,
    ...(postgres && makeDatabaseVariables(postgres, roles)),
    ...(nats && makeBusVariables(nats.url, (user) => passwords[`NATS_${user}`])),
  };
  const adminUrl = await provision(all, postgres === undefined ? {} : roles);

  const running = startup.move();
  return {
    environment: all,
    adminUrl,
    get pids() {
      return [postgres?.pid, nats?.pid].filter((pid) => pid !== undefined);
    },
    failed: Promise.race([postgres?.exited, nats?.exited].map((each) => each ?? neverSettles)),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Migrates the database, creates the streams, and returns the URL for the database's owner. */
async function provision(
  environment: Environment,
  roles: Parameters<typeof provisionDatabase>[0]['roles'],
): Promise<string> {
  const config = loadConfig(provisionConfig, environment);
  const adminUrl = databaseUrlOf(config);
  await Promise.all([
    provisionDatabase({ adminUrl, roles }).then(() => provisionTemplates({ adminUrl, ...config })),
    provisionBus({
      natsUrl: config.NATS_URL,
      caFile: config.SERVERS_CA_FILE,
      replicas: config.NATS_REPLICAS,
      auditBytesMax: config.AUDIT_BYTES_MAX,
      eventsBytesMax: config.EVENTS_BYTES_MAX,
      filesBytesMax: config.CAP_FILES_BYTES,
    }),
  ]);
  return adminUrl;
}

/**
 * How many bytes the embedded NATS may store: enough for the streams with the sizes in the
 * settings. While records of an earlier version's single stream are moved, this stream must also
 * fit.
 */
function computeStoreBytes(environment: Environment): number {
  const sizes = loadConfig({ component: 'provision', names: storeSizes }, environment);
  const configuredBytes = storeSizes.reduce((sum, name) => sum + sizes[name], 0);
  return Math.max(storeBytesMin, configuredBytes + 2 * gibibyte);
}

/** Starts the servers that the environment does not name. Disposing the stack stops them. */
async function startServers(
  environment: Environment,
  {
    startup,
    home,
    durable,
    passwords,
  }: { startup: AsyncDisposableStack; home: string; durable: boolean; passwords: Passwords },
): Promise<[EmbeddedPostgres | undefined, EmbeddedNats | undefined]> {
  const logger = createOwnLogger('embedded', environment);
  return Promise.all([
    isSet(environment, 'DATABASE_URL')
      ? undefined
      : startPostgres({ dataDir: home, logger, durable, isWatched: true }).then((server) =>
          startup.use(server),
        ),
    isSet(environment, 'NATS_URL')
      ? undefined
      : startNats({
          dataDir: home,
          logger,
          config: natsAccounts((user) => JSON.stringify(passwords[`NATS_${user}`])),
          storeBytesMax: computeStoreBytes(environment),
          watchAs: { user: 'provision', password: passwords.NATS_provision },
        }).then((server) => startup.use(server)),
  ]);
}

function createOwnLogger(component: string, environment: Environment): Logger {
  // Without a LOG_LEVEL, only warnings and errors are logged. That is the case in tests.
  const levelConfig = defineConfig('start', ['LOG_LEVEL']);
  const { LOG_LEVEL } = loadConfig(levelConfig, { LOG_LEVEL: 'warn', ...environment });
  return createLogger({ component, level: LOG_LEVEL });
}

/**
 * The keys that the environment lacks. They come from the key file, except the public decision key,
 * which is computed from the private one.
 */
function makeMissingKeys(
  environment: Environment,
  storedKeys: Readonly<Record<(typeof keyNames)[number], string>>,
): Record<string, string> {
  const madeKeys: Record<string, string> = {};
  for (const name of keyNames) {
    if (!isSet(environment, name)) madeKeys[name] = storedKeys[name];
  }
  if (!isSet(environment, 'DECISION_PUBLIC_KEY')) {
    // The decision key is read as a setting, because the environment may contain the path of a file
    // instead of the key.
    const signerConfig = defineConfig('auth', ['DECISION_KEY']);
    const { DECISION_KEY } = loadConfig(signerConfig, { ...environment, ...madeKeys });
    madeKeys['DECISION_PUBLIC_KEY'] = publicKeyOf(DECISION_KEY.reveal());
  }
  return madeKeys;
}

/**
 * Starts all eight components on the servers that `startBacking` has started: first auth, last the
 * gateway. The components call each other without NATS, unless `areCallsLocal` is false.
 */
export async function startComponents(
  environment: Environment,
  {
    onCall,
    areCallsLocal = true,
  }: Pick<ServerOptions, 'onCall'> & { areCallsLocal?: boolean } = {},
): Promise<Omit<Running, 'failed'>> {
  await using startup = new AsyncDisposableStack();
  const settings = { SHUTDOWN_PAUSE_SECONDS: '0', ...environment };
  const inProcess = areCallsLocal ? { local: createLocalTransport() } : {};
  const started: RunningComponent[] = [];
  const start = async <N extends SettingName, R extends RunningComponent>(
    spec: ConfigSpec<N>,
    startComponent: (config: Config<N>, inProcess: InProcess) => Promise<R>,
    extraEnvironment: Environment = {},
  ) => {
    const config = loadConfig(spec, { ...settings, ...extraEnvironment });
    const component = startup.use(await startComponent(config, inProcess));
    started.push(component);
    return component;
  };

  // auth starts first, because its address is known only once it listens. Other components need the
  // address, because their requests to the internet must not go there.
  const auth = await start(authConfig, startAuth);
  const oauthEnvironment = { OAUTH_URL: auth.oauthUrl };
  const starting = [
    start(registryConfig, startRegistry, oauthEnvironment),
    start(executorConfig, startExecutor, oauthEnvironment),
    start(policyConfig, startPolicy),
    start(approvalsConfig, startApprovals),
    start(notifierConfig, startNotifier, oauthEnvironment),
    start(auditConfig, startAudit),
  ];
  // If one component cannot start, the others must be stopped. That is possible only once their
  // starts have ended.
  await Promise.allSettled(starting);
  await Promise.all(starting);
  const gateway = await start(
    gatewayConfig,
    (config) => startGateway(config, { ...inProcess, onCall }),
    oauthEnvironment,
  );

  const running = startup.move();
  return {
    url: gateway.url,
    firstSignInUrl: auth.firstSignInUrl,
    failing: () => [...new Set(started.flatMap(({ readiness }) => readiness.failing()))],
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/**
 * Starts the servers, then the components. Disposing the result stops them in the reverse order.
 */
export async function launch(
  environment: Environment,
  options: { dataDir: string; durable?: boolean } & Pick<ServerOptions, 'onCall'>,
): Promise<Running & { pids: readonly number[] }> {
  checkSettings(environment);
  warnOfStrayVariables(createOwnLogger('start', environment), environment);
  await using startup = new AsyncDisposableStack();
  // Components create links to the gateway before it listens, so a free port is chosen first.
  const knownEnvironment =
    environment['PORT'] === '0'
      ? { ...environment, PORT: String(await lastingPort()) }
      : environment;
  const address = loadConfig(defineConfig('gateway', ['HOST', 'PORT']), knownEnvironment);
  // This check runs while the data folder is locked. So the error of a second start is about the
  // folder, and not about the port.
  const beforeServers = () => checkCanListen(address);
  const backing = startup.use(await startBacking(knownEnvironment, { ...options, beforeServers }));
  const all = startup.use(await startComponents(backing.environment, options));
  const running = startup.move();
  return {
    url: all.url,
    firstSignInUrl: all.firstSignInUrl,
    failing: all.failing,
    failed: backing.failed,
    get pids() {
      return backing.pids;
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function makeDatabaseVariables(
  postgres: EmbeddedPostgres,
  roles: Record<string, Role>,
): Record<string, string> {
  const urls = Object.entries(roles).map(([component, role]) => [
    `${component.toUpperCase()}_DATABASE_URL`,
    postgres.urlFor({ ...role, database: databaseName }),
  ]);
  return { DATABASE_URL: withDatabase(postgres.adminUrl), ...Object.fromEntries(urls) };
}

function makeBusVariables(
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

function withDatabase(url: string): string {
  const changedUrl = new URL(url);
  changedUrl.pathname = `/${databaseName}`;
  return changedUrl.href;
}

/**
 * Whether the environment contains the setting: its value, a file with its value, or a value for a
 * single component.
 */
function isSet(environment: Environment, name: string): boolean {
  return Object.entries(environment).some(
    ([key, value]) =>
      value !== undefined && value !== '' && (key.endsWith(name) || key.endsWith(`${name}_FILE`)),
  );
}

const neverSettles = new Promise<string>(() => undefined);
