import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { ParseArgsOptionsConfig } from 'node:util';

import { commands, overview } from './commands.ts';
import type { Command } from './commands.ts';
import { useProxy } from './proxy.ts';
import { Refusal } from './refusal.ts';
import { makePrintable } from './words.ts';

/** The exit code for a command line that makes no sense; a refusal exits with 1. */
const wrongUseExitCode = 2;

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const firstOption = args.findIndex((each) => each.startsWith('-'));
  const commandWords = firstOption === -1 ? args : args.slice(0, firstOption);
  const name = [commandWords.slice(0, 2).join(' '), commandWords[0] ?? ''].find((each) =>
    commands.has(each),
  );
  const command = commands.get(name ?? '');
  if (command && name !== undefined) return runCommand(command, args.slice(name.split(' ').length));
  if (args[0] === '--version' || args[0] === '-v') return print(`${readVersion()}\n`);
  if (args[0] === '--help' || args[0] === '-h') return print(overview);
  return printMisuse(
    args.length === 0 ? overview : `There is no command "${commandWords.join(' ')}".`,
  );
}

async function runCommand(command: Command, args: string[]): Promise<number> {
  const helpOption = { help: { type: 'boolean', short: 'h' } } as const;
  const options: ParseArgsOptionsConfig = { ...command.options, ...helpOption };
  let values;
  try {
    ({ values } = parseArgs({ args, options, allowPositionals: false }));
  } catch (error) {
    return printMisuse((error as Error).message);
  }
  if (values['help'] === true) return print(command.help);
  useProxy(process.env);
  try {
    await command.run(values, process.env);
    return 0;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    process.stderr.write(`action-gateway: ${makePrintable(error.message)}\n`);
    return 1;
  }
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

function printMisuse(text: string): number {
  process.stderr.write(`${text.trim()}\nTry: action-gateway --help\n`);
  return wrongUseExitCode;
}

function readVersion(): string {
  const file = new URL('../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
