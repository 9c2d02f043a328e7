import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';

import { answerOf } from './client.ts';
import type { JudgedClient } from './client.ts';

/** A program started as a person started it may wait for a busy machine. */
export const patience = { timeout: 60_000 };

/** An editor that starts a program and speaks MCP with it over stdio. */
export async function connectStdio(
  args: string[],
  env: Readonly<Record<string, string>>,
): Promise<Omit<JudgedClient, 'accessToken'>> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args,
    env: { ...env },
    stderr: 'pipe',
  });
  let said = '';
  transport.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const client = new Client({ name: 'editor', version: '1.0.0' });
  await client.connect(transport, patience).catch((error: unknown) => {
    throw new Error(`it did not start: ${said}`, { cause: error });
  });
  return {
    listTools: async () =>
      (await client.listTools(undefined, patience)).tools.map(({ name }) => name),
    callTool: async (name, given) => {
      const call = { name, arguments: { ...given } };
      const answer = await client.callTool(call, undefined, patience).catch((error: unknown) => {
        throw new Error(`${name} failed, and it said: ${said}`, { cause: error });
      });
      return answerOf(answer as CallToolResult);
    },
    close: () => client.close(),
  };
}
