import { describe, expect, test } from 'vitest';

import {
  findFilesToRepeat,
  findMissingFiles,
  mergeRepetition,
  parseFileList,
  parseReport,
  suiteOf,
} from './test-report.ts';

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
        startTime: 1_000,
        endTime: 3_500,
        assertionResults: tests.map(([each, fullName]) => ({ status: each, fullName })),
      },
    ],
  });

describe('the report of a test run', () => {
  test('counts the passed tests, and lists the failed and the skipped tests', () => {
    const reportText = reportOf('failed', [
      ['passed', 'a works'],
      ['failed', 'b works'],
      ['skipped', 'the browser skipped: needs chromium'],
      ['todo', 'c works'],
    ]);

    expect(parseReport(1, reportText)).toEqual({
      files: [
        {
          file: 'a.test.ts',
          seconds: 2.5,
          passedCount: 1,
          failed: ['b works'],
          skipped: ['skipped: needs chromium', 'skipped: c works'],
        },
      ],
      isBroken: false,
    });
  });

  test.for([
    ['audit/verify-chain.integration.test.ts', 'integration'],
    ['test/e2e/idor.e2e.test.ts', 'e2e'],
    ['test/e2e/kill.slow.e2e.test.ts', 'e2e'],
    ['policy/domain/walk.test.ts', 'unit'],
  ] as const)('finds the suite of the file %s', ([file, suite]) => {
    expect(suiteOf(file)).toBe(suite);
  });

  test.for<[what: string, code: number, written: string | undefined, failed: string[]]>([
    ['a file that cannot be loaded', 1, reportOf('failed', []), ['a.test.ts']],
    [
      'a file whose setup fails after its tests passed',
      1,
      reportOf('failed', [['passed', 'a']]),
      ['a.test.ts'],
    ],
    ['a missing report', 1, undefined, []],
    ['an error outside of tests', 1, reportOf('passed', [['passed', 'a']]), []],
    ['a run without tests', 0, undefined, []],
  ])('lists the failures $3 for %s with the exit code $1', ([, code, reportText, failed]) => {
    const { files, isBroken } = parseReport(code, reportText);

    expect(files.flatMap((file) => file.failed)).toEqual(failed);
    expect(isBroken).toBe(code === 1 && failed.length === 0);
  });
});

test('a file is missing if the run should have run it and the report does not contain it', () => {
  const listText = JSON.stringify(['a.test.ts', 'b.test.ts'].map((file) => ({ file })));
  const expected = parseFileList(listText);

  expect(findMissingFiles(expected, parseReport(0, reportOf('passed', [])))).toEqual(['b.test.ts']);
  expect(findMissingFiles(expected, parseReport(1, undefined))).toEqual(expected);
  expect(parseFileList(undefined)).toEqual([]);
});

describe('when failed files run again', () => {
  const runOf = (results: Record<string, string[]>, isBroken = false) => ({
    files: Object.entries(results).map(([file, failed]) => ({
      file,
      seconds: 1,
      passedCount: 3 - failed.length,
      failed,
      skipped: [],
    })),
    isBroken,
  });

  test('at most five files are repeated, and none if more have failed', () => {
    const failing = (count: number) =>
      runOf({
        passing: [],
        ...Object.fromEntries(Array.from({ length: count }, (_, n) => [`${n}`, ['a']])),
      });

    expect(findFilesToRepeat(failing(0))).toEqual([]);
    expect(findFilesToRepeat(failing(5))).toHaveLength(5);
    expect(findFilesToRepeat(failing(6))).toEqual([]);
  });

  test('a test that fails once counts as unstable, and a test that fails twice as failed', () => {
    const first = runOf({ a: ['once', 'twice'], b: ['once'], c: [] });
    const { results, unstable } = mergeRepetition(first, runOf({ a: ['twice'], b: [] }));

    expect(unstable).toEqual(['a > once', 'b > once']);
    expect(results).toEqual(runOf({ a: ['twice'], b: [], c: [] }));
  });

  test('a file that the second run did not run stays failed', () => {
    const first = runOf({ a: ['once'] });

    expect(mergeRepetition(first, runOf({}, true))).toEqual({
      results: runOf({ a: ['once'] }, true),
      unstable: [],
    });
  });
});
