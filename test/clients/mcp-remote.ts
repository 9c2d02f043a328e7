import { fileURLToPath } from 'node:url';

import type { TestedClient } from './client.ts';
import type { Desk } from './desk.ts';
import { connectStdio } from './stdio.ts';

const program = fileURLToPath(
  new URL('../../node_modules/mcp-remote/dist/proxy.js', import.meta.url),
);

/**
 * `mcp-remote`, the proxy between an editor and a remote MCP server, for the older or the newer MCP
 * revision. If its stored sign-in has ended, version 0.15.1 opens the browser before it listens for
 * the redirect.
 */
export const connectMcpRemote =
  (...options: string[]) =>
  async (desk: Desk, url: string): Promise<TestedClient> => {
    const args = [program, url, '--auth-timeout', '60', ...options];
    const client = await connectStdio(args, { ...desk.env, MCP_REMOTE_CONFIG_DIR: desk.home });
    return { ...client, accessToken: () => desk.storedAccessToken() };
  };
