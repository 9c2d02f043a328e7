import { spawn } from 'node:child_process';

/** None of them goes through a shell: the address is another server's. */
const openers: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Resolves with whether a browser seems to be on its way. */
export function openBrowser(url: string): Promise<boolean> {
  const [command = '', ...args] = openers[process.platform] ?? ['xdg-open'];
  return new Promise((resolve) => {
    const opener = spawn(command, [...args, url], { stdio: 'ignore', detached: true });
    opener.once('error', () => resolve(false));
    opener.once('spawn', () => {
      opener.unref();
      resolve(true);
    });
  });
}
