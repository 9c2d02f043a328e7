/** `npm run check`: every check without a test, to the end even if one fails. */
import { checks, runStep } from './steps.ts';

const failed: string[] = [];
for (const check of checks) {
  console.log(`# ${check.name}`);
  if ((await runStep(check)) !== 0) failed.push(check.name);
}
console.log(failed.length === 0 ? 'All checks pass.' : `Failed: ${failed.join(', ')}.`);
process.exitCode = failed.length === 0 ? 0 : 1;
