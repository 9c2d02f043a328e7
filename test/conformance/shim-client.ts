/**
 * The client that the conformance suite starts (`conformance client --command …`, with the address
 * of its server as the last argument): an editor without a person. It talks over stdio to the
 * real `action-gateway mcp`, after the real `action-gateway mcp login` where the server wants one.
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
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as {
  client_id?: string;
  client_secret?: string;
};
/** What the suite calls a client whose metadata document it knows. */
const metadataDocument = 'https://conformance-test.local/client-metadata.json';
/** A person would not try for ever either. */
const maxAttempts = 3;

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
  await play(editor);
} finally {
  await rm(folder, { recursive: true });
}

/** What any editor does: finds the tools and calls them. */
async function play(editor: Editor): Promise<void> {
  const tools = await persistently(() => editor.listTools());
  for (const tool of tools) {
    await persistently(() => editor.callTool(tool.name, argumentsFor(tool, tools)));
  }
}

function argumentsFor({ name, inputSchema }: Tool, tools: readonly Tool[]) {
  // It wants back what another tool's declaration was when it arrived here.
  if (name === 'json_schema_echo') return { schema: tools[0]?.inputSchema };
  const properties = Object.entries(inputSchema.properties ?? {});
  return Object.fromEntries(
    properties.map(([key, { type }]) => [key, type === 'number' ? 1 : 'a']),
  );
}

/** Does what the shim's errors say: log in, with another scope where one is missing. */
async function persistently<T>(request: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await request();
    } catch (error) {
      const { data } = error as ShimError;
      if (attempt === maxAttempts) throw error;
      if (data?.error === 'insufficient_scope') await login(data.scope);
      else if (data?.status === 401) await login();
      else if (data?.supported?.includes(version) !== true) throw error;
    }
  }
}

async function login(scope?: string): Promise<void> {
  const clientId = scenario === 'auth/basic-cimd' ? metadataDocument : context.client_id;
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
