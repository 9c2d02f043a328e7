import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { signIn } from '../support/http.ts';
import { needs } from '../support/needs.ts';
import { endProcessesOf } from '../support/program.ts';
import { programEnv } from '../support/program-env.ts';
import { startUpstream } from '../support/upstream.ts';
import { createAgent, successfulBodyOf, pollUntil } from '../support/world.ts';

const terminal = needs('a terminal');

test.runIf(terminal.isAvailable)(
  `npm start at a terminal prints a line for each call that matters to a person, and no JSON${terminal.note}`,
  { timeout: 300_000 },
  async () => {
    await using stack = new AsyncDisposableStack();
    const dataDir = await mkdtemp(join(tmpdir(), 'aag-terminal-'));
    stack.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
    stack.defer(() => endProcessesOf(dataDir));
    const upstream = stack.use(await startUpstream());
    const child = spawn(
      '/usr/bin/script',
      ['--quiet', '--return', '--command', `exec ${process.execPath} start.ts`, '/dev/null'],
      {
        env: {
          ...programEnv,
          HOME: process.env['HOME'],
          TERM: 'xterm-256color',
          DATA_DIR: dataDir,
          PORT: '0',
          EGRESS_ALLOW: upstream.host,
        },
        stdio: ['pipe', 'pipe', 'inherit'],
      },
    );
    const childExit = once(child, 'exit');
    let screen = '';
    child.stdout.on('data', (chunk: Buffer) => (screen += chunk.toString().replaceAll('\r', '')));
    const untilShown = async (pattern: RegExp): Promise<string> => {
      await pollUntil(
        () => pattern.test(screen) || child.exitCode !== null,
        `${pattern} on the screen, which has ${screen}`,
      );
      return pattern.exec(screen)?.[1] ?? '';
    };

    const url = await untilShown(/^Agent Action Gateway: (\S+)\n/m);
    const admin = await signIn(await untilShown(/^Sign in: (\S+)\n/m));
    const bot = await createAgent(url, admin, 'bot');
    const call = { service: 'http', method: 'POST', url: `${upstream.url}/notes`, body: {} };
    const { approval_id: id } = successfulBodyOf(await bot.post('/v1/actions/call', call));
    await untilShown(/(waits for a person)/);
    successfulBodyOf(await admin.post(`/v1/approvals/${id}/resolve`, { resolution: 'allow' }));
    await untilShown(/(called 201)/);
    await bot.post('/v1/actions/call', { service: 'gone', action: 'list', params: {} });
    await untilShown(/(unknown_service)/);
    child.stdin.write('\u0003');
    expect(await childExit).toEqual([0, null]);

    const lines = screen
      .split('\n')
      .filter((line) => / ms\b/.test(line))
      .map((line) => line.replace(/\d\d:\d\d:\d\d/, 'TIME').replace(/\d+ ms/, 'N ms'));
    const dimTime = '\u001b[2mTIME\u001b[22m';
    expect(lines).toEqual([
      `${dimTime}  admin/bot  http.POST  \u001b[33mwaits for a person\u001b[39m  N ms  ${url}/approvals/${id}`,
      `${dimTime}  admin/bot  http.POST  \u001b[32mcalled 201\u001b[39m  N ms`,
      `${dimTime}  admin/bot  gone.list  \u001b[31munknown_service\u001b[39m  N ms`,
    ]);
    expect(screen).not.toContain('{"');
  },
);
