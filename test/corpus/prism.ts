/**
 * `npm run corpus:prism [document…]`: calls every operation of the documents of GitHub, Slack,
 * Notion and GitLab on Prism's mocks of them, and says what was accepted and what never left.
 */
import { orExit } from '#process';
import { documentNames } from './prism/documents.ts';
import { judge } from './prism/judge.ts';
import type { Verdict } from './prism/judge.ts';

const acceptedMin = 0.995;
const shownMax = 20;

await orExit(async () => {
  const given = process.argv.slice(2);
  const seed = Number(process.env['CORPUS_SEED'] ?? 1);
  for (const name of given.length > 0 ? given : documentNames) {
    const startedAt = performance.now();
    const verdict = await judge(name, { operations: (all) => all, callsPerOperation: 4, seed });
    report(verdict, (performance.now() - startedAt) / 1000);
    if (verdict.accepted < acceptedMin * verdict.calls || verdict.hitsOfMalformed > 0)
      process.exitCode = 1;
  }
});

function report(verdict: Verdict, seconds: number): void {
  const { name, operations, calls, accepted, refused } = verdict;
  const percent = ((100 * accepted) / calls).toFixed(2);
  const refusals = verdict.malformed - verdict.passed.length;
  say(
    `${name}: ${operations} operations (${refused.length} more do not compile), ${calls} calls, ` +
      `${accepted} accepted (${percent} %); ${verdict.malformed} malformed, ${refusals} refused by us, ` +
      `${verdict.hitsOfMalformed} seen by the mock; ${seconds.toFixed(0)} s`,
  );
  for (const [title, lines] of [
    ['does not compile', refused],
    ['no arguments', verdict.withoutArguments],
    ['rejected', verdict.rejected],
    ['passed', verdict.passed],
  ] as const) {
    for (const line of lines.slice(0, shownMax)) say(`  ${title}: ${line}`);
    if (lines.length > shownMax) say(`  … ${lines.length - shownMax} more`);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
