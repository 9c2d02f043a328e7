import { riskLimits } from '#contracts/value-sets';
import type { CommandRow, OptionRow } from './command.ts';
import { approvalCommands } from './rest/approval-commands.ts';
import { commonOptions, restCommand } from './rest/command.ts';
import { orgCommands } from './rest/org-commands.ts';
import { ownerCommands } from './rest/owner-commands.ts';
import { serviceCommands } from './rest/service-commands.ts';
import { profilePathOf, readCredentialFileSetting, readProfileSetting } from './settings.ts';

const urlOption: OptionRow = [
  '--url <url>',
  'address of the gateway (default: http://127.0.0.1:8080)',
];
const profileOption: OptionRow = [
  '--profile <name>',
  'keep the login under this name, for a second gateway',
];
const credentialFileOption: OptionRow = [
  '--credential-file <file>',
  'keep the login here, for a second agent or gateway',
];
const waitOption: OptionRow = [
  '--wait [time]',
  'wait for an approval, by default 15m; exits with 5 without a decision',
];
const idempotencyKeyOption: OptionRow = [
  '--idempotency-key <key>',
  'make the call of an earlier command with this key only if it was not made',
];
const noBrowserOption: OptionRow = ['--no-browser', 'print the address only'];

const variables = `
  ACTION_GATEWAY_URL               address of the gateway
  ACTION_GATEWAY_CREDENTIAL_FILE   where the login is kept`;

/**
 * The table of commands. Each command loads its code only when it runs, so that no command waits
 * until the code of other commands is loaded.
 */
export const commands: readonly CommandRow[] = [
  {
    usage: 'login',
    about: 'Sign in through your browser, as yourself.',
    options: [urlOption, profileOption, noBrowserOption],
    notes:
      'What you do with this login is what you may do in the dashboard. For an agent, set\nACTION_GATEWAY_KEY or ACTION_GATEWAY_KEY_FILE instead, or see "action-gateway mcp login".',
    run: async ({ options, environment }) => {
      const { loginAsUser } = await import('./login/login.ts');
      const profile = readProfileSetting(options['profile'] as string | undefined, environment);
      await loginAsUser(options, profilePathOf(profile, environment), environment);
    },
  },
  {
    usage: 'logout',
    about: 'Revoke the login at the gateway and delete it here.',
    options: [profileOption],
    run: async ({ options, environment }) => {
      const { logout } = await import('./login/logout.ts');
      const profile = readProfileSetting(options['profile'] as string | undefined, environment);
      await logout(profilePathOf(profile, environment));
    },
  },
  restCommand(
    { usage: 'whoami', about: 'Show who you are at which gateway.' },
    async () => (await import('./rest/whoami.ts')).showCaller,
  ),
  restCommand(
    {
      usage: 'search [words...]',
      fields: { q: '<words>' },
      about: 'Find actions by what they do.',
      options: [
        ['--service <name>', 'only in this service'],
        ['--action <name>', 'only this action of --service, with all its parameters'],
        ['--catalog', 'also services that are not connected'],
        ['--limit <number>', 'at most so many, 50 at most'],
      ],
    },
    async () => (await import('./rest/search.ts')).searchActions,
  ),
  restCommand(
    {
      usage: 'call <service> <action>',
      about: 'Call an action of a service.',
      options: [
        ['--param <name=value>', 'a parameter; name:=JSON for what is no text', 'repeats'],
        ['--json-params <json>', 'all parameters as JSON; @FILE or - for stdin'],
        ['--filter <jq>', 'print what this jq program makes of the answer'],
        ['--max-risk <risk>', 'refuse what is riskier', riskLimits],
        waitOption,
        idempotencyKeyOption,
      ],
      notes: `Example:
  action-gateway call github create_issue --param repository=acme/site --param title=Hello`,
    },
    async () => (await import('./rest/calls.ts')).callAction,
  ),
  restCommand(
    {
      usage: 'http <method> <url>',
      fields: { path: '<url>', headers: '--header', body: '--data', secrets: '--secret' },
      about: 'Call a URL, with secrets that the gateway puts in.',
      options: [
        ["--header <'Name: value'>", 'a header', 'repeats'],
        ['--data <text>', 'the body; @FILE or - for stdin. JSON is sent as application/json'],
        ['--secret <name=header:Name>', 'put a secret there; or name=query:parameter', 'repeats'],
        ['--service <name>', 'call a path of this service instead, with its credential'],
        waitOption,
        idempotencyKeyOption,
      ],
      notes: `Example:
  action-gateway http POST https://api.example.com/notes --data '{"text": "Hello"}' \\
    --secret 'notes_token=header:Authorization:Bearer '`,
    },
    async () => (await import('./rest/calls.ts')).callHttp,
  ),
  ...approvalCommands,
  ...ownerCommands,
  ...serviceCommands,
  ...orgCommands,
  {
    usage: 'mcp',
    about: 'Speak MCP on stdin and stdout for an editor, and forward it to the gateway.',
    options: [
      ['--url <url>', 'address of the gateway (default: the one of the login)'],
      ['--credential-file <file>', 'use this login instead of the usual one'],
    ],
    notes: `Environment:${variables}
  ACTION_GATEWAY_KEY               an agent key, instead of a login
  ACTION_GATEWAY_KEY_FILE          a file that holds it`,
    run: async ({ options, environment }) => {
      const { runMcp } = await import('./mcp/run.ts');
      await runMcp(options, environment);
    },
  },
  {
    usage: 'mcp login',
    about:
      'Sign in through your browser, where you choose the agent that "action-gateway mcp" acts as.',
    options: [
      urlOption,
      credentialFileOption,
      ['--scope <scopes>', 'ask for these scopes instead of those that the gateway names'],
      ['--new-client', 'register anew, for example to choose another agent'],
      [
        '--client-id <id>',
        'be this client: one registered beforehand, or the https address of its metadata document',
      ],
      noBrowserOption,
    ],
    notes: `Environment:${variables}
  ACTION_GATEWAY_CLIENT_SECRET     of --client-id, if it has one`,
    run: async ({ options, environment }) => {
      const { loginAsAgent } = await import('./login/login.ts');
      await loginAsAgent(options, environment);
    },
  },
  {
    usage: 'mcp logout',
    about: 'Revoke the login of "action-gateway mcp" and delete it here.',
    options: [credentialFileOption],
    run: async ({ options, environment }) => {
      const { logout } = await import('./login/logout.ts');
      const file = options['credentialFile'] as string | undefined;
      await logout(readCredentialFileSetting(file, environment));
    },
  },
  {
    usage: 'doctor',
    about: 'Check the address, the clock, the gateway and the login, and say what to fix.',
    options: commonOptions,
    run: async ({ options, environment }) => {
      const [{ examine }, { printAnswer }] = await Promise.all([
        import('./rest/doctor.ts'),
        import('./rest/output.ts'),
      ]);
      printAnswer(await examine(options, environment), { isJson: options['json'] === true });
    },
  },
  {
    usage: 'start',
    about: 'Start a gateway on this machine, as "npm start" does.',
    notes: 'The settings are environment variables: see docs/operating.md.',
    run: async ({ environment }) => {
      const { startGateway } = await import('./start.ts');
      await startGateway(environment);
    },
  },
  {
    usage: 'completion <shell>',
    about: 'Print the completion for bash, zsh or fish.',
    notes: `  bash   source <(action-gateway completion bash)
  zsh    source <(action-gateway completion zsh)
  fish   action-gateway completion fish | source`,
    run: async ({ args }) => {
      const { createCompletion } = await import('./completion.ts');
      process.stdout.write(createCompletion(args[0] ?? '', commands));
    },
  },
];
