import { fileURLToPath } from 'node:url';

import type { JudgedClient } from './client.ts';
import type { Desk } from './desk.ts';
import { connectStdio } from './stdio.ts';

const program = fileURLToPath(
  new URL('../../node_modules/mcp-remote/dist/proxy.js', import.meta.url),
);

/**
 * `mcp-remote` in front of an editor, in its older or its newer way. When its sign-in is ended
 * while it runs, 0.15.1 may begin two new ones at once, one for its stream and one for a call, and
 * redeem the code of one with the verifier of the other. Starting it again helps.
 */
export const connectMcpRemote =
  (...options: string[]) =>
  async (desk: Desk, url: string): Promise<JudgedClient> => {
    const args = [program, url, '--auth-timeout', '60', ...options];
    const client = await connectStdio(args, { ...desk.env, MCP_REMOTE_CONFIG_DIR: desk.home });
    return { ...client, accessToken: () => desk.storedAccessToken() };
  };
