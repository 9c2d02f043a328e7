import { once } from 'node:events';

import { accessWithKey, accessWithLogin } from '../credential/access.ts';
import type { Access } from '../credential/access.ts';
import {
  readAgentKeySetting,
  readCredentialFileSetting,
  readGatewayUrlSetting,
  defaultCredentialPathOf,
} from '../settings.ts';
import type { Environment } from '../settings.ts';
import { makePrintable, spellCommand } from '../words.ts';
import { openTransport } from './transport.ts';
import { runShim } from './shim.ts';
import type { Editor } from './shim-state.ts';

export interface McpOptions {
  readonly url?: string | undefined;
  readonly credentialFile?: string | undefined;
}

/**
 * `action-gateway mcp`: connects an editor's stdin and stdout with the gateway until one side ends.
 */
export async function runMcp(options: McpOptions, environment: Environment): Promise<void> {
  const access = await openAccess(options, environment);
  const stopController = new AbortController();
  process
    .once('SIGINT', () => stopController.abort())
    .once('SIGTERM', () => stopController.abort());
  stopController.signal.addEventListener('abort', () => process.stdin.destroy());
  await using transport = openTransport(access);
  await runShim({
    access,
    transport,
    editor: openEditor(stopController),
    stopped: stopController.signal,
  });
  stopController.abort();
}

async function openAccess(options: McpOptions, environment: Environment): Promise<Access> {
  const gateway = readGatewayUrlSetting(options.url, environment);
  const chosenPath = options.credentialFile;
  const key = chosenPath === undefined ? readAgentKeySetting(environment) : undefined;
  if (key !== undefined) return accessWithKey(key, gateway);
  const file = readCredentialFileSetting(chosenPath, environment);
  // The command contains every setting, because the person types it in a shell that lacks the
  // editor's environment variables.
  const loginCommand = spellCommand(['mcp', 'login'], {
    '--url': gateway,
    '--credential-file': file === defaultCredentialPathOf(environment) ? undefined : file,
  });
  return accessWithLogin(file, { gateway, loginCommand, actsAs: 'agent' });
}

function openEditor(stopController: AbortController): Editor {
  const { stdin, stdout, stderr } = process;
  let lastSentence = '';
  let untilDrained: Promise<unknown> | undefined;
  // The editor has closed the output, so the shim ends too.
  stdout.on('error', () => stopController.abort());
  stderr.on('error', () => {});
  return {
    input: stdin,
    write: async (line) => {
      while (untilDrained) await untilDrained;
      lastSentence = '';
      if (stopController.signal.aborted || stdout.write(`${line}\n`)) return;
      untilDrained = once(stdout, 'drain', { signal: stopController.signal })
        .catch(() => undefined) // the output was closed or broke, so no frame waits to be written any more
        .finally(() => {
          untilDrained = undefined;
        });
    },
    showSentence: (sentence) => {
      if (sentence === lastSentence) return;
      lastSentence = sentence;
      stderr.write(`action-gateway: ${makePrintable(sentence)}\n`);
    },
  };
}
