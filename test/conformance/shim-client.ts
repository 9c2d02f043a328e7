/**
 * The client program that the conformance suite starts (`conformance client --command …`); the last
 * argument is the address of the suite's server. The program acts as an editor without a person. It
 * speaks over stdio to the real `action-gateway mcp`. If the server requires a login, it first runs
 * the real `action-gateway mcp login`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { connectStateful, connectStateless } from './shim-editor.ts';
import type { Editor, ShimError, Tool } from './shim-editor.ts';

const program = fileURLToPath(new URL('../../cli/bin.mjs', import.meta.url));
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';
const version = process.env['MCP_CONFORMANCE_PROTOCOL_VERSION'] ?? '2025-11-25';
const suiteContext = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as {
  client_id?: string;
  client_secret?: string;
};
/**
 * The client id for a server of the suite that supports client ID metadata documents. It is the URL
 * of a metadata document that the suite knows.
 */
const metadataDocumentUrl = 'https://conformance-test.local/client-metadata.json';
/** The client gives up after this many attempts, as a person would. */
const attemptsMax = 3;

const url = process.argv.at(-1) ?? '';
const folder = await mkdtemp(join(tmpdir(), 'shim-client-'));
const credentialFile = join(folder, 'mcp.json');
try {
  const needsLogin = scenario.startsWith('auth/');
  if (needsLogin) await login();
  const connect = version < '2026' ? connectStateful : connectStateless;
  await using editor = await connect({
    command: process.execPath,
    args: [program, 'mcp'],
    env: needsLogin
      ? { ACTION_GATEWAY_CREDENTIAL_FILE: credentialFile }
      : { ACTION_GATEWAY_KEY: 'aak_CANARYconformance', ACTION_GATEWAY_URL: url },
    version,
  });
  await playScenario(editor);
} finally {
  await rm(folder, { recursive: true });
}

/** Does what any editor does: lists the tools and calls them. */
async function playScenario(editor: Editor): Promise<void> {
  const tools = await retryWithLogin(() => editor.listTools());
  for (const tool of tools) {
    await retryWithLogin(() => editor.callTool(tool.name, argumentsFor(tool, tools)));
  }
}

function argumentsFor({ name, inputSchema }: Tool, tools: readonly Tool[]) {
  // The tool `json_schema_echo` expects the input schema of the server's first tool, as the client
  // received it.
  if (name === 'json_schema_echo') return { schema: tools[0]?.inputSchema };
  const properties = Object.entries(inputSchema.properties ?? {});
  return Object.fromEntries(
    properties.map(([key, { type }]) => [key, type === 'number' ? 1 : 'a']),
  );
}

/**
 * Runs a request. If it fails, does what the shim's error message tells a person to do (log in, or
 * ask for another scope), and repeats the request.
 */
async function retryWithLogin<T>(request: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await request();
    } catch (error) {
      const { data } = error as ShimError;
      if (attempt === attemptsMax) throw error;
      if (data?.error === 'insufficient_scope') await login(data.scope);
      else if (data?.status === 401) await login();
      else if (data?.supported?.includes(version) !== true) throw error;
    }
  }
}

async function login(scope?: string): Promise<void> {
  const clientId = scenario === 'auth/basic-cimd' ? metadataDocumentUrl : suiteContext.client_id;
  const child = spawn(
    process.execPath,
    [
      program,
      'mcp',
      'login',
      '--no-browser',
      '--url',
      url,
      '--credential-file',
      credentialFile,
      ...(scope === undefined ? [] : ['--scope', scope]),
      ...(clientId === undefined ? [] : ['--client-id', clientId]),
    ],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ACTION_GATEWAY_CLIENT_SECRET: suiteContext.client_secret },
    },
  );
  const exit = once(child, 'exit');
  for await (const line of createInterface(child.stdout)) {
    if (URL.canParse(line.trim())) await browse(line.trim());
  }
  const [code] = (await exit) as [number | null];
  if (code !== 0) throw new Error(`login ended with ${code}`);
}

/**
 * Opens an address as a browser would. The suite's pages give consent and redirect by themselves,
 * so no person is needed.
 */
async function browse(address: string): Promise<void> {
  const page = await fetch(address);
  await page.text();
}
