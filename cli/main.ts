import { commands } from './commands.ts';
import { errorCodes, exitCodes } from './exit-codes.ts';
import { runProgram } from './program.ts';
import { useProxy } from './proxy.ts';
import { Refusal } from './refusal.ts';
import { readVersion } from './version.ts';
import { makePrintable, makePrintableText } from './words.ts';

// A reader that has seen enough, such as `head`, closes stdout; that is no error.
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

/** A refusal for a person, or with `--json` as JSON: the gateway's own error, where it is one. */
function describeRefusal(refusal: Refusal, args: readonly string[]): string {
  if (args.includes('--json')) {
    const error = errorCodes[refusal.exitCode] ?? 'failed';
    return makePrintableText(
      JSON.stringify(refusal.envelope ?? { error, message: refusal.message }),
    );
  }
  const tryHelp = refusal.exitCode === exitCodes.usage ? '\nTry: action-gateway --help' : '';
  return `action-gateway: ${refusal.message.split('\n').map(makePrintable).join('\n')}${tryHelp}`;
}
