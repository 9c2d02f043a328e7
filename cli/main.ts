import { wordsOf } from './command.ts';
import { commands } from './commands.ts';
import { errorCodes, exitCodes } from './exit-codes.ts';
import { helpHintOf, runProgram } from './program.ts';
import { useProxy } from './proxy.ts';
import { Refusal } from './refusal.ts';
import { readVersion } from './version.ts';
import { makePrintable, makePrintableText } from './words.ts';

/** A connection that nobody waits for any more does not keep the process longer than this. */
const endMs = 1_000;
const args = process.argv.slice(2);
let isEnding = false;

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A program that has read enough of the output, such as `head`, closes the pipe. That is not an
  // error.
  if (error.code !== 'EPIPE') endWith(refusalOfLostOutput(error));
});
process.stderr.on('error', () => {}); // nobody can be told
process.on('uncaughtException', endWith);

try {
  useProxy(process.env);
  const context = { version: readVersion(), environment: process.env };
  const exitCode = await runProgram(args, commands, context);
  process.exitCode = exitCode ?? process.exitCode ?? 0;
} catch (error) {
  endWith(error);
}

/** Prints the first error as a sentence, and ends the process with the exit code of the error. */
function endWith(error: unknown): void {
  if (isEnding) return;
  isEnding = true;
  const refusal = error instanceof Refusal ? error : refusalOfUnforeseen(error);
  process.exitCode = refusal.exitCode;
  process.stderr.write(`${describeRefusal(refusal)}\n`);
  setTimeout(() => process.exit(), endMs).unref();
}

function refusalOfLostOutput({ code }: NodeJS.ErrnoException): Refusal {
  return new Refusal(
    `stdout cannot be written (${code}), so the answer is lost; what was asked for is done. If it made a key, a secret or a link, that is not shown again: revoke it, and make another one.`,
  );
}

/** An answer that is not of the contract's form ends in a TypeError where it is read. */
function refusalOfUnforeseen(error: unknown): Refusal {
  const reason = error instanceof Error ? error.message : String(error);
  return new Refusal(
    error instanceof TypeError
      ? `The answer is not one that this program understands (${reason}): check the address, and the versions of the gateway and of this program. What was asked for may have been done.`
      : `This failed (${reason}). What was asked for may have been done.`,
    { cause: error },
  );
}

/** The words of the command that the arguments name. */
function wordsOfArgs(args: readonly string[]): string[] {
  const isNamed = (words: readonly string[]) => words.every((word, index) => args[index] === word);
  const named = commands.map(wordsOf).filter(isNamed);
  return named.toSorted((one, other) => other.length - one.length)[0] ?? [];
}

/**
 * Describes a refusal as text for a person, or as JSON with `--json`. The JSON is the gateway's own
 * error if the gateway has refused.
 */
function describeRefusal(refusal: Refusal): string {
  if (args.includes('--json')) {
    const error = errorCodes[refusal.exitCode] ?? 'failed';
    return makePrintableText(
      JSON.stringify(refusal.envelope ?? { error, message: refusal.message }),
    );
  }
  const tryHelp = refusal.exitCode === exitCodes.usage ? `\n${helpHintOf(wordsOfArgs(args))}` : '';
  return `action-gateway: ${refusal.message.split('\n').map(makePrintable).join('\n')}${tryHelp}`;
}
