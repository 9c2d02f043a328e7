import { wordsOf } from './command.ts';
import { commands } from './commands.ts';
import { errorCodes, exitCodes } from './exit-codes.ts';
import { helpHintOf, runProgram } from './program.ts';
import { useProxy } from './proxy.ts';
import { Refusal } from './refusal.ts';
import { readVersion } from './version.ts';
import { makePrintable, makePrintableText } from './words.ts';

// A program that has read enough of the output, such as `head`, closes the pipe. That is not an
// error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<void> {
  useProxy(process.env);
  try {
    const context = { version: readVersion(), environment: process.env };
    process.exitCode = (await runProgram(args, commands, context)) ?? process.exitCode ?? 0;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    process.exitCode = error.exitCode;
    process.stderr.write(`${describeRefusal(error, args)}\n`);
  }
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
function describeRefusal(refusal: Refusal, args: readonly string[]): string {
  if (args.includes('--json')) {
    const error = errorCodes[refusal.exitCode] ?? 'failed';
    return makePrintableText(
      JSON.stringify(refusal.envelope ?? { error, message: refusal.message }),
    );
  }
  const tryHelp = refusal.exitCode === exitCodes.usage ? `\n${helpHintOf(wordsOfArgs(args))}` : '';
  return `action-gateway: ${refusal.message.split('\n').map(makePrintable).join('\n')}${tryHelp}`;
}
