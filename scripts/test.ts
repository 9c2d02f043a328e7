/**
 * `npm test`: the checks and then every suite, to the end even if one fails. Its last line is
 * `N passed, N failed`, with `, N skipped` where the machine lacks a part that tests need.
 *
 * `npm test -- unit format` runs only the steps with these names. With CI=true, where every
 * part should be there, a skip is a failure.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { addResults, parseReport } from './test-report.ts';
import type { TestResults } from './test-report.ts';
import { checks, runStep } from './steps.ts';

const suites = ['unit', 'integration', 'e2e'];

const wanted = process.argv.slice(2);
const names = [...checks.map(({ name }) => name), ...suites];
const unknown = wanted.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`No such step: ${unknown.join(', ')}. There are: ${names.join(', ')}.`);
  process.exit(1);
}
const isWanted = (name: string) => wanted.length === 0 || wanted.includes(name);

let results: TestResults = { passed: 0, failed: [], skipped: [] };
for (const check of checks.filter(({ name }) => isWanted(name))) {
  console.log(`\n# ${check.name}`);
  const isGood = (await runStep(check)) === 0;
  results = addResults(results, {
    passed: isGood ? 1 : 0,
    failed: isGood ? [] : [check.name],
    skipped: [],
  });
}
for (const suite of suites.filter(isWanted)) {
  console.log(`\n# ${suite} tests`);
  results = addResults(results, await runSuite(suite));
}
process.exitCode = report(results);

async function runSuite(suite: string): Promise<TestResults> {
  const folder = await mkdtemp(join(tmpdir(), 'action-gateway-results-'));
  try {
    const file = join(folder, 'report.json');
    const code = await runStep({
      name: suite,
      command: 'vitest',
      args: [
        'run',
        '--project',
        suite,
        '--passWithNoTests',
        '--reporter=default',
        '--reporter=json',
        `--outputFile.json=${file}`,
      ],
    });
    const written = await readFile(file, 'utf8').catch(() => undefined);
    return parseReport(suite, code, written);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function report({ passed, failed, skipped }: TestResults): number {
  const isComplete = process.env['CI'] === 'true';
  const failures = isComplete ? [...failed, ...skipped] : failed;
  console.log('');
  for (const name of skipped) console.log(name);
  for (const name of failed) console.log(`failed: ${name}`);
  if (isComplete && skipped.length > 0) console.log('With CI=true a skip is a failure.');
  const rest = isComplete || skipped.length === 0 ? '' : `, ${skipped.length} skipped`;
  console.log(`${passed} passed, ${failures.length} failed${rest}`);
  return failures.length === 0 ? 0 : 1;
}
