import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Environment } from '#config';
import { startBacking, startComponents } from '../../launch.ts';
import type { Running } from '../../launch.ts';
import { provisionTemplates } from '../../provision.ts';
import { signIn, createCallerWithKey } from './http.ts';
import type { Caller } from './http.ts';
import { copyDatabase } from './database-copy.ts';
import { openTables } from './database.ts';
import type { Tables } from './database.ts';
import { createPerson } from './people.ts';
import type { Person } from './people.ts';
import { lastingPort } from '../../services-src/embedded/index.ts';
import { startUpstream } from './upstream.ts';
import type { Upstream } from './upstream.ts';

export interface Agent extends Caller {
  readonly id: string;
  readonly key: string;
}

export interface World extends AsyncDisposable {
  readonly url: string;
  /** The first admin of the first org. */
  readonly admin: Person;
  readonly upstream: Upstream;
  readonly tables: Tables;
  /**
   * The settings with which all components were started, including keys, server URLs and logins.
   */
  readonly environment: Environment;
  person(fields: Parameters<typeof createPerson>[2]): Promise<Person>;
  /**
   * Runs the migration. An operator does this after a change in the folder of built-in templates.
   */
  recordTemplates(): Promise<void>;
}

type StartFunction = (
  environment: Environment,
) => Promise<AsyncDisposable & Pick<Running, 'url' | 'firstSignInUrl'>>;

/**
 * All components run in this process, so they can call each other directly. With
 * `TEST_TRANSPORT=bus` they call each other over NATS instead.
 */
const startInProcess: StartFunction = (environment) =>
  startComponents(environment, { areCallsLocal: process.env['TEST_TRANSPORT'] !== 'bus' });

/**
 * Starts the whole product with its own database and NATS server, and one upstream that the product
 * may call. All components run in this process unless `startProduct` starts them elsewhere.
 */
export async function startWorld(
  settings: Record<string, string> = {},
  startProduct: StartFunction = startInProcess,
): Promise<World> {
  await using startup = new AsyncDisposableStack();
  const upstream = startup.use(await startUpstream());
  const dataDir = await mkdtemp(join(tmpdir(), 'aag-world-'));
  startup.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  const database = startup.use(await copyDatabase());
  const environment = {
    DATABASE_URL: database.adminUrl,
    ...database.variables,
    LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'silent',
    PORT: String(await lastingPort()),
    SHUTDOWN_PAUSE_SECONDS: '0',
    RATE_SIGN_IN_PER_MINUTE: '0',
    RATE_PUBLIC_PER_MINUTE: '0',
    RATE_IDENTITY_PER_MINUTE: '0',
    RATE_USER_PER_MINUTE: '0',
    ...settings,
    EGRESS_ALLOW: [upstream.host, settings['EGRESS_ALLOW'] ?? []].flat().join(),
  };
  const backingServers = startup.use(await startBacking(environment, { dataDir, durable: false }));
  const { url, firstSignInUrl } = startup.use(await startProduct(backingServers.environment));
  const tables = startup.use(await openTables(backingServers.adminUrl));
  if (firstSignInUrl === null) throw new Error('a fresh installation gave no sign-in link');
  const session = await signIn(firstSignInUrl);
  const me = (await session.get('/v1/identities/me')).body;

  const running = startup.move();
  return {
    url,
    admin: { id: me.id, orgId: me.org_id, ...session },
    upstream,
    tables,
    environment: backingServers.environment,
    recordTemplates: () =>
      provisionTemplates({
        adminUrl: backingServers.adminUrl,
        TEMPLATES_DIR: settings['TEMPLATES_DIR'] ?? 'service-templates',
        EGRESS_ALLOW: environment.EGRESS_ALLOW,
      }),
    person: (fields) => createPerson(tables.query, url, fields),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Creates an agent of a user, and a key for the agent. */
export async function createAgent(url: string, owner: Caller, name: string): Promise<Agent> {
  const agent = successfulBodyOf(await owner.post('/v1/identities/agents', { name }));
  const { key } = successfulBodyOf(
    await owner.post(`/v1/identities/${agent.id}/keys`, { name: 'test' }),
  );
  return { id: agent.id, key, ...createCallerWithKey(url, key) };
}

export function successfulBodyOf(reply: Awaited<ReturnType<Caller['get']>>) {
  if (reply.status >= 300) throw new Error(`${reply.status} ${JSON.stringify(reply.body)}`);
  return reply.body;
}

/**
 * Polls until a condition is true that the product fulfils only after its answer. No test may use
 * this to measure time, because everything can take long on a busy machine.
 */
export async function pollUntil(
  isTrue: () => boolean | Promise<boolean>,
  awaitedEvent: string,
): Promise<void> {
  for (let round = 0; round < 2_000; round += 1) {
    if (await isTrue()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`waited 100 s in vain: ${awaitedEvent}`);
}
