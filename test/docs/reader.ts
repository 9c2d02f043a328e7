import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { expect } from 'vitest';

import { lastingPort } from '../../services-src/embedded/index.ts';
import { signIn } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import { openBrowser } from '../support/oauth-browser.ts';
import { startProgram } from '../support/program.ts';
import type { Program } from '../support/program.ts';
import { successfulBodyOf } from '../support/world.ts';
import { isAsShown } from './code-blocks.ts';
import type { CodeBlock } from './code-blocks.ts';
import { startShell } from './shell.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * A person who reads the README and then the guides. The person types their code blocks, which use
 * one gateway, in a folder that looks like the cloned repository.
 */
export interface Reader extends AsyncDisposable {
  /** The person's session in the browser. */
  readonly person: Caller;
  /**
   * Types the blocks of a page. Throws if a block fails, or prints something else than the page
   * shows.
   */
  type(blocks: readonly CodeBlock[]): Promise<void>;
}

type Session = Awaited<ReturnType<typeof signIn>>;

/**
 * Starts the gateway, and takes the first steps that `first-run.e2e.test.ts` takes in the browser.
 */
export async function startReader(): Promise<Reader> {
  await using startup = new AsyncDisposableStack();
  const clone = await mkdtemp(join(tmpdir(), 'aag-reader-'));
  startup.defer(() => rm(clone, { recursive: true, force: true, maxRetries: 5 }));
  for (const folder of ['cli', 'deploy'])
    await symlink(join(root, folder), join(clone, folder), 'dir');
  const [port, healthPort] = [String(await lastingPort()), String(await lastingPort())];
  const url = `http://127.0.0.1:${port}`;
  const environment = await createHome(clone);
  const start = async () => {
    const settings = { PORT: port, HEALTH_PORT: healthPort, LOG_LEVEL: 'silent' };
    const program = startProgram(join(clone, '.data'), settings);
    await program.url();
    return program;
  };
  let gateway: Program = await start();
  startup.defer(() => gateway[Symbol.asyncDispose]());
  const person = await signIn(await gateway.signInUrl());
  await followFirstSteps(person);
  const toActual = (text: string) =>
    text
      .replaceAll('http://127.0.0.1:8080', url)
      .replaceAll('http://127.0.0.1:9100', `http://127.0.0.1:${healthPort}`);

  const running = startup.move();
  return {
    person,
    async type(blocks) {
      await using shell = await startShell({ cwd: clone, environment });
      let lastOutput = '';
      for (const { place, text, exit, ...block } of blocks) {
        if (block.skip !== undefined) continue;
        if (block.file !== undefined) {
          await writeFile(join(clone, block.file), text);
        } else if (block.isOutput) {
          const shown = toActual(text);
          const message = `${place} shows\n${shown}\nand the gateway\n${lastOutput}`;
          expect(isAsShown(shown, lastOutput), message).toBe(true);
        } else {
          if (block.meanwhile === 'stopped') await gateway[Symbol.asyncDispose]();
          const isDeciding = block.meanwhile === 'deciding';
          await using _ = actAsPerson(person, { clone, isDeciding });
          const { status, output } = await shell.run(toActual(text));
          expect(status, `${place}\n${output}`).toBe(exit);
          if (block.meanwhile === 'stopped') gateway = await start();
          lastOutput = output;
        }
      }
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function followFirstSteps(person: Caller): Promise<void> {
  const agent = { name: 'deploy-bot', auto_call_on_approve: true };
  successfulBodyOf(await person.post('/v1/identities/agents', agent));
  const secret = { name: 'sample_key', value: 'nb_CANARY-key-of-the-guides' };
  successfulBodyOf(await person.post('/v1/secrets', secret));
  successfulBodyOf(await person.post('/v1/services', { template: 'sample' }));
}

/**
 * Creates a home folder, and a fake browser that writes the address that it should open to a file.
 */
async function createHome(clone: string): Promise<Record<string, string>> {
  const home = join(clone, 'home');
  const bin = join(home, 'bin');
  await mkdir(bin, { recursive: true });
  const opener = join(bin, 'xdg-open');
  const openedFile = join(clone, 'opened');
  await writeFile(
    opener,
    `#!/bin/sh\nprintf %s "$1" >${openedFile}.new && mv ${openedFile}.new ${openedFile}\n`,
  );
  await chmod(opener, 0o755);
  const path = [bin, dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter);
  return { HOME: home, PATH: path };
}

/**
 * Until it is disposed: gives consent on the pages that programs open in the browser. If
 * `isDeciding` is true, also allows the calls that wait for a decision.
 */
function actAsPerson(
  person: Session,
  { clone, isDeciding }: { clone: string; isDeciding: boolean },
): AsyncDisposable {
  const ending = new AbortController();
  const openedFile = join(clone, 'opened');
  const actRepeatedly = async () => {
    while (!ending.signal.aborted) {
      if (existsSync(openedFile)) {
        const address = await readFile(openedFile, 'utf8');
        await rm(openedFile);
        const browser = openBrowser(new URL(address).origin, { cookie: person.cookie });
        await fetch(await browser.authorize(address));
      }
      const { items } = isDeciding
        ? successfulBodyOf(await person.get('/v1/approvals?status=open'))
        : { items: [] };
      for (const { id } of items) {
        await person.post(`/v1/approvals/${id}/resolve`, { resolution: 'allow' });
      }
      await sleep(100, undefined, { signal: ending.signal }).catch(() => undefined);
    }
  };
  const actions = actRepeatedly();
  return {
    async [Symbol.asyncDispose]() {
      ending.abort();
      await actions;
    },
  };
}
