import { chmod, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { openBrowser } from '../support/oauth-browser.ts';
import type { Account } from '../support/oauth-browser.ts';

/**
 * One person's computer: a separate home folder, and a browser that signs in and allows every
 * request.
 */
export interface Desk extends AsyncDisposable {
  readonly home: string;
  /**
   * The environment for programs on this computer. They keep their files in `home`, and open a
   * browser with `xdg-open`, as on a Linux desktop.
   */
  readonly env: Readonly<Record<string, string>>;
  /** The addresses that programs have opened in the browser, in order. */
  listOpenedAddresses(): Promise<string[]>;
  /**
   * Opens an authorization URL in the browser. Returns the URL of the redirect to the client, and
   * does not follow it.
   */
  browse(url: URL): Promise<URL>;
  /** The access token that a client has stored in a file in `home` or its subfolders. */
  storedAccessToken(): Promise<string>;
}

const program = fileURLToPath(new URL('browser.ts', import.meta.url));

/** Prepares the computer. `url` is the gateway's URL, and the person signs in with `account`. */
export async function startDesk(url: string, account: Account): Promise<Desk> {
  const home = await mkdtemp(join(tmpdir(), 'aag-desk-'));
  const [bin, log] = [join(home, 'bin'), join(home, 'opened')];
  await mkdir(bin);
  await writeFile(log, '');
  const { email, password } = account;
  const command = [process.execPath, program, url, email, password, log].map((word) => `'${word}'`);
  const openerPath = join(bin, 'xdg-open');
  await writeFile(openerPath, `#!/bin/sh\nexec ${command.join(' ')} "$1"\n`);
  await chmod(openerPath, 0o755);
  const browser = openBrowser(url, { account });
  const listOpenedAddresses = async () =>
    (await readFile(log, 'utf8')).split('\n').filter((line) => line !== '');
  return {
    home,
    // xdg-open starts $BROWSER if no environment variable names the desktop.
    env: { HOME: home, PATH: `${bin}:${process.env['PATH']}`, BROWSER: openerPath },
    listOpenedAddresses,
    async browse(address) {
      await writeFile(log, `${address.href}\n`, { flag: 'a' });
      return browser.authorize(address);
    },
    async storedAccessToken() {
      const foundTokens = (await filesBelow(home)).flatMap((text) => {
        const token = /access_token\\*":\s*\\*"([\w-]{20,})/.exec(text)?.[1];
        return token === undefined ? [] : [token];
      });
      if (foundTokens.length !== 1)
        throw new Error(`${foundTokens.length} files hold an access token`);
      return foundTokens[0] ?? '';
    },
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true, maxRetries: 5 }),
  };
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')));
}
