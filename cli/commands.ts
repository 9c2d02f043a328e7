import type { ParseArgsOptionsConfig } from 'node:util';

import type { Environment } from './settings.ts';

/** The option values that `parseArgs` found, by the option names that `options` declares. */
type OptionValues = Readonly<Record<string, unknown>>;

export interface Command {
  readonly options: ParseArgsOptionsConfig;
  readonly help: string;
  /** @throws Refusal for errors that a person can correct. */
  readonly run: (values: OptionValues, environment: Environment) => Promise<void>;
}

const urlOption = { url: { type: 'string' } } as const;
const credentialFileOption = { 'credential-file': { type: 'string' } } as const;

const variablesHelp = `
  ACTION_GATEWAY_URL               address of the gateway (default: http://127.0.0.1:8080)
  ACTION_GATEWAY_CREDENTIAL_FILE   where the login is kept`;

/**
 * The commands, by the words that call them. Each command loads its code only when it runs, so that
 * no command waits for the code of the others.
 */
export const commands: ReadonlyMap<string, Command> = new Map<string, Command>([
  [
    'mcp',
    {
      options: { ...urlOption, ...credentialFileOption },
      help: `action-gateway mcp [--url URL] [--credential-file FILE]

Speaks MCP on stdin and stdout for an editor, and forwards it to the gateway.

  --url URL                address of the gateway (default: the one of the login)
  --credential-file FILE   use this login instead of the usual one

Environment:${variablesHelp}
  ACTION_GATEWAY_KEY               an agent key, instead of a login
  ACTION_GATEWAY_KEY_FILE          a file that holds it
`,
      run: async (values, environment) => {
        const { runMcp } = await import('./mcp/run.ts');
        await runMcp(values, environment);
      },
    },
  ],
  [
    'mcp login',
    {
      options: {
        ...urlOption,
        ...credentialFileOption,
        scope: { type: 'string' },
        'client-id': { type: 'string' },
        'new-client': { type: 'boolean' },
        'no-browser': { type: 'boolean' },
      },
      help: `action-gateway mcp login [--url URL] [--scope SCOPES] [--no-browser]

Signs in through your browser, where you choose the agent that "action-gateway mcp" acts as.

  --url URL                address of the gateway (default: http://127.0.0.1:8080)
  --credential-file FILE   keep the login here, for a second agent or gateway
  --scope SCOPES           ask for these scopes instead of those that the gateway names
  --new-client             register anew, for example to choose another agent
  --client-id ID           be this client: one registered beforehand, or the https address of
                           its metadata document
  --no-browser             print the address only

Environment:${variablesHelp}
  ACTION_GATEWAY_CLIENT_SECRET     of --client-id, if it has one
`,
      run: async (values, environment) => {
        const { login } = await import('./login/login.ts');
        await login(values, environment);
      },
    },
  ],
  [
    'mcp logout',
    {
      options: { ...credentialFileOption },
      help: `action-gateway mcp logout [--credential-file FILE]

Revokes the login at the gateway and deletes it here.

Environment:
  ACTION_GATEWAY_CREDENTIAL_FILE   where the login is kept
`,
      run: async (values, environment) => {
        const { logout } = await import('./login/logout.ts');
        await logout(values, environment);
      },
    },
  ],
]);

export const overview = `action-gateway, the command line of the Agent Action Gateway

  action-gateway mcp           serve an editor that speaks MCP over stdio
  action-gateway mcp login     sign in as an agent of yours
  action-gateway mcp logout    end that login
  action-gateway --version

"action-gateway COMMAND --help" tells more about each.
`;
