import type { CommandRow, Invocation, OptionRow } from '../command.ts';
import type { Environment } from '../settings.ts';
import type { Api } from './api.ts';
import type { Answer } from './output.ts';

/** A command that asks the gateway over REST. `Options` are the options of its row. */
export interface RestCall<Options = object> {
  readonly api: Api;
  readonly args: readonly string[];
  readonly options: Readonly<Options>;
  readonly environment: Environment;
  /** Whether the person wants JSON. */
  readonly isJson: boolean;
}

/** What the command does; it returns what is printed. */
export type RestHandler<Options> = (call: RestCall<Options>) => Promise<Answer>;

/** The options of all commands that ask the gateway. */
export const commonOptions: readonly OptionRow[] = [
  ['--json', 'print JSON'],
  ['--profile <name>', 'use this profile instead of "default"'],
  ['--url <url>', 'address of the gateway (default: the one of the login)'],
];

/**
 * A row of a command that asks the gateway: it takes the options that all these commands have, and
 * its answer is printed as a table, or with `--json` as JSON.
 *
 * @param load Loads the code of the command, only when it runs.
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
