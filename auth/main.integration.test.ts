import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { expect, test } from 'vitest';

import { createTestEnvironment } from '../test/support/environment.ts';

test('the auth process prints the sign-in link once, as a plain line, and stops on SIGTERM', async () => {
  await using environment = await createTestEnvironment();
  const mainPath = fileURLToPath(new URL('main.ts', import.meta.url));
  const child = spawn(process.execPath, [mainPath], {
    env: { ...environment.variables, LOG_LEVEL: 'info', BASE_URL: 'https://gateway.example/' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const exitEvent = once(child, 'exit');

  await expect.poll(() => output).toContain('Sign in: ');
  child.kill('SIGTERM');

  expect(await exitEvent).toEqual([0, null]);
  const lines = output.split('\n').filter((line) => line.includes('sil_'));
  expect(lines).toEqual([
    expect.stringMatching(/^Sign in: https:\/\/gateway\.example\/sign-in\?token=sil_\w{49}$/),
  ]);
});
