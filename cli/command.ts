import type { Environment } from './settings.ts';

/** One command of the program, as a row of the table in `commands.ts`. */
export interface CommandRow {
  /** The words that a person types, then the arguments: `approvals show <id>`. */
  readonly usage: string;
  /** What the command does, in the words of the help. */
  readonly about: string;
  readonly options?: readonly OptionRow[];
  /** More of the help: examples and environment variables. */
  readonly notes?: string;
  /** @throws Refusal for errors that a person can correct. */
  readonly run: (invocation: Invocation) => Promise<void>;
}

/**
 * An option in the notation of commander: `--ttl <time>`. An option that may be repeated has a list
 * as its value.
 */
export type OptionRow = readonly [flags: string, about: string, repeats?: 'repeats'];

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
