import { spawn } from 'node:child_process';

/**
 * Commands that open a browser. None of them uses a shell, because the URL comes from another
 * server and could contain shell commands.
 */
const openerCommands: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Resolves with true if a browser seems to have started. */
export function openBrowser(url: string): Promise<boolean> {
  const [command = '', ...args] = openerCommands[process.platform] ?? ['xdg-open'];
  return new Promise((resolve) => {
    const opener = spawn(command, [...args, url], { stdio: 'ignore', detached: true });
    opener.once('error', () => resolve(false));
    opener.once('spawn', () => {
      opener.unref();
      resolve(true);
    });
  });
}
