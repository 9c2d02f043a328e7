import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { expect, test } from 'vitest';

import { createTestEnvironment } from '../test/support/environment.ts';

test('as a process of its own it prints the link once, as a plain line, and stops on a signal', async () => {
  await using environment = await createTestEnvironment();
  const main = fileURLToPath(new URL('main.ts', import.meta.url));
  const child = spawn(process.execPath, [main], {
    env: { ...environment.variables, LOG_LEVEL: 'info', BASE_URL: 'https://gateway.example/' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const exited = once(child, 'exit');

  await expect.poll(() => output, { timeout: 15_000 }).toContain('Sign in: ');
  child.kill('SIGTERM');

  expect(await exited).toEqual([0, null]);
  const lines = output.split('\n').filter((line) => line.includes('sil_'));
  expect(lines).toEqual([
    expect.stringMatching(/^Sign in: https:\/\/gateway\.example\/sign-in\?token=sil_\w{49}$/),
  ]);
});
