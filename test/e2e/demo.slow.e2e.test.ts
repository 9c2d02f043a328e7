import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

import { expect, test } from 'vitest';

import { signIn } from '../support/http.ts';
import { programEnv } from '../support/program-env.ts';
import { pollUntil } from '../support/world.ts';

test(
  'npm run demo plays every scene; with --stay it continues with an agent that sends calls, and exits with 0',
  { timeout: 300_000 },
  async () => {
    // The demo gets its own environment, because vitest sets variables such as BASE_URL that would
    // change the demo's settings.
    const env = { ...programEnv, HOME: process.env['HOME'] };
    const demo = spawn(process.execPath, ['test/demo/main.ts', '--stay'], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = once(demo, 'exit');
    const errors = text(demo.stderr);
    let output = '';
    demo.stdout.setEncoding('utf8').on('data', (part: string) => (output += part));
    const findLink = () => /^http\S+token=\S+$/m.exec(output)?.[0];
    await Promise.race([pollUntil(async () => findLink() !== undefined, 'the link'), ended]);
    expect(output).toContain('everything held');

    const user = await signIn(findLink() ?? '');
    await pollUntil(
      async () => (await user.get('/v1/approvals?status=open')).body.items.length > 0,
      'a call that waits',
    );
    demo.kill('SIGINT');
    const [code] = await ended;
    expect({ code, errors: await errors }).toEqual({ code: 0, errors: '' });
  },
);
