import { fileURLToPath } from 'node:url';

import type { JudgedClient } from './client.ts';
import type { Desk } from './desk.ts';
import { connectStdio } from './stdio.ts';

const program = fileURLToPath(
  new URL('../../node_modules/mcp-remote/dist/proxy.js', import.meta.url),
);

/**
 * `mcp-remote` in front of an editor, in its older or its newer way. Where the sign-in it has kept
 * was ended, 0.15.1 opens the browser before it listens for the answer.
 */
export const connectMcpRemote =
  (...options: string[]) =>
  async (desk: Desk, url: string): Promise<JudgedClient> => {
    const args = [program, url, '--auth-timeout', '60', ...options];
    const client = await connectStdio(args, { ...desk.env, MCP_REMOTE_CONFIG_DIR: desk.home });
    return { ...client, accessToken: () => desk.storedAccessToken() };
  };
