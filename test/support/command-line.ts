import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { expect } from 'vitest';

import { makeFolder, runToEnd, startProgram } from '../../cli/program.testing.ts';
import { openBrowser } from './oauth-browser.ts';
import { programEnv } from './program-env.ts';
import { createAgent, pollUntil, startWorld } from './world.ts';
import type { Agent, World } from './world.ts';

const bin = fileURLToPath(new URL('../../cli/bin.mjs', import.meta.url));

/**
 * The whole product, and its command line program, which runs as the admin or as an agent of the
 * admin.
 */
export type CommandLine = Awaited<ReturnType<typeof startCommandLine>>;

/**
 * Starts the product, creates the agent `bot`, and signs the admin in with `action-gateway login`.
 */
export async function startCommandLine() {
  await using startup = new AsyncDisposableStack();
  const world = startup.use(await startWorld());
  const configFolder = startup.use(await makeFolder()).path;
  const bot = await createAgent(world.url, world.admin, 'bot');
  const personSettings = { XDG_CONFIG_HOME: configFolder };
  await signInAsAdmin(world, personSettings);
  const agentSettings = settingsOf(bot, world, personSettings);
  const running = startup.move();
  return {
    world,
    bot,
    configFolder,
    personSettings,
    agentSettings,
    runAsPerson: (...args: string[]) => runToEnd(args, personSettings),
    runAsAgent: (...args: string[]) => runToEnd(args, agentSettings),
    startAtTerminal: (command: string, environment: Record<string, string> = {}) =>
      startAtTerminal(command, { ...personSettings, ...environment }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

const settingsOf = ({ key }: Agent, { url }: World, settings: Record<string, string>) => ({
  ...settings,
  ACTION_GATEWAY_KEY: key,
  ACTION_GATEWAY_URL: url,
});

/** Runs `action-gateway login`, and gives the admin's consent in a browser. */
async function signInAsAdmin(
  { url, admin }: World,
  settings: Record<string, string>,
): Promise<void> {
  const login = startProgram(['login', '--no-browser', '--url', url], settings);
  let line = await login.nextLine();
  while (line !== undefined && !URL.canParse(line.trim())) line = await login.nextLine();
  const browser = openBrowser(url, { cookie: admin.cookie });
  await fetch(await browser.authorize(line?.trim() ?? ''));
  expect(await login.exitCode, login.stderr()).toBe(0);
}

/**
 * Returns the JSON that a command prints to stdout. The command must exit with the expected code.
 */
export async function jsonOf(run: ReturnType<typeof runToEnd>, expectedCode = 0) {
  const { code, stdout, stderr } = await run;
  expect(code, stderr).toBe(expectedCode);
  return JSON.parse(stdout);
}

/** Starts the program in a terminal, as a person would. */
function startAtTerminal(command: string, environment: Record<string, string>) {
  const child = spawn(
    '/usr/bin/script',
    ['--quiet', '--return', '--command', `exec ${process.execPath} ${bin} ${command}`, '/dev/null'],
    {
      env: { ...programEnv, TERM: 'xterm-256color', ...environment },
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  let screen = '';
  child.stdout.on('data', (chunk: Buffer) => (screen += chunk.toString().replaceAll('\r', '')));
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  return {
    exited,
    screen: () => screen,
    type: (text: string) => child.stdin.write(text),
    untilShown: (text: string) =>
      pollUntil(
        () => screen.includes(text) || child.exitCode !== null,
        `${text} on the screen, which has ${screen}`,
      ),
  };
}
