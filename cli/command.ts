import type { Environment } from './settings.ts';

/** One command of the program, as a row of the table in `commands.ts`. */
export interface CommandRow {
  /** The words that a person types, then the arguments: `approvals show <id>`. */
  readonly usage: string;
  /** What the command does, in the words of the help. */
  readonly about: string;
  readonly options?: readonly OptionRow[];
  /** For arguments that have a fixed set of values: the values by the name of the argument. */
  readonly choices?: Readonly<Record<string, readonly string[]>>;
  /** More of the help: examples and environment variables. */
  readonly notes?: string;
  /** @throws Refusal for errors that a person can correct. */
  readonly run: (invocation: Invocation) => Promise<void>;
}

/**
 * An option in the notation of commander: `--ttl <time>`. An option that may be repeated has a list
 * as its value. An option with a fixed set of values lists them; help adds them to `about`.
 */
export type OptionRow = readonly [
  flags: string,
  about: string,
  more?: 'repeats' | readonly string[],
];

export interface Invocation {
  readonly args: readonly string[];
  /** The values of the options, by their names in camel case: text, true, or a list of texts. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly environment: Environment;
}

/** The words of a command, without its arguments. */
export function wordsOf({ usage }: Pick<CommandRow, 'usage'>): string[] {
  return usage.split(' ').filter((word) => /^[a-z]/.test(word));
}

/** Whether a text has the form of an id, which is a UUID. */
export function isId(text: string): boolean {
  return /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text);
}
