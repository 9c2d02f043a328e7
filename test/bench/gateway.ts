import { resolve } from 'node:path';

import { components } from '#contracts/vocabulary';
import { startBacking } from '../../launch.ts';
import { signIn } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import type { Subject, Target } from './measure.ts';
import { startProgram } from './processes.ts';

interface Options {
  readonly dataDir: string;
  readonly upstreamUrl: string;
  readonly environment?: Record<string, string>;
  /** The checkout to run; this one unless told. */
  readonly checkout?: string;
  /** Processes of the executor, when each component has its own; one unless told. */
  readonly executors?: number;
}

const settingsOf = ({ upstreamUrl, environment }: Options) => ({
  PATH: process.env['PATH'],
  LOG_LEVEL: 'warn',
  TEMPLATES_DIR: resolve('test/bench/templates'),
  EGRESS_ALLOW: new URL(upstreamUrl).host,
  RATE_IDENTITY_PER_MINUTE: '0',
  RATE_USER_PER_MINUTE: '0',
  // Counted as ever, but one agent may fill the log.
  AUDIT_BYTES_PER_MINUTE: '9999999999',
  ...environment,
});

/** What a POST sends, and the audit log shows of it: two disclosed fields. */
export const item = { name: 'item', note: 'Bought for the workshop on Thursday.' };

/** A gateway also answers the same GET as a tool's call over MCP, and raw ones of any URL. */
export interface Gateway extends Subject {
  readonly url: string;
  readonly orgId: string;
  readonly mcp: Target;
  raw(url: string): Target;
}

/** Everything in one process, as `npm start` runs it. */
export async function startEmbedded(options: Options): Promise<Gateway & AsyncDisposable> {
  await using startup = new AsyncDisposableStack();
  const program = startup.use(
    // With the flags that `npm start` gives.
    startProgram(
      [
        '--no-parallel-scavenge',
        '--max-semi-space-size=16',
        '--min-semi-space-size=16',
        '--max-old-space-size=960',
        'start.ts',
      ],
      {
        ...settingsOf(options),
        PORT: '0',
        DATA_DIR: options.dataDir,
      },
      options.checkout,
    ),
  );
  const signInUrl = await program.find(/Sign in: (\S+)/);
  const subject = await prepare('gateway, embedded', signInUrl, options.upstreamUrl);
  const running = startup.move();
  return { ...subject, roots: [program.pid], [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** One process per component, each with its `main.ts`, on the same servers. */
export async function startDistributed(
  options: Options,
): Promise<Gateway & AsyncDisposable & { readonly adminUrl: string }> {
  await using startup = new AsyncDisposableStack();
  const port = '18437';
  const settings = { ...settingsOf(options), PORT: port };
  const backing = startup.use(await startBacking({ ...settings }, { dataDir: options.dataDir }));
  const processes = components.flatMap((component) =>
    Array.from(
      { length: component === 'executor' ? (options.executors ?? 1) : 1 },
      () => component,
    ),
  );
  const programs = processes.map((component) =>
    startup.use(startProgram([`${component}/main.ts`], backing.environment)),
  );
  const auth = programs[processes.indexOf('auth')];
  const signInUrl = (await auth?.find(/Sign in: (\S+)/)) ?? '';
  await until(`http://127.0.0.1:${port} is ready`, async () => {
    const reply = await fetch(`http://127.0.0.1:${port}/health/ready`);
    return reply.ok;
  });
  const subject = await prepare('gateway, process per component', signInUrl, options.upstreamUrl);
  const running = startup.move();
  return {
    ...subject,
    adminUrl: backing.adminUrl,
    roots: [...backing.pids, ...programs.map(({ pid }) => pid)],
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Connects the upstream, and lets one agent create items without being asked. */
async function prepare(name: string, signInUrl: string, upstreamUrl: string): Promise<Gateway> {
  const { origin } = new URL(signInUrl);
  const user = await signIn(signInUrl);
  await until('every component answers', async () => {
    const { body } = await user.get('/v1/status');
    return (body as { status?: string }).status === 'ok';
  });
  const me = (await user.get('/v1/identities/me')).body as { org_id: string };
  const orgId = me.org_id;
  const agent = await created(user, '/v1/identities/agents', { name: 'bench' });
  const { key } = await created(user, `/v1/identities/${agent['id']}/keys`, { name: 'bench' });
  await created(user, '/v1/secrets', {
    name: 'bench_token',
    value: 'CANARY-bench-token',
    tier: 'org',
    allowed_hosts: [new URL(upstreamUrl).host],
  });
  await created(user, '/v1/services', { template: 'bench', tier: 'org', base_url: upstreamUrl });
  await created(user, '/v1/rules', {
    identity_id: agent['id'],
    effect: 'allow',
    pattern: 'org/bench:create_item:*',
  });
  await created(user, '/v1/rules', {
    identity_id: agent['id'],
    effect: 'allow',
    pattern: 'http:GET:**',
  });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const call = (body: unknown) => ({
    url: `${origin}/v1/actions/call`,
    method: 'POST' as const,
    headers,
    body: JSON.stringify({ service: 'bench', ...(body as object) }),
  });
  return {
    name,
    url: origin,
    orgId,
    roots: [],
    get: call({ action: 'get_item', params: { id: '42' } }),
    raw: (url) => call({ service: 'http', method: 'GET', path: url }),
    mcp: {
      url: `${origin}/mcp`,
      method: 'POST',
      headers: { ...headers, accept: 'application/json, text/event-stream' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: 'service_read',
          arguments: { service: 'bench', action: 'get_item', params: { id: '42' } },
        },
      }),
    },
    post: call({ action: 'create_item', params: item }),
  };
}

async function created(user: Caller, path: string, body: unknown): Promise<Record<string, string>> {
  const reply = await user.post(path, body);
  if (reply.status !== 201)
    throw new Error(`${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
  return reply.body as Record<string, string>;
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let round = 0; round < 300; round += 1) {
    if (await holds().catch(() => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`waited 30 s in vain until ${what}`);
}
