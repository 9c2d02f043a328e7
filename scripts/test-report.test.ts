import { describe, expect, test } from 'vitest';

import { parseReport } from './test-report.ts';

const reportOf = (
  status: string,
  tests: [status: string, fullName: string][],
  name = 'a.test.ts',
) =>
  JSON.stringify({
    testResults: [
      {
        name,
        status,
        assertionResults: tests.map(([each, fullName]) => ({ status: each, fullName })),
      },
    ],
  });

describe('the report of a test run', () => {
  test('counts the tests that passed, and names those that failed or were skipped', () => {
    const reportText = reportOf('failed', [
      ['passed', 'a works'],
      ['failed', 'b works'],
      ['skipped', 'the browser skipped: needs chromium'],
      ['todo', 'c works'],
    ]);

    expect(parseReport(1, reportText)).toEqual({
      passed: 1,
      failed: ['unit: b works'],
      skipped: ['skipped: needs chromium', 'skipped: c works'],
    });
  });

  test.for([
    ['audit/verify-chain.integration.test.ts', 'integration: b works'],
    ['test/e2e/idor.e2e.test.ts', 'e2e: b works'],
    ['policy/domain/walk.test.ts', 'unit: b works'],
  ] as const)('names the suite of %s', ([file, name]) => {
    const reportText = reportOf('failed', [['failed', 'b works']], file);

    expect(parseReport(1, reportText).failed).toEqual([name]);
  });

  test.for<[what: string, code: number, written: string | undefined, failed: string[]]>([
    ['a file that cannot be loaded', 1, reportOf('failed', []), ['unit: a.test.ts']],
    [
      'a file whose setup fails after its tests passed',
      1,
      reportOf('failed', [['passed', 'a']]),
      ['unit: a.test.ts'],
    ],
    ['a missing report', 1, undefined, ['tests: the run itself, see above']],
    [
      'an error outside of tests',
      1,
      reportOf('passed', [['passed', 'a']]),
      ['tests: the run itself, see above'],
    ],
    ['a run without tests', 0, undefined, []],
  ])('for %s and the exit code $1, lists the failures $3', ([, code, reportText, failed]) => {
    expect(parseReport(code, reportText).failed).toEqual(failed);
  });
});
