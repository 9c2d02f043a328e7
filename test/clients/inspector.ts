import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { expect } from 'vitest';

import { lastingPort } from '../../services-src/embedded/index.ts';
import { answerOf } from './client.ts';
import type { TestedClient } from './client.ts';
import type { Desk } from './desk.ts';

const program = fileURLToPath(new URL('../../node_modules/.bin/mcp-inspector', import.meta.url));

/**
 * The command line of MCP Inspector, which starts a new process for every request. A test cannot
 * use its option `--relogin` to revoke the tokens: version 2.12.0 never sends a revocation. It
 * looks for the revocation endpoint in a place where only its enterprise sign-in stores one.
 */
export const connectInspector =
  (protocolEra: 'legacy' | 'modern') =>
  async (desk: Desk, url: string): Promise<TestedClient> => {
    const callback = `http://127.0.0.1:${await lastingPort()}/oauth/callback`;
    const env = {
      ...desk.env,
      MCP_STORAGE_DIR: desk.home,
      MCP_INSPECTOR_SECRET_STORE: 'file',
      // Makes the Inspector open the browser although it runs without a terminal.
      MCP_AUTO_OPEN_ENABLED: 'true',
    };
    const runInspector = async (...args: string[]) => {
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
          protocolEra,
          '--connect-timeout',
          '60000',
          '--format',
          'json',
          ...args,
        ],
        { env },
      );
      const { result, schemaFindings = [] } = JSON.parse(stdout);
      // With --strict, the Inspector also reports schemas that some other clients cannot use.
      expect(schemaFindings).toEqual([]);
      return result;
    };
    return {
      listTools: async () => {
        const { tools } = await runInspector('--method', 'tools/list', '--strict');
        return tools.map(({ name }: { name: string }) => name);
      },
      callTool: async (name, toolArguments) => {
        const call = ['--method', 'tools/call', '--tool-name', name];
        return answerOf(
          await runInspector(...call, '--tool-args-json', JSON.stringify(toolArguments)),
        );
      },
      accessToken: () => desk.storedAccessToken(),
      close: async () => undefined,
    };
  };
