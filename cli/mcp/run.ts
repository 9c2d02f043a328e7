import { once } from 'node:events';

import { accessWithKey, accessWithLogin } from '../credential/access.ts';
import type { Access } from '../credential/access.ts';
import {
  agentKeySetting,
  credentialFileSetting,
  gatewayUrlSetting,
  usualCredentialFile,
} from '../settings.ts';
import type { Environment } from '../settings.ts';
import { printable, shellWord } from '../words.ts';
import { openTransport } from './transport.ts';
import { runShim } from './shim.ts';
import type { Editor } from './shim.ts';

export interface McpOptions {
  readonly url?: string | undefined;
  readonly 'credential-file'?: string | undefined;
}

/** `action-gateway mcp`: stands between an editor's stdio and the gateway until either is gone. */
export async function runMcp(options: McpOptions, environment: Environment): Promise<void> {
  const access = await openAccess(options, environment);
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort()).once('SIGTERM', () => stop.abort());
  stop.signal.addEventListener('abort', () => process.stdin.destroy());
  await using transport = openTransport(access);
  await runShim({ access, transport, editor: openEditor(stop), stopped: stop.signal });
  stop.abort();
}

async function openAccess(options: McpOptions, environment: Environment): Promise<Access> {
  const gateway = gatewayUrlSetting(options.url, environment);
  const chosen = options['credential-file'];
  const key = chosen === undefined ? agentKeySetting(environment) : undefined;
  if (key !== undefined) return accessWithKey(key, gateway);
  const file = credentialFileSetting(chosen, environment);
  // Whole, because a person types it where the editor's environment is not.
  const loginCommand = [
    'action-gateway mcp login',
    ...(gateway === undefined ? [] : ['--url', shellWord(gateway)]),
    ...(file === usualCredentialFile(environment) ? [] : ['--credential-file', shellWord(file)]),
  ].join(' ');
  return accessWithLogin(file, { gateway, loginCommand });
}

function openEditor(stop: AbortController): Editor {
  const { stdin, stdout, stderr } = process;
  let lastSaid = '';
  let full: Promise<unknown> | undefined;
  // Whoever started us has gone, and so has the reason to go on.
  stdout.on('error', () => stop.abort());
  stderr.on('error', () => {});
  return {
    input: stdin,
    write: async (line) => {
      while (full) await full;
      lastSaid = '';
      if (stop.signal.aborted || stdout.write(`${line}\n`)) return;
      full = once(stdout, 'drain', { signal: stop.signal })
        .catch(() => undefined) // stopped or broken: nobody waits for room any more
        .finally(() => {
          full = undefined;
        });
    },
    say: (sentence) => {
      if (sentence === lastSaid) return;
      lastSaid = sentence;
      stderr.write(`action-gateway: ${printable(sentence)}\n`);
    },
  };
}
