export interface RunResults {
  readonly files: readonly FileResults[];
  /** True if the run failed although no file failed, for example by an unhandled error. */
  readonly isBroken: boolean;
}

export interface FileResults {
  readonly file: string;
  readonly seconds: number;
  readonly passedCount: number;
  /** The names of the failed tests. If the file could not be run, this is the name of the file. */
  readonly failed: readonly string[];
  /** One line for each skipped test: `skipped: needs …`. */
  readonly skipped: readonly string[];
}

/** The parts of vitest's JSON report that are used here. Times are in milliseconds. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly startTime?: number;
    readonly endTime?: number;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** If more files fail, none is run again, because so many failures are not a coincidence. */
const filesToRepeatMax = 5;

/** Reads the report of one run. A missing report counts as an empty one. */
export function parseReport(exitCode: number, reportText: string | undefined): RunResults {
  const { testResults } = JSON.parse(reportText ?? '{ "testResults": [] }') as Report;
  const files = testResults.map(parseFile);
  return { files, isBroken: exitCode !== 0 && files.every(({ failed }) => failed.length === 0) };
}

/**
 * The files that the run should have run but did not, for example because one of its processes
 * died.
 */
export function findMissingFiles(
  expectedFiles: readonly string[],
  { files }: RunResults,
): string[] {
  const reported = new Set(files.map(({ file }) => file));
  return expectedFiles.filter((file) => !reported.has(file));
}

/** Reads the list of a suite's files that vitest writes. A missing list counts as an empty one. */
export function parseFileList(listText: string | undefined): string[] {
  return (JSON.parse(listText ?? '[]') as { file: string }[]).map(({ file }) => file);
}

/** A file that breaks before its first test or after its last test counts as failed. */
function parseFile(result: Report['testResults'][number]): FileResults {
  const { name: file, status, startTime = 0, endTime = startTime, assertionResults } = result;
  const namesOf = (isWanted: (status: string) => boolean) =>
    assertionResults.filter((test) => isWanted(test.status)).map(({ fullName }) => fullName);
  const failedNames = namesOf((each) => each === 'failed');
  const isBroken = status === 'failed' && failedNames.length === 0;
  return {
    file,
    seconds: (endTime - startTime) / 1_000,
    passedCount: namesOf((each) => each === 'passed').length,
    failed: isBroken ? [file] : failedNames,
    skipped: namesOf((each) => each !== 'passed' && each !== 'failed').map(describeSkip),
  };
}

/** The files to run once more; none if too many failed. */
export function findFilesToRepeat({ files }: RunResults): string[] {
  const failedFiles = files.filter(({ failed }) => failed.length > 0).map(({ file }) => file);
  return failedFiles.length > filesToRepeatMax ? [] : failedFiles;
}

/**
 * Merges the results of the second run into those of the first. A test that failed only in the
 * first run is unstable.
 */
export function mergeRepetition(
  first: RunResults,
  second: RunResults,
): { results: RunResults; unstable: string[] } {
  const unstable: string[] = [];
  const files = first.files.map((file) => {
    const repeated = second.files.find((other) => other.file === file.file);
    if (repeated === undefined) return file;
    const passedNow = file.failed.filter((name) => !repeated.failed.includes(name));
    unstable.push(...passedNow.map((name) => `${file.file} > ${name}`));
    return { ...repeated, seconds: file.seconds };
  });
  return { results: { files, isBroken: first.isBroken || second.isBroken }, unstable };
}

/**
 * The suite of a test file. As in `vitest.config.ts`, it depends on the ending of the file's name.
 */
export function suiteOf(file: string): string {
  return /\.(integration|e2e)\.test\.ts$/.exec(file)?.[1] ?? 'unit';
}

/**
 * The reason why a test was skipped. If a test needs something that not every machine has, its name
 * contains what it needs.
 */
function describeSkip(fullName: string): string {
  const reason = fullName.indexOf('skipped: needs ');
  return reason === -1 ? `skipped: ${fullName}` : fullName.slice(reason);
}
