import { resolve } from 'node:path';

import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { startBacking } from '../../launch.ts';
import { signIn } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import type { MeasuredProgram, Target } from './measure.ts';
import { startProgram } from './processes.ts';

interface GatewayOptions {
  readonly dataDir: string;
  readonly upstreamUrl: string;
  readonly environment?: Record<string, string>;
  /** The folder of the checkout that is run; the current folder by default. */
  readonly checkout?: string;
  /** The number of processes of a component if each has processes of its own; one by default. */
  readonly replicas?: Readonly<Partial<Record<Component, number>>>;
  /** Options of Node for the process of all components. */
  readonly nodeOptions?: readonly string[];
}

/** The arguments with which Node starts `start.ts`, including the flags that `npm start` uses. */
export const startArguments = [
  '--no-parallel-scavenge',
  '--max-semi-space-size=16',
  '--min-semi-space-size=16',
  '--max-old-space-size=960',
  'start.ts',
] as const;

export const settingsFor = ({ upstreamUrl, environment }: GatewayOptions) => ({
  PATH: process.env['PATH'],
  LOG_LEVEL: 'warn',
  TEMPLATES_DIR: resolve('test/bench/templates'),
  EGRESS_ALLOW: new URL(upstreamUrl).host,
  RATE_IDENTITY_PER_MINUTE: '0',
  RATE_USER_PER_MINUTE: '0',
  // So high that the limit never stops the one agent that makes all calls. The gateway still counts
  // the audit bytes.
  AUDIT_BYTES_PER_MINUTE: '9999999999',
  ...environment,
});

/**
 * The body of the benchmark's POST. The template discloses both fields, so the audit log stores
 * them too.
 */
export const itemBody = { name: 'item', note: 'Bought for the workshop on Thursday.' };

/**
 * A running gateway, and three kinds of requests: the usual calls over REST, the same action as a
 * tool call over MCP (`mcp`), and calls with a full URL (`raw`).
 */
export interface Gateway extends MeasuredProgram {
  readonly url: string;
  readonly orgId: string;
  /** The signed-in admin. */
  readonly admin: Caller;
  readonly mcp: Target;
  raw(url: string): Target;
}

/** Starts all components in one process, as `npm start` does. */
export async function startEmbedded(options: GatewayOptions): Promise<Gateway & AsyncDisposable> {
  await using startup = new AsyncDisposableStack();
  const program = startup.use(
    startProgram(
      [...(options.nodeOptions ?? []), ...startArguments],
      {
        ...settingsFor(options),
        PORT: '0',
        DATA_DIR: options.dataDir,
      },
      options.checkout,
    ),
  );
  const signInUrl = await program.find(/Sign in: (\S+)/);
  const measuredGateway = await prepareGateway('gateway, embedded', signInUrl, options.upstreamUrl);
  const running = startup.move();
  return {
    ...measuredGateway,
    rootPids: [program.pid],
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** A gateway whose components have processes of their own. */
export interface DistributedGateway extends Gateway, AsyncDisposable {
  readonly adminUrl: string;
  /** The pids of the component's processes. */
  pidsOf(component: Component): readonly number[];
  /** The target, as a request to each process of the gateway. */
  atEachGateway(target: Target): readonly Target[];
}

/** Starts each component's `main.ts` in a process of its own, with the same Postgres and NATS. */
export async function startDistributed(options: GatewayOptions): Promise<DistributedGateway> {
  await using startup = new AsyncDisposableStack();
  const { dataDir, replicas = {} } = options;
  const ports = Array.from({ length: replicas.gateway ?? 1 }, (_, index) => 18_437 + index);
  const host = `127.0.0.1:${ports[0]}`;
  const backing = startup.use(
    await startBacking(
      { ...settingsFor(options), PORT: String(ports[0]), SHUTDOWN_PAUSE_SECONDS: '0' },
      { dataDir },
    ),
  );
  const environment = { ...backing.environment, BASE_URL: `http://${host}` };
  const programs = components.flatMap((component) =>
    Array.from({ length: replicas[component] ?? 1 }, (_, index) => {
      const own = component === 'gateway' ? { PORT: String(ports[index]) } : {};
      const program = startProgram([`${component}/main.ts`], { ...environment, ...own });
      return { component, program: startup.use(program) };
    }),
  );
  const auth = programs.find(({ component }) => component === 'auth')?.program;
  const signInUrl = (await auth?.find(/Sign in: (\S+)/)) ?? '';
  await waitUntil('every gateway is ready', async () => {
    const replies = await Promise.all(
      ports.map((port) => fetch(`http://127.0.0.1:${port}/health/ready`)),
    );
    return replies.every(({ ok }) => ok);
  });
  const measuredGateway = await prepareGateway(
    'gateway, process per component',
    signInUrl,
    options.upstreamUrl,
  );
  const running = startup.move();
  return {
    ...measuredGateway,
    adminUrl: backing.adminUrl,
    pidsOf: (component) =>
      programs.flatMap((each) => (each.component === component ? each.program.pid : [])),
    // A gateway answers for the host of BASE_URL alone.
    atEachGateway: (target) =>
      ports.map((port) => ({
        ...target,
        url: target.url.replace(host, `127.0.0.1:${port}`),
        headers: { ...target.headers, host },
      })),
    rootPids: [...backing.pids, ...programs.map(({ program }) => program.pid)],
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Connects the upstream, and allows one agent to create items without an approval. */
export async function prepareGateway(
  name: string,
  signInUrl: string,
  upstreamUrl: string,
): Promise<Gateway> {
  const { origin } = new URL(signInUrl);
  const user = await signIn(signInUrl);
  await waitUntil('every component answers', async () => {
    const { body } = await user.get('/v1/status');
    return (body as { status?: string }).status === 'ok';
  });
  const me = (await user.get('/v1/identities/me')).body as { org_id: string };
  const orgId = me.org_id;
  const agent = await createResource(user, '/v1/identities/agents', { name: 'bench' });
  const { key } = await createResource(user, `/v1/identities/${agent['id']}/keys`, {
    name: 'bench',
  });
  await connectUpstream(user, upstreamUrl);
  await createResource(user, '/v1/rules', {
    identity_id: agent['id'],
    effect: 'allow',
    pattern: 'org/bench:create_item:*',
  });
  await createResource(user, '/v1/rules', {
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
    admin: user,
    rootPids: [],
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
    post: call({ action: 'create_item', params: itemBody }),
  };
}

/** Connects the upstream as the org's service `bench`, and stores its secret. */
export async function connectUpstream(admin: Caller, upstreamUrl: string): Promise<void> {
  await createResource(admin, '/v1/secrets', {
    name: 'bench_token',
    value: 'CANARY-bench-token',
    tier: 'org',
    allowed_hosts: [new URL(upstreamUrl).host],
  });
  await createResource(admin, '/v1/services', {
    template: 'bench',
    tier: 'org',
    base_url: upstreamUrl,
  });
}

async function createResource(
  user: Caller,
  path: string,
  body: unknown,
): Promise<Record<string, string>> {
  const reply = await user.post(path, body);
  if (reply.status !== 201)
    throw new Error(`${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
  return reply.body as Record<string, string>;
}

export async function waitUntil(what: string, isReached: () => Promise<boolean>): Promise<void> {
  for (let round = 0; round < 1_200; round += 1) {
    if (await isReached().catch(() => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`waited 2 minutes in vain until ${what}`);
}
