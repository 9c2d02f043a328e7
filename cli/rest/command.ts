import type { CommandRow, Invocation, OptionRow } from '../command.ts';
import type { Environment } from '../settings.ts';
import type { Api } from './api.ts';
import type { Fields } from './error-words.ts';
import type { Answer } from './output.ts';

/**
 * The invocation of a command that uses the gateway's REST API. `Options` are the options of the
 * command.
 */
export interface RestCall<Options = object> {
  readonly api: Api;
  readonly args: readonly string[];
  readonly options: Readonly<Options>;
  readonly environment: Environment;
  /** Whether `--json` is given. */
  readonly isJson: boolean;
}

/** Runs the command and returns what is to be printed. */
export type RestHandler<Options> = (call: RestCall<Options>) => Promise<Answer>;

/** The options of all commands that use the gateway's REST API. */
export const commonOptions: readonly OptionRow[] = [
  ['--json', 'print JSON'],
  ['--profile <name>', 'use this profile instead of "default"'],
  ['--url <url>', 'address of the gateway (default: the one of the login)'],
];

/** A row without its code. `fields` says which options errors of the gateway mean. */
export interface RestRow extends Omit<CommandRow, 'run'> {
  readonly fields?: Fields;
}

/**
 * Creates the row of a command that uses the gateway's REST API. The command also accepts the
 * common options. Its answer is printed as text for a person, or with `--json` as JSON. An error of
 * the gateway names the options of the command.
 *
 * @param load Loads the code of the command when the command runs.
 */
export function restCommand<Options>(
  row: RestRow,
  load: () => Promise<RestHandler<Options>>,
): CommandRow {
  const { usage, about, options = [], choices, notes } = row;
  return {
    usage,
    about,
    options: [...options, ...commonOptions],
    ...(choices !== undefined && { choices }),
    ...(notes !== undefined && { notes }),
    run: async ({ args, options: values, environment }: Invocation) => {
      const [handler, { openApi }, { refuseInWordsOf }, { printAnswer }] = await Promise.all([
        load(),
        import('./api.ts'),
        import('./gateway-refusal.ts'),
        import('./output.ts'),
      ]);
      const isJson = values['json'] === true;
      const api = await openApi(values, environment);
      // The row declares exactly the options that the handler reads.
      const call = { api, args, options: values as Options & object, environment, isJson };
      const answer = await handler(call).catch((error: unknown) =>
        refuseInWordsOf({ row, spellCommand: api.spellCommand }, error),
      );
      printAnswer(answer, { isJson });
    },
  };
}
