export interface TestResults {
  readonly passed: number;
  /** The names of the failed tests. */
  readonly failed: readonly string[];
  /** One line for each skipped test: `skipped: needs …`. */
  readonly skipped: readonly string[];
}

/** Those parts of vitest's JSON report that are used. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

export function addResults(left: TestResults, right: TestResults): TestResults {
  return {
    passed: left.passed + right.passed,
    failed: [...left.failed, ...right.failed],
    skipped: [...left.skipped, ...right.skipped],
  };
}

/**
 * Counts the tests of one run from its report. A file that breaks before its first test counts as a
 * failure. So does a run that fails although no test fails, by an unhandled error for example.
 */
export function parseReport(exitCode: number, reportText: string | undefined): TestResults {
  const { testResults } = JSON.parse(reportText ?? '{ "testResults": [] }') as Report;
  let passedCount = 0;
  const failedNames: string[] = [];
  const skipped: string[] = [];
  for (const file of testResults) {
    const suite = suiteOf(file.name);
    const isBroken = file.status === 'failed';
    if (isBroken && file.assertionResults.every(({ status }) => status !== 'failed')) {
      failedNames.push(`${suite}: ${file.name}`);
    }
    for (const { status, fullName } of file.assertionResults) {
      if (status === 'passed') passedCount += 1;
      else if (status === 'failed') failedNames.push(`${suite}: ${fullName}`);
      else skipped.push(describeSkip(fullName));
    }
  }
  if (exitCode !== 0 && failedNames.length === 0)
    failedNames.push('tests: the run itself, see above');
  return { passed: passedCount, failed: failedNames, skipped };
}

/** The suite of a test file, by the suffix of the file's name, as in `vitest.config.ts`. */
function suiteOf(file: string): string {
  return /\.(integration|e2e)\.test\.ts$/.exec(file)?.[1] ?? 'unit';
}

/**
 * The reason why a test was skipped. A test that needs something special of the machine says so in
 * its name.
 */
function describeSkip(fullName: string): string {
  const reason = fullName.indexOf('skipped: needs ');
  return reason === -1 ? `skipped: ${fullName}` : fullName.slice(reason);
}
