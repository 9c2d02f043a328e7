import { describe, expect, test } from 'vitest';

import { parseReport } from './test-report.ts';

const reportOf = (status: string, tests: [status: string, fullName: string][]) =>
  JSON.stringify({
    testResults: [
      {
        name: 'a.test.ts',
        status,
        assertionResults: tests.map(([each, fullName]) => ({ status: each, fullName })),
      },
    ],
  });

describe('the report of a suite', () => {
  test('counts what passed, and names what failed and what was skipped', () => {
    const written = reportOf('failed', [
      ['passed', 'a works'],
      ['failed', 'b works'],
      ['skipped', 'the browser skipped: needs chromium'],
      ['todo', 'c works'],
    ]);

    expect(parseReport('unit', 1, written)).toEqual({
      passed: 1,
      failed: ['unit: b works'],
      skipped: ['skipped: needs chromium', 'skipped: c works'],
    });
  });

  test.for<[what: string, code: number, written: string | undefined, failed: string[]]>([
    ['a file that cannot be loaded', 1, reportOf('failed', []), ['unit: a.test.ts']],
    [
      'a file whose setup fails after its tests passed',
      1,
      reportOf('failed', [['passed', 'a']]),
      ['unit: a.test.ts'],
    ],
    ['no report', 1, undefined, ['unit: the run itself, see above']],
    [
      'an error outside of tests',
      1,
      reportOf('passed', [['passed', 'a']]),
      ['unit: the run itself, see above'],
    ],
    ['no tests', 0, undefined, []],
  ])('%s', ([, code, written, failed]) => {
    expect(parseReport('unit', code, written).failed).toEqual(failed);
  });
});
