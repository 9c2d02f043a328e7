/**
 * The client that the conformance suite starts (`… client --command`): an MCP client over stdio
 * that drives the real `action-gateway mcp`, and where a scenario wants it, the real
 * `action-gateway mcp login` with a browser that follows redirects and nothing else.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../../cli/bin.mjs', import.meta.url));
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';
const version = process.env['MCP_CONFORMANCE_PROTOCOL_VERSION'] ?? '2025-11-25';
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as {
  client_id?: string;
  client_secret?: string;
  toolCalls?: { name: string; arguments?: Record<string, unknown> }[];
};
/** Of revision 2026-07-28 on, each request says who asks; before, `initialize` did. */
const isStateless = version >= '2026';
const clientInfo = { name: 'conformance-client', version: '1.0.0' };
/** What the suite calls a client whose metadata document it expects. */
const METADATA_DOCUMENT = 'https://conformance-test.local/client-metadata.json';
const MAX_STEP_UPS = 2;

const url = process.argv.at(-1) ?? '';
const folder = await mkdtemp(join(tmpdir(), 'shim-client-'));
const credentialFile = join(folder, 'mcp.json');
try {
  const needsLogin = scenario.startsWith('auth/');
  if (needsLogin) await login();
  await using shim = startShim(
    needsLogin ? {} : { ACTION_GATEWAY_KEY: 'aak_CANARYconformance', ACTION_GATEWAY_URL: url },
  );
  await play(shim);
} finally {
  await rm(folder, { recursive: true });
}

/** A whole conversation: what any editor does with a server that has tools. */
async function play(shim: Shim): Promise<void> {
  if (isStateless) {
    await shim.request('server/discover');
  } else {
    await shim.request('initialize', { protocolVersion: version, capabilities: {}, clientInfo });
    shim.notify('notifications/initialized');
  }
  const { tools } = (await requestWithStepUp(shim, 'tools/list')) as {
    tools: { name: string; inputSchema: { properties?: Record<string, { type?: string }> } }[];
  };
  for (const { name, inputSchema } of tools) {
    await requestWithStepUp(shim, 'tools/call', { name, arguments: argumentsFor(inputSchema) });
  }
}

function argumentsFor({ properties = {} }: { properties?: Record<string, { type?: string }> }) {
  return Object.fromEntries(
    Object.entries(properties).map(([name, { type }]) => [name, type === 'number' ? 1 : 'a']),
  );
}

/** Where the shim says that a scope is missing, does what it says: logs in again with it. */
async function requestWithStepUp(
  shim: Shim,
  method: string,
  params: Record<string, unknown> = {},
): Promise<unknown> {
  for (let stepUps = 0; ; stepUps++) {
    try {
      return await shim.request(method, params);
    } catch (error) {
      const { data } = error as RpcError;
      if (data?.error !== 'insufficient_scope' || stepUps === MAX_STEP_UPS) throw error;
      await login(data.scope);
    }
  }
}

async function login(scope?: string): Promise<void> {
  const clientId = context.client_id ?? (scenario === 'auth/basic-cimd' && METADATA_DOCUMENT);
  const child = spawn(
    process.execPath,
    [
      ...[program, 'mcp', 'login', '--no-browser'],
      ...['--url', url, '--credential-file', credentialFile],
      ...(scope === undefined ? [] : ['--scope', scope]),
      ...(typeof clientId === 'string' ? ['--client-id', clientId] : []),
    ],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ACTION_GATEWAY_CLIENT_SECRET: context.client_secret },
    },
  );
  const exit = once(child, 'exit');
  for await (const line of createInterface(child.stdout)) {
    if (URL.canParse(line.trim())) await browse(line.trim());
  }
  const [code] = (await exit) as [number | null];
  if (code !== 0) throw new Error(`login ended with ${code}`);
}

/** A browser without a person: every page of the suite's server agrees and redirects. */
async function browse(address: string): Promise<void> {
  const page = await fetch(address);
  await page.text();
}

interface RpcError extends Error {
  readonly data?: { readonly error?: string; readonly scope?: string };
}
interface Shim extends AsyncDisposable {
  readonly request: (method: string, params?: Record<string, unknown>) => Promise<unknown>;
  readonly notify: (method: string) => void;
}

function startShim(credential: NodeJS.ProcessEnv): Shim {
  const child = spawn(process.execPath, [program, 'mcp', '--credential-file', credentialFile], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...credential },
  });
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  const fromShim = createInterface(child.stdout);
  fromShim.on('line', (line) => {
    const { id, result, error } = JSON.parse(line) as {
      id?: number;
      result?: unknown;
      error?: { message: string; data?: unknown };
    };
    const waiter = waiting.get(id ?? 0);
    if (error) waiter?.reject(Object.assign(new Error(error.message), { data: error.data }));
    else waiter?.resolve(result);
  });
  fromShim.once('close', () => {
    for (const { reject } of waiting.values()) reject(new Error('the shim has ended'));
  });
  let lastId = 0;
  const send = (message: Record<string, unknown>) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': clientInfo,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return {
    request: (method, params = {}) => {
      const id = ++lastId;
      const waiter = Promise.withResolvers<unknown>();
      waiting.set(id, waiter);
      send({ id, method, params: isStateless ? { ...params, _meta: meta } : params });
      return waiter.promise;
    },
    notify: (method) => send({ method }),
    [Symbol.asyncDispose]: async () => {
      const exit = once(child, 'exit');
      child.stdin.end();
      await exit;
    },
  };
}
