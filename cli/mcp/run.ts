import { accessWithKey, accessWithLogin } from '../credential/access.ts';
import type { Access } from '../credential/access.ts';
import { agentKeySetting, credentialFileSetting, gatewayUrlSetting } from '../settings.ts';
import type { Environment } from '../settings.ts';
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
  const key = agentKeySetting(environment);
  if (key !== undefined) return accessWithKey(key, gateway);
  const file = options['credential-file'];
  const loginCommand = [
    'action-gateway mcp login',
    ...(options.url === undefined ? [] : ['--url', options.url]),
    ...(file === undefined ? [] : ['--credential-file', file]),
  ].join(' ');
  return accessWithLogin(credentialFileSetting(file, environment), { gateway, loginCommand });
}

function openEditor(stop: AbortController): Editor {
  const { stdin, stdout, stderr } = process;
  let lastSaid = '';
  // Whoever started us has gone, and so has the reason to go on.
  stdout.on('error', () => stop.abort());
  stderr.on('error', () => {});
  return {
    input: stdin,
    write: (line) =>
      new Promise((resolve) => {
        lastSaid = '';
        if (stop.signal.aborted) return resolve();
        if (stdout.write(`${line}\n`)) return resolve();
        const proceed = () => {
          stdout.off('drain', proceed);
          stop.signal.removeEventListener('abort', proceed);
          resolve();
        };
        stdout.once('drain', proceed);
        stop.signal.addEventListener('abort', proceed);
      }),
    say: (sentence) => {
      if (sentence === lastSaid) return;
      lastSaid = sentence;
      stderr.write(`action-gateway: ${sentence}\n`);
    },
  };
}
