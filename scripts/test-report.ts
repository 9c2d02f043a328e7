export interface TestResults {
  readonly passed: number;
  /** By name. */
  readonly failed: readonly string[];
  /** One line each: `skipped: needs …`. */
  readonly skipped: readonly string[];
}

/** The part of vitest's JSON report that we read. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

export function addResults(one: TestResults, other: TestResults): TestResults {
  return {
    passed: one.passed + other.passed,
    failed: [...one.failed, ...other.failed],
    skipped: [...one.skipped, ...other.skipped],
  };
}

/**
 * Counts one suite by its report. A file that breaks before its first test counts as a failure,
 * and so does a run that fails although no test does, by an unhandled error for example.
 */
export function parseReport(
  suite: string,
  exitCode: number,
  written: string | undefined,
): TestResults {
  const { testResults } = JSON.parse(written ?? '{ "testResults": [] }') as Report;
  let passed = 0;
  const failed: string[] = [];
  const skipped: string[] = [];
  for (const file of testResults) {
    const isBroken = file.status === 'failed';
    if (isBroken && file.assertionResults.every(({ status }) => status !== 'failed')) {
      failed.push(`${suite}: ${file.name}`);
    }
    for (const { status, fullName } of file.assertionResults) {
      if (status === 'passed') passed += 1;
      else if (status === 'failed') failed.push(`${suite}: ${fullName}`);
      else skipped.push(describeSkip(fullName));
    }
  }
  if (exitCode !== 0 && failed.length === 0) failed.push(`${suite}: the run itself, see above`);
  return { passed, failed, skipped };
}

/** Tests that need a part of the machine have the reason in their name. */
function describeSkip(fullName: string): string {
  const reason = fullName.indexOf('skipped: needs ');
  return reason === -1 ? `skipped: ${fullName}` : fullName.slice(reason);
}
