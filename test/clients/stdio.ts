import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';

import { answerOf } from './client.ts';
import type { TestedClient } from './client.ts';

/**
 * Options with a longer time limit for a request, because programs may start slowly on a busy
 * machine.
 */
export const longTimeout = { timeout: 60_000 };

/** Starts a program and speaks MCP with it over stdio, as an editor does. */
export async function connectStdio(
  args: string[],
  env: Readonly<Record<string, string>>,
): Promise<Omit<TestedClient, 'accessToken'>> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args,
    env: { ...env },
    stderr: 'pipe',
  });
  let errorOutput = '';
  transport.stderr?.on('data', (chunk: Buffer) => (errorOutput += chunk.toString()));
  const client = new Client({ name: 'editor', version: '1.0.0' });
  await client.connect(transport, longTimeout).catch((error: unknown) => {
    throw new Error(`it did not start: ${errorOutput}`, { cause: error });
  });
  return {
    listTools: async () =>
      (await client.listTools(undefined, longTimeout)).tools.map(({ name }) => name),
    callTool: async (name, toolArguments) => {
      const call = { name, arguments: { ...toolArguments } };
      const answer = await client.callTool(call, undefined, longTimeout).catch((error: unknown) => {
        throw new Error(`${name} failed, and it said: ${errorOutput}`, { cause: error });
      });
      return answerOf(answer as CallToolResult);
    },
    close: () => client.close(),
  };
}
