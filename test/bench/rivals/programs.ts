/** Installs and starts other gateways, and opens MCP sessions with them. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

import { waitUntil } from '../gateway.ts';
import type { Target } from '../measure.ts';
import { startProgram } from '../processes.ts';
import type { Program } from '../processes.ts';

export const rivalVersions = { executor: '1.5.9', supergateway: '4.0.0' } as const;

const token = 'CANARY-rival';
const executorPort = 18_441;
const supergatewayPort = 18_442;

/** A running gateway that answers MCP calls, each of which reads one item of the upstream. */
export interface Rival extends AsyncDisposable {
  readonly pid: number;
  /** Opens sessions and returns the call of each. */
  openSessions(count: number): Promise<Target[]>;
}

/** Installs the gateways from npm into a folder outside the project. It may take half a minute. */
export async function installRivals(folder: string): Promise<void> {
  await writeFile(join(folder, 'package.json'), '{ "private": true }\n');
  const packages = Object.entries(rivalVersions).map(([name, version]) => `${name}@${version}`);
  const args = ['install', '--no-audit', '--no-fund', '--save-exact', ...packages];
  await promisify(execFile)('npm', args, { cwd: folder, timeout: 300_000 });
}

/** Starts `executor` with the upstream as an OpenAPI integration and a stored API key. */
export async function startExecutor(folder: string, upstreamUrl: string): Promise<Rival> {
  const home = join(folder, 'executor-home');
  const scope = join(home, 'workspace');
  await mkdir(scope, { recursive: true });
  await using startup = new AsyncDisposableStack();
  const program = startup.use(
    startProgram(
      [
        join(folder, 'node_modules/executor/bin/executor'),
        'web',
        `--port=${executorPort}`,
        `--scope=${scope}`,
        `--auth-token=${token}`,
      ],
      { PATH: process.env['PATH'], HOME: home, EXECUTOR_DATA_DIR: join(home, 'data') },
      folder,
    ),
  );
  const url = `http://127.0.0.1:${executorPort}`;
  const headers = { authorization: `Bearer ${token}` };
  await waitUntil('executor answers', async () => {
    const reply = await fetch(`${url}/api/integrations`, { headers });
    return reply.ok;
  });
  await post(`${url}/api/openapi/specs`, headers, {
    spec: { kind: 'blob', value: JSON.stringify(describeItems(upstreamUrl)) },
    slug: 'bench',
    baseUrl: upstreamUrl,
    authenticationTemplate: [
      {
        slug: 'key',
        type: 'apiKey',
        headers: { authorization: ['Bearer ', { type: 'variable', name: 'token' }] },
      },
    ],
  });
  await post(`${url}/api/connections`, headers, {
    owner: 'org',
    name: 'main',
    integration: 'bench',
    template: 'key',
    values: { token: 'CANARY-upstream' },
  });
  const call = {
    name: 'execute',
    arguments: { code: "return await tools.bench.org.main.items.getItem({ id: '42' })" },
  };
  return toRival(program, startup.move(), () => openSession(`${url}/mcp`, headers, call));
}

/** Starts `supergateway`, which starts one process of the MCP server over stdio for each session. */
export async function startSupergateway(folder: string, upstreamUrl: string): Promise<Rival> {
  await using startup = new AsyncDisposableStack();
  const server = [process.execPath, resolve('test/bench/rivals/stdio-server.ts'), upstreamUrl];
  const program = startup.use(
    startProgram(
      [
        join(folder, 'node_modules/supergateway/dist/index.js'),
        `--stdio=${server.join(' ')}`,
        '--outputTransport=streamableHttp',
        '--stateful',
        `--port=${supergatewayPort}`,
        '--logLevel=none',
      ],
      { PATH: process.env['PATH'] },
      folder,
    ),
  );
  const url = `http://127.0.0.1:${supergatewayPort}/mcp`;
  const call = { name: 'get_item', arguments: { id: '42' } };
  await waitUntil('supergateway answers', async () => {
    await openSession(url, {}, call);
    return true;
  });
  return toRival(program, startup.move(), () => openSession(url, {}, call));
}

function toRival(
  { pid }: Program,
  running: AsyncDisposableStack,
  open: () => Promise<Target>,
): Rival {
  return {
    pid,
    openSessions: (count) => Promise.all(Array.from({ length: count }, open)),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Opens an MCP session (Streamable HTTP), and checks that the call returns the item. */
async function openSession(
  url: string,
  headers: Readonly<Record<string, string>>,
  call: object,
): Promise<Target> {
  const accepting = { ...headers, accept: 'application/json, text/event-stream' };
  const opened = await post(url, accepting, {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'bench', version: '1.0.0' },
    },
  });
  const inSession = { ...accepting, 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
  await post(url, inSession, { jsonrpc: '2.0', method: 'notifications/initialized' });
  const body = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: call };
  const { text } = await post(url, inSession, body);
  if (!/xxxx/.test(text)) throw new Error(`${url} did not return the item: ${text}`);
  const jsonHeaders = { ...inSession, 'content-type': 'application/json' };
  return { url, method: 'POST', headers: jsonHeaders, body: JSON.stringify(body) };
}

async function post(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: unknown,
): Promise<{ headers: Headers; text: string }> {
  const reply = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(30_000),
  });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${url} answered ${reply.status}: ${text}`);
  return { headers: reply.headers, text };
}

/** The OpenAPI document of the upstream. */
function describeItems(upstreamUrl: string): object {
  return {
    openapi: '3.0.3',
    info: { title: 'bench', version: '1' },
    servers: [{ url: upstreamUrl }],
    paths: {
      '/items/{id}': {
        get: {
          operationId: 'getItem',
          parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
          responses: { 200: { description: 'The item.' } },
        },
      },
    },
  };
}
