import { join } from 'node:path';

import { vi } from 'vitest';

import { commands } from '../commands.ts';
import { startGateway } from '../gateway.testing.ts';
import type { GatewayBehaviour, McpCall } from '../gateway.testing.ts';
import { runProgram } from '../program.ts';
import { makeFolder, runToEnd, writeLogin } from '../program.testing.ts';
import { Refusal } from '../refusal.ts';

/** A simulated gateway, a login for it, and functions that run commands with that login. */
export async function startWorld(behaviour: GatewayBehaviour = {}) {
  const stack = new AsyncDisposableStack();
  const gateway = stack.use(await startGateway(behaviour));
  const folder = stack.use(await makeFolder());
  const profiles = join(folder.path, 'action-gateway', 'profiles');
  gateway.accessTokens.add('CANARY-access-0');
  gateway.refreshTokens.add('CANARY-refresh-0');
  await writeLogin(join(profiles, 'default.json'), gateway.url, { scope: 'user' });
  const settings = { XDG_CONFIG_HOME: folder.path };
  return {
    gateway,
    profiles,
    /**
     * Runs a command in this process, which is faster than starting the program. stdin is not read.
     */
    runHere: (...args: string[]) => runHere(args, settings),
    runHereAs: (environment: Record<string, string>, ...args: string[]) =>
      runHere(args, { ...settings, ...environment }),
    /** Runs the program as a process. */
    run: (
      args: readonly string[],
      environment: Record<string, string> = {},
      input: string | Buffer = '',
    ) => runToEnd(args, { ...settings, ...environment }, input),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/**
 * Answers requests from a table. Its keys are the method and the path without the query. A number
 * is a status without a body; a request that is not in the table gets the error `not_found`.
 */
export function answerFrom(table: Readonly<Record<string, unknown>>): (call: McpCall) => void {
  return ({ method, path, response }) => {
    const answer = table[`${method} ${path.split('?')[0]}`];
    if (typeof answer === 'number') response.writeHead(answer).end();
    else if (answer !== undefined) response.end(JSON.stringify(answer));
    else {
      const error = { error: 'not_found', message: 'There is no such thing.', request_id: 'free' };
      response.writeHead(404).end(JSON.stringify(error));
    }
  };
}

/** A list with these entries, as one page. */
export const pageOf = (...items: object[]) => ({ items, next_cursor: null });

async function runHere(args: readonly string[], environment: Record<string, string>) {
  const written = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      written[name] += String(text);
      return true;
    }),
  );
  const { exitCode } = process;
  try {
    process.exitCode = 0;
    const code = await runProgram(args, commands, { version: 'test', environment });
    return { code: code ?? process.exitCode, ...written };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { code: error.exitCode, ...written, stderr: `${written.stderr}${error.message}` };
  } finally {
    process.exitCode = exitCode;
    for (const spy of spies) spy.mockRestore();
  }
}
