import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander';

import type { CommandRow, Invocation } from './command.ts';
import { isId, wordsOf } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import type { ExitCode } from './exit-codes.ts';
import { misuse } from './refusal.ts';
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
 * usage to stderr. With `--json` such a message is thrown, so that it is printed like other errors.
 *
 * @returns the exit code, or undefined when a command ran and set `process.exitCode` itself.
 * @throws Refusal for wrong usage with `--json`, and what the command throws.
 */
export async function runProgram(
  args: readonly string[],
  rows: readonly CommandRow[],
  context: { readonly version: string; readonly environment: Environment },
): Promise<ExitCode | undefined> {
  const isJson = args.includes('--json');
  try {
    await createProgram(rows, { ...context, isJson }).parseAsync(args, { from: 'user' });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return exitCodes.done;
    if (!isJson) return exitCodes.usage;
    throw misuse(
      error.code === 'commander.help' ? 'Name a command.' : error.message.replace(/^error: /, ''),
    );
  }
}

function createProgram(
  rows: readonly CommandRow[],
  { version, environment, isJson }: { version: string; environment: Environment; isJson: boolean },
): Command {
  const program = new Command('action-gateway')
    .description('The command line of the Agent Action Gateway.')
    .version(version, '-v, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .enablePositionalOptions() // options of "mcp" are not those of "mcp login"
    .showHelpAfterError(helpHintOf([]))
    .configureOutput(isJson ? { writeErr: () => {} } : {})
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
  for (const usage of row.usage.split(' ').slice(words.length)) {
    command.addArgument(createArgument(usage, row));
  }
  for (const [flags, about, more] of row.options ?? []) {
    if (more === 'repeats') command.option(flags, `${about} (repeatable)`, collectValues);
    else if (more === undefined) command.option(flags, about);
    else command.addOption(new Option(flags, about).choices(more));
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

/** An argument that is an id, or has a fixed set of values, takes no other value. */
function createArgument(usage: string, row: CommandRow): Argument {
  const argument = new Argument(usage);
  const choices = row.choices?.[argument.name()];
  if (choices !== undefined) argument.choices(choices);
  if (/^(?:.+-)?id$/.test(argument.name())) {
    argument.argParser((text: string) => {
      if (isId(text)) return text;
      const [group] = wordsOf(row);
      throw new InvalidArgumentError(`It is no id: "action-gateway ${group} list" shows the ids.`);
    });
  }
  return argument;
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
