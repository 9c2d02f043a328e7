import { chmod, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { openBrowser } from '../support/oauth-browser.ts';
import type { Account } from '../support/oauth-browser.ts';

/** Where a person sits: a home of its own, and a browser that signs in and allows what is asked. */
export interface Desk extends AsyncDisposable {
  readonly home: string;
  /** For programs that keep their files below `home` and open a browser as Linux desktops do. */
  readonly env: Readonly<Record<string, string>>;
  /** What the browser was sent to, in order. */
  opened(): Promise<string[]>;
  /** Opens an authorization URL as `xdg-open` does; answers where it led to, which is not opened. */
  browse(url: URL): Promise<URL>;
  /** The access token that some file below `home` holds. */
  storedAccessToken(): Promise<string>;
}

const program = fileURLToPath(new URL('browser.ts', import.meta.url));

/** `account`: of a person at the gateway at `url`. */
export async function startDesk(url: string, account: Account): Promise<Desk> {
  const home = await mkdtemp(join(tmpdir(), 'aag-desk-'));
  const [bin, log] = [join(home, 'bin'), join(home, 'opened')];
  await mkdir(bin);
  await writeFile(log, '');
  const { email, password } = account;
  const command = [process.execPath, program, url, email, password, log].map((w) => `'${w}'`);
  const opener = join(bin, 'xdg-open');
  await writeFile(opener, `#!/bin/sh\nexec ${command.join(' ')} "$1"\n`);
  await chmod(opener, 0o755);
  const browser = openBrowser(url, { account });
  const opened = async () =>
    (await readFile(log, 'utf8')).split('\n').filter((line) => line !== '');
  return {
    home,
    // Of a desktop that names none: xdg-open then starts $BROWSER.
    env: { HOME: home, PATH: `${bin}:${process.env['PATH']}`, BROWSER: opener },
    opened,
    async browse(address) {
      await writeFile(log, `${address.href}\n`, { flag: 'a' });
      return browser.authorize(address);
    },
    async storedAccessToken() {
      const found = (await filesBelow(home)).flatMap((text) => {
        const token = /access_token\\*":\s*\\*"([\w-]{20,})/.exec(text)?.[1];
        return token === undefined ? [] : [token];
      });
      if (found.length !== 1) throw new Error(`${found.length} files hold an access token`);
      return found[0] ?? '';
    },
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true, maxRetries: 5 }),
  };
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')));
}
