/**
 * `npm test`: runs the checks and then every suite, all of them even if one fails. Its last line is
 * `N passed, N failed`, with `, N skipped` on a machine that lacks something that tests need.
 *
 * `npm test -- unit format` runs only the steps with these names. With CI=true a skipped test is a
 * failure, because CI machines should have everything. `npm run test:all` runs each sweep in full,
 * while `npm test` runs a sample of it.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { addResults, parseReport } from './test-report.ts';
import type { TestResults } from './test-report.ts';
import { checkSteps, runStep } from './steps.ts';
import { wholeSweeps, wholeTimeoutMs } from './whole-sweeps.ts';

const suites = ['unit', 'integration', 'e2e'];

const isWholeRun = process.argv.includes('--whole');
const requestedSteps = process.argv.slice(2).filter((argument) => argument !== '--whole');
const stepNames = [...checkSteps.map(({ name }) => name), ...suites];
const unknownSteps = requestedSteps.filter((name) => !stepNames.includes(name));
if (unknownSteps.length > 0) {
  console.error(`No such step: ${unknownSteps.join(', ')}. There are: ${stepNames.join(', ')}.`);
  process.exit(1);
}
const isWanted = (name: string) => requestedSteps.length === 0 || requestedSteps.includes(name);

let results: TestResults = { passed: 0, failed: [], skipped: [] };
for (const check of checkSteps.filter(({ name }) => isWanted(name))) {
  console.log(`\n# ${check.name}`);
  const hasPassed = (await runStep(check)) === 0;
  results = addResults(results, {
    passed: hasPassed ? 1 : 0,
    failed: hasPassed ? [] : [check.name],
    skipped: [],
  });
}
const wantedSuites = suites.filter(isWanted);
if (wantedSuites.length > 0) {
  console.log(`\n# ${wantedSuites.join(', ')} tests`);
  results = addResults(results, await runSuites(wantedSuites));
}
process.exitCode = printReport(results);

/**
 * All suites run as one vitest run, so that the files of the next suite begin while the last file
 * of one suite still runs.
 */
async function runSuites(projects: readonly string[]): Promise<TestResults> {
  const resultsFolder = await mkdtemp(join(tmpdir(), 'action-gateway-results-'));
  try {
    const file = join(resultsFolder, 'report.json');
    const code = await runStep({
      name: 'tests',
      command: 'vitest',
      args: [
        'run',
        ...projects.map((project) => `--project=${project}`),
        '--passWithNoTests',
        '--reporter=default',
        '--reporter=json',
        `--outputFile.json=${file}`,
        ...(isWholeRun ? [`--testTimeout=${wholeTimeoutMs}`] : []),
      ],
      env: {
        // Tests start the product's programs hundreds of times. With this cache, all later starts
        // load the code that the first one has compiled.
        NODE_COMPILE_CACHE: join(resultsFolder, 'compiled'),
        ...(isWholeRun && wholeSweeps),
      },
    });
    const reportText = await readFile(file, 'utf8').catch(() => undefined);
    return parseReport(code, reportText);
  } finally {
    await rm(resultsFolder, { recursive: true, force: true });
  }
}

function printReport({ passed, failed, skipped }: TestResults): number {
  const mustBeComplete = process.env['CI'] === 'true';
  const failures = mustBeComplete ? [...failed, ...skipped] : failed;
  console.log('');
  for (const name of skipped) console.log(name);
  for (const name of failed) console.log(`failed: ${name}`);
  if (mustBeComplete && skipped.length > 0) console.log('With CI=true a skip is a failure.');
  const skippedNote = mustBeComplete || skipped.length === 0 ? '' : `, ${skipped.length} skipped`;
  console.log(`${passed} passed, ${failures.length} failed${skippedNote}`);
  return failures.length === 0 ? 0 : 1;
}
