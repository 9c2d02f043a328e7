import { Command, CommanderError } from 'commander';

import type { CommandRow, Invocation } from './command.ts';
import { wordsOf } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import type { ExitCode } from './exit-codes.ts';
import type { Environment } from './settings.ts';

const groupDescriptions: Readonly<Record<string, string>> = {
  approvals: 'Calls that wait for a decision',
  agents: 'Programs that act for you',
  keys: 'What agents sign in with',
  secrets: 'Credentials that the gateway keeps and puts into calls',
  rules: 'What is allowed and denied without a question',
  services: 'What agents can call',
  templates: 'Descriptions that services are made from',
  users: 'People of the org',
  webhooks: 'Addresses that get events',
  audit: 'The record of what happened',
};

/**
 * Runs the command that the arguments name. Help and version go to stdout, messages about wrong
 * usage to stderr.
 *
 * @returns the exit code, or undefined when a command ran and set `process.exitCode` itself.
 * @throws what the command throws.
 */
export async function runProgram(
  args: readonly string[],
  rows: readonly CommandRow[],
  context: { readonly version: string; readonly environment: Environment },
): Promise<ExitCode | undefined> {
  try {
    await createProgram(rows, context).parseAsync(args, { from: 'user' });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  }
}

function createProgram(
  rows: readonly CommandRow[],
  { version, environment }: { version: string; environment: Environment },
): Command {
  const program = new Command('action-gateway')
    .description('The command line of the Agent Action Gateway.')
    .version(version, '-v, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .enablePositionalOptions() // options of "mcp" are not those of "mcp login"
    .showHelpAfterError(helpHintOf([]))
    .exitOverride();
  for (const row of rows) addRow(program, row, environment);
  return program;
}

/** Says how to get the help of a command. */
export function helpHintOf(words: readonly string[]): string {
  return `Try: ${['action-gateway', ...words, '--help'].join(' ')}`;
}

function addRow(program: Command, row: CommandRow, environment: Environment): void {
  const words = wordsOf(row);
  const command = words.reduce<Command>(findOrCreateCommand, program);
  command.showHelpAfterError(helpHintOf(words));
  command.summary(row.about.split(/[.:;]/, 1)[0] ?? '').description(row.about);
  const usedArguments = row.usage.split(' ').slice(words.length).join(' ');
  if (usedArguments !== '') command.arguments(usedArguments);
  for (const [flags, about, repeats] of row.options ?? []) {
    if (repeats === undefined) command.option(flags, about);
    else command.option(flags, `${about} (repeatable)`, collectValues);
  }
  if (row.notes !== undefined) command.addHelpText('after', `\n${row.notes}`);
  command.action(async () => {
    const invocation: Invocation = {
      args: command.processedArgs.flat().filter((each) => typeof each === 'string'),
      options: command.opts(),
      environment,
    };
    await row.run(invocation);
  });
}

function findOrCreateCommand(parent: Command, word: string): Command {
  const existingCommand = parent.commands.find((each) => each.name() === word);
  if (existingCommand !== undefined) return existingCommand;
  const newCommand = parent.command(word).showHelpAfterError(helpHintOf([word]));
  const about = groupDescriptions[word];
  return about === undefined ? newCommand : newCommand.description(about);
}

function collectValues(value: string, collected: readonly string[] = []): string[] {
  return [...collected, value];
}
