import { PassThrough } from 'node:stream';
import { WriteStream } from 'node:tty';

import { afterEach, describe, expect, test, vi } from 'vitest';

import type { CallReport } from './gateway/records/call-report.ts';
import { createCallLines } from './terminal.ts';

const read: CallReport = {
  requestId: 'r1',
  caller: ['ann', 'deploy-bot'],
  service: 'github',
  action: 'list_issues',
  approvalId: null,
  approvalUrl: null,
  isResumed: false,
  changesSomething: false,
  outcome: 'called',
  upstreamStatus: 200,
  ms: 12,
};
const write: CallReport = {
  ...read,
  action: 'create_issue',
  changesSomething: true,
  upstreamStatus: 201,
};
const waiting: CallReport = {
  ...write,
  outcome: 'pending_approval',
  upstreamStatus: null,
  approvalId: 'a1',
  approvalUrl: 'https://gateway.example/approvals/a1',
};
const execution: CallReport = {
  ...write,
  requestId: null,
  caller: [],
  service: null,
  action: null,
  approvalId: 'a1',
};

function print(reports: readonly CallReport[], { isTTY = false } = {}): string {
  const stream = Object.assign(new PassThrough(), {
    isTTY,
    getColorDepth: () =>
      WriteStream.prototype.getColorDepth({ TERM: 'xterm-256color', ...process.env }),
  });
  const report = createCallLines(stream, () => new Date(2030, 0, 1, 9, 5, 7));
  for (const each of reports) report(each);
  return String(stream.read() ?? '');
}

describe('the lines that are printed for calls', () => {
  test.for<[what: string, reports: CallReport[], lines: string]>([
    [
      'a call that changed something',
      [write],
      '09:05:07  ann/deploy-bot  github.create_issue  called 201  12 ms\n',
    ],
    [
      'a call that waits for a person, and its execution, with the names of the call',
      [waiting, { ...waiting, isResumed: true }, { ...execution, isResumed: true }, execution],
      '09:05:07  ann/deploy-bot  github.create_issue  waits for a person  12 ms  https://gateway.example/approvals/a1\n' +
        '09:05:07  ann/deploy-bot  github.create_issue  called 201  12 ms\n',
    ],
    [
      'the execution of a call that was made before the gateway started',
      [execution],
      '09:05:07  -  approval a1  called 201  12 ms\n',
    ],
    [
      'a read that failed at its service',
      [{ ...read, upstreamStatus: 404 }],
      '09:05:07  ann/deploy-bot  github.list_issues  called 404  12 ms\n',
    ],
    [
      'a call that was denied',
      [{ ...write, outcome: 'denied', upstreamStatus: null }],
      '09:05:07  ann/deploy-bot  github.create_issue  denied  12 ms\n',
    ],
    [
      'a call that failed, without characters that could move the cursor',
      [
        {
          ...read,
          outcome: 'unknown_action',
          upstreamStatus: null,
          action: 'a\u001b[2J\nb\u202ec',
        },
      ],
      '09:05:07  ann/deploy-bot  github.a?[2J?b?c  unknown_action  12 ms\n',
    ],
    ['no read that succeeded', [read], ''],
  ])('show %s', ([, reports, lines]) => {
    expect(print(reports)).toBe(lines);
  });
});

describe('the colours of the lines', () => {
  afterEach(() => void vi.unstubAllEnvs());

  test.for<[what: string, isTTY: boolean, NO_COLOR: string | undefined, coloured: boolean]>([
    ['are used at a terminal', true, undefined, true],
    ['are not used with NO_COLOR', true, '1', false],
    ['are not used elsewhere', false, undefined, false],
  ])('%s', ([, isTTY, noColor, isColoured]) => {
    // Node also reads these variables to decide whether a terminal shows colours.
    for (const name of ['CI', 'FORCE_COLOR', 'NODE_DISABLE_COLORS']) vi.stubEnv(name, undefined);
    vi.stubEnv('TERM', 'xterm-256color');
    vi.stubEnv('NO_COLOR', noColor);

    expect(print([write], { isTTY }).includes('\u001b[32mcalled 201')).toBe(isColoured);
  });
});
