import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { expect } from 'vitest';

import { freePort } from '../e2e/support/port.ts';
import { answerOf } from './client.ts';
import type { JudgedClient } from './client.ts';
import type { Desk } from './desk.ts';

const program = fileURLToPath(new URL('../../node_modules/.bin/mcp-inspector', import.meta.url));

/**
 * The Inspector on the command line, which is a new process for every request. It has a way to
 * revoke what it holds (`--relogin`), which in 2.12.0 never asks the server: it looks for the
 * revocation endpoint where only its enterprise sign-in keeps it.
 */
export const connectInspector =
  (era: 'legacy' | 'modern') =>
  async (desk: Desk, url: string): Promise<JudgedClient> => {
    const callback = `http://127.0.0.1:${await freePort()}/oauth/callback`;
    const env = {
      ...desk.env,
      MCP_STORAGE_DIR: desk.home,
      MCP_INSPECTOR_SECRET_STORE: 'file',
      // There is no terminal, and a person all the same.
      MCP_AUTO_OPEN_ENABLED: 'true',
    };
    const inspect = async (...args: string[]) => {
      const { stdout } = await promisify(execFile)(
        process.execPath,
        [
          program,
          '--cli',
          url,
          '--transport',
          'http',
          '--callback-url',
          callback,
          '--protocol-era',
          era,
          '--connect-timeout',
          '60000',
          '--format',
          'json',
          ...args,
        ],
        { env },
      );
      const { result, schemaFindings = [] } = JSON.parse(stdout);
      // What --strict says about schemas that some client could not use.
      expect(schemaFindings).toEqual([]);
      return result;
    };
    return {
      listTools: async () => {
        const { tools } = await inspect('--method', 'tools/list', '--strict');
        return tools.map(({ name }: { name: string }) => name);
      },
      callTool: async (name, given) => {
        const call = ['--method', 'tools/call', '--tool-name', name];
        return answerOf(await inspect(...call, '--tool-args-json', JSON.stringify(given)));
      },
      accessToken: () => desk.storedAccessToken(),
      close: async () => undefined,
    };
  };
