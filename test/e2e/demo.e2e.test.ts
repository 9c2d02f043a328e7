import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

import { expect, test } from 'vitest';

test('npm run demo plays the whole story and exits 0', { timeout: 120_000 }, async () => {
  // The test runner sets variables of its own, one of them BASE_URL.
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'] };
  const demo = spawn(process.execPath, ['test/demo/main.ts'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [[code], output, errors] = await Promise.all([
    once(demo, 'exit'),
    text(demo.stdout),
    text(demo.stderr),
  ]);

  expect({ code, errors }).toEqual({ code: 0, errors: '' });
  expect(output).toContain('everything held');
});
