import type { CommandRow, Invocation, OptionRow } from '../command.ts';
import type { Environment } from '../settings.ts';
import type { Api } from './api.ts';
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

/**
 * Creates the row of a command that uses the gateway's REST API. The command also accepts the
 * common options. Its answer is printed as text for a person, or with `--json` as JSON.
 *
 * @param load Loads the code of the command when the command runs.
 */
export function restCommand<Options>(
  { options = [], ...row }: Omit<CommandRow, 'run'>,
  load: () => Promise<RestHandler<Options>>,
): CommandRow {
  return {
    ...row,
    options: [...options, ...commonOptions],
    run: async ({ args, options: values, environment }: Invocation) => {
      const [handler, { openApi }, { printAnswer }] = await Promise.all([
        load(),
        import('./api.ts'),
        import('./output.ts'),
      ]);
      const isJson = values['json'] === true;
      const api = await openApi(values, environment);
      // The row declares exactly the options that the handler reads.
      const call = { api, args, options: values as Options & object, environment, isJson };
      printAnswer(await handler(call), { isJson });
    },
  };
}
