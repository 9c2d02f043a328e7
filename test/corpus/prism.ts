/**
 * `npm run corpus:prism [document…]` calls every operation in the documents of GitHub, Slack,
 * Notion and GitLab on Prism's mocks of these documents. It reports which calls a mock accepted,
 * and which calls the product refused to send.
 */
import { orExit } from '#process';
import { documentNames } from './prism/documents.ts';
import { testDocument } from './prism/judge.ts';
import type { Verdict } from './prism/judge.ts';

const acceptedShareMin = 0.995;
const shownLinesMax = 20;

await orExit(async () => {
  const givenArguments = process.argv.slice(2);
  const seed = Number(process.env['CORPUS_SEED'] ?? 1);
  for (const name of givenArguments.length > 0 ? givenArguments : documentNames) {
    const startedAt = performance.now();
    const verdict = await testDocument(name, {
      operations: (all) => all,
      callsPerOperation: 4,
      seed,
    });
    printVerdict(verdict, (performance.now() - startedAt) / 1000);
    if (verdict.accepted < acceptedShareMin * verdict.calls || verdict.hitsOfMalformed > 0)
      process.exitCode = 1;
  }
});

function printVerdict(verdict: Verdict, seconds: number): void {
  const { name, operations, calls, accepted, refused } = verdict;
  const percent = ((100 * accepted) / calls).toFixed(2);
  const refusalCount = verdict.malformed - verdict.acceptedMalformed.length;
  printLine(
    `${name}: ${operations} operations (${refused.length} more do not compile), ${calls} calls, ` +
      `${accepted} accepted (${percent} %); ${verdict.malformed} malformed, ${refusalCount} refused by us, ` +
      `${verdict.hitsOfMalformed} seen by the mock; ${seconds.toFixed(0)} s`,
  );
  for (const [title, lines] of [
    ['does not compile', refused],
    ['no arguments', verdict.withoutArguments],
    ['rejected', verdict.rejected],
    ['passed', verdict.acceptedMalformed],
  ] as const) {
    for (const line of lines.slice(0, shownLinesMax)) printLine(`  ${title}: ${line}`);
    if (lines.length > shownLinesMax) printLine(`  … ${lines.length - shownLinesMax} more`);
  }
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}
