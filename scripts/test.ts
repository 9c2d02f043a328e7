/**
 * `npm test`: runs the checks and then the fast suite. If a part fails, the others still run. The
 * last line is `N passed, N failed`. It ends in `, N skipped` on a machine that lacks something
 * that tests need.
 *
 * `npm test -- unit format` runs only the steps with these names; `--slowest` prints the twenty
 * slowest files. With CI=true a skipped test counts as failed, because CI machines should have
 * everything. `npm run test:all` also runs the slow files, and each sweep in full.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

import {
  findFilesToRepeat,
  findMissingFiles,
  mergeRepetition,
  parseFileList,
  parseReport,
  suiteOf,
} from './test-report.ts';
import type { FileResults, RunResults } from './test-report.ts';
import { checkSteps, runStep } from './steps.ts';
import { wholeSweeps, wholeTimeoutMs } from './whole-sweeps.ts';

const suites = ['unit', 'integration', 'e2e'];
const slowestFilesCount = 20;

const isWholeRun = process.argv.includes('--whole');
const isSlowestWanted = process.argv.includes('--slowest');
const requestedSteps = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const stepNames = [...checkSteps.map(({ name }) => name), ...suites];
const unknownSteps = requestedSteps.filter((name) => !stepNames.includes(name));
if (unknownSteps.length > 0) {
  console.error(`No such step: ${unknownSteps.join(', ')}. There are: ${stepNames.join(', ')}.`);
  process.exit(1);
}
const isWanted = (name: string) => requestedSteps.length === 0 || requestedSteps.includes(name);

const seed = process.env['TEST_SEED'] ?? (isWholeRun ? String(Date.now() % 1_000_000_000) : '');
const secondsOf: [step: string, seconds: number][] = [];
const failed: string[] = [];
const unstable: string[] = [];
const files: FileResults[] = [];
let passedChecksCount = 0;

for (const check of checkSteps.filter(({ name }) => isWanted(name))) {
  console.log(`\n# ${check.name}`);
  const hasPassed = (await measure(check.name, () => runStep(check))) === 0;
  if (hasPassed) passedChecksCount += 1;
  else failed.push(check.name);
}
const resultsFolder = await mkdtemp(join(tmpdir(), 'action-gateway-results-'));
try {
  for (const suite of suites.filter(isWanted)) {
    console.log(`\n# ${suite} tests`);
    await runSuite(suite);
  }
  await repeatFailedFiles();
} finally {
  await rm(resultsFolder, { recursive: true, force: true });
}
process.exitCode = printReport();

async function measure<T>(step: string, run: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  try {
    return await run();
  } finally {
    secondsOf.push([step, (performance.now() - startedAt) / 1_000]);
  }
}

/**
 * Runs a suite. If a process of the run dies, vitest leaves out the remaining files and may report
 * no failure. So files that are missing in the report run in a second run.
 */
async function runSuite(suite: string): Promise<void> {
  const expectedFiles = await listFiles(suite);
  let results = await measure(suite, () => runFiles(suite));
  const missing = findMissingFiles(expectedFiles, results);
  if (missing.length > 0) {
    console.log(`\n# ${suite} tests, the rest: ${missing.length} files`);
    unstable.push(`${suite} > the run ended before ${missing.length} of its files had run`);
    const missingResults = await measure(`${suite}, the rest`, () => runFiles(suite, missing));
    results = {
      files: [...results.files, ...missingResults.files],
      isBroken: missingResults.isBroken,
    };
    const stillMissing = findMissingFiles(expectedFiles, results);
    failed.push(...stillMissing.map((file) => `${nameFile(file)} > the file was not run`));
  }
  files.push(...results.files);
  if (results.isBroken) failed.push(`${suite}: the run itself, see above`);
}

async function listFiles(suite: string): Promise<string[]> {
  const file = join(resultsFolder, 'files.json');
  await rm(file, { force: true });
  const args = ['list', '--filesOnly', `--json=${file}`, `--project=${suite}`];
  const code = await runStep({ name: suite, command: 'vitest', args, env: suiteEnvironment() });
  if (code !== 0) failed.push(`${suite}: its files cannot be listed, see above`);
  return parseFileList(await readFile(file, 'utf8').catch(() => undefined));
}

function suiteEnvironment(): Readonly<Record<string, string>> {
  return {
    ...(seed !== '' && { TEST_SEED: seed }),
    ...(isWholeRun ? wholeSweeps : { TEST_SUITE: 'fast' }),
  };
}

/** Runs all files of a suite, or only the given files, one at a time. */
async function runFiles(suite: string, onlyFiles: readonly string[] = []): Promise<RunResults> {
  const file = join(resultsFolder, 'report.json');
  await rm(file, { force: true });
  const code = await runStep({
    name: suite,
    command: 'vitest',
    args: [
      'run',
      ...onlyFiles,
      `--project=${suite}`,
      '--passWithNoTests',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${file}`,
      ...(onlyFiles.length > 0 ? ['--maxWorkers=1'] : []),
      ...(isWholeRun ? [`--testTimeout=${wholeTimeoutMs}`] : []),
    ],
    env: suiteEnvironment(),
  });
  return parseReport(code, await readFile(file, 'utf8').catch(() => undefined));
}

/**
 * Runs the failed files once more, one at a time, to find out which failures were a coincidence.
 */
async function repeatFailedFiles(): Promise<void> {
  const filesToRepeat = findFilesToRepeat({ files, isBroken: false });
  for (const suite of suites) {
    const filesOfSuite = filesToRepeat.filter((file) => suiteOf(file) === suite);
    if (filesOfSuite.length === 0) continue;
    console.log(`\n# ${suite} tests again: ${filesOfSuite.map(nameFile).join(', ')}`);
    const repetition = await measure(`${suite} again`, () => runFiles(suite, filesOfSuite));
    const merged = mergeRepetition({ files, isBroken: false }, repetition);
    files.splice(0, files.length, ...merged.results.files);
    if (merged.results.isBroken) failed.push(`${suite} again: the run itself, see above`);
    unstable.push(...merged.unstable);
  }
}

function nameFile(file: string): string {
  return relative(process.cwd(), file);
}

function printReport(): number {
  const mustBeComplete = process.env['CI'] === 'true';
  const skipped = files.flatMap((file) => file.skipped);
  for (const { file, failed: names } of files) {
    failed.push(...names.map((name) => `${nameFile(file)} > ${name === file ? 'the file' : name}`));
  }
  const failures = mustBeComplete ? [...failed, ...skipped] : failed;
  console.log('');
  if (isSlowestWanted) printSlowest();
  if (seed !== '') console.log(`TEST_SEED=${seed}`);
  console.log(`seconds: ${secondsOf.map(([step, of]) => `${step} ${Math.round(of)}`).join(', ')}`);
  for (const name of skipped) console.log(name);
  for (const name of unstable) console.log(`unstable: ${name.replace(`${process.cwd()}/`, '')}`);
  for (const name of failed) console.log(`failed: ${name}`);
  if (mustBeComplete && skipped.length > 0) console.log('With CI=true a skip is a failure.');
  const passedCount = files.reduce((sum, file) => sum + file.passedCount, passedChecksCount);
  const skippedNote = mustBeComplete || skipped.length === 0 ? '' : `, ${skipped.length} skipped`;
  console.log(`${passedCount} passed, ${failures.length} failed${skippedNote}`);
  return failures.length === 0 ? 0 : 1;
}

function printSlowest(): void {
  const slowest = files.toSorted((left, right) => right.seconds - left.seconds);
  console.log('The slowest files, in seconds:');
  for (const { file, seconds } of slowest.slice(0, slowestFilesCount)) {
    console.log(`${seconds.toFixed(1).padStart(7)}  ${nameFile(file)}`);
  }
  console.log('');
}
