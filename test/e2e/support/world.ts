import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Environment } from '#config';
import { startBacking, startComponents } from '../../../launch.ts';
import type { Running } from '../../../launch.ts';
import { provisionTemplates } from '../../../provision.ts';
import { signIn, withKey } from '../../support/http.ts';
import type { Caller } from '../../support/http.ts';
import { openTables } from './database.ts';
import type { Tables } from './database.ts';
import { createPerson } from './people.ts';
import type { Person } from './people.ts';
import { freePort } from './port.ts';
import { startUpstream } from './upstream.ts';
import type { Upstream } from './upstream.ts';

export interface Agent extends Caller {
  readonly id: string;
  readonly key: string;
}

export interface World extends AsyncDisposable {
  readonly url: string;
  /** The first admin, of the first org. */
  readonly admin: Person;
  readonly upstream: Upstream;
  readonly tables: Tables;
  /** The settings all components were started with: keys, servers, logins. */
  readonly environment: Environment;
  person(fields: Parameters<typeof createPerson>[2]): Promise<Person>;
  /** What the operator does after changing the folder of built-in templates: migrates. */
  recordTemplates(): Promise<void>;
}

type Start = (
  environment: Environment,
) => Promise<AsyncDisposable & Pick<Running, 'url' | 'firstSignInUrl'>>;

/** The whole product on its own Postgres and NATS, with one upstream that it may reach; in this process unless told. */
export async function startWorld(
  settings: Record<string, string> = {},
  start: Start = startComponents,
): Promise<World> {
  await using startup = new AsyncDisposableStack();
  const upstream = startup.use(await startUpstream());
  const dataDir = await mkdtemp(join(tmpdir(), 'aag-world-'));
  startup.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  const environment = {
    LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'silent',
    PORT: String(await freePort()),
    RATE_SIGN_IN_PER_MINUTE: '0',
    RATE_PUBLIC_PER_MINUTE: '0',
    RATE_IDENTITY_PER_MINUTE: '0',
    RATE_USER_PER_MINUTE: '0',
    ...settings,
    EGRESS_ALLOW: [upstream.host, settings['EGRESS_ALLOW'] ?? []].flat().join(),
  };
  const backing = startup.use(await startBacking(environment, { dataDir, durable: false }));
  const { url, firstSignInUrl } = startup.use(await start(backing.environment));
  const tables = startup.use(await openTables(backing.adminUrl));
  if (firstSignInUrl === null) throw new Error('a fresh installation gave no sign-in link');
  const session = await signIn(firstSignInUrl);
  const me = (await session.get('/v1/identities/me')).body;

  const running = startup.move();
  return {
    url,
    admin: { id: me.id, orgId: me.org_id, ...session },
    upstream,
    tables,
    environment: backing.environment,
    recordTemplates: () =>
      provisionTemplates({
        adminUrl: backing.adminUrl,
        TEMPLATES_DIR: settings['TEMPLATES_DIR'] ?? 'service-templates',
        EGRESS_ALLOW: environment.EGRESS_ALLOW,
      }),
    person: (fields) => createPerson(tables.query, url, fields),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** An agent of a user, with a key. */
export async function createAgent(url: string, owner: Caller, name: string): Promise<Agent> {
  const agent = created(await owner.post('/v1/identities/agents', { name }));
  const { key } = created(await owner.post(`/v1/identities/${agent.id}/keys`, { name: 'test' }));
  return { id: agent.id, key, ...withKey(url, key) };
}

export function created(reply: Awaited<ReturnType<Caller['get']>>) {
  if (reply.status >= 300) throw new Error(`${reply.status} ${JSON.stringify(reply.body)}`);
  return reply.body;
}

/** Polls for what happens behind an answer; never a measure of time. */
export async function until(isTrue: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let round = 0; round < 600; round += 1) {
    if (await isTrue()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`waited 30 s in vain: ${what}`);
}
