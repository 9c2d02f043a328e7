/** `npm run check`: runs every check that is not a test. If one fails, the others still run. */
import { checkSteps, runStep } from './steps.ts';

const failedSteps: string[] = [];
for (const check of checkSteps) {
  console.log(`# ${check.name}`);
  if ((await runStep(check)) !== 0) failedSteps.push(check.name);
}
console.log(failedSteps.length === 0 ? 'All checks pass.' : `Failed: ${failedSteps.join(', ')}.`);
process.exitCode = failedSteps.length === 0 ? 0 : 1;
