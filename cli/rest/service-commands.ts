import { templateStatuses, templateTiers } from '#contracts/value-sets';
import type { CommandRow, OptionRow } from '../command.ts';
import { restCommand } from './command.ts';
import { changeCommand, listCommand, showCommand } from './resource-commands.ts';
import { services, templates, toShownService } from './resources.ts';

const orgOption: OptionRow = ['--org', 'of the org, for all its members'];

/** Commands about services and the templates that they are made from. */
export const serviceCommands: readonly CommandRow[] = [
  listCommand(services, { about: 'List connected services.' }),
  showCommand(services, { about: 'Show a service.' }, toShownService),
  restCommand(
    {
      usage: 'services connect <template>',
      fields: {
        'credentials.secrets': '--secret',
        'credentials.connection': '--connection',
        'POST /v1/connections': '--account',
        variables: '--variable',
        auto_allow_reads: '--ask-for-reads',
        tier: '--org',
      },
      about: 'Connect a service that a template describes.',
      options: [
        ['--name <name>', 'its name (default: the key of the template)'],
        ['--secret <scheme=name>', 'the secret for a security scheme of the template', 'repeats'],
        ['--account', 'ask the provider for access to an account, and say where you agree'],
        ['--connection <name>', 'use this account, to which you have agreed'],
        ['--variable <name=value>', 'a part of its address', 'repeats'],
        ['--base-url <url>', 'the address of a self-hosted product'],
        ['--ask-for-reads', 'reads need a rule too'],
        orgOption,
      ],
      notes: `Examples:
  action-gateway services connect github --secret token=github_token
  action-gateway services connect github --account`,
    },
    async () => (await import('./services.ts')).connectService,
  ),
  restCommand(
    {
      usage: 'services upgrade <service>',
      fields: {
        'credentials.secrets': '--secret',
        'credentials.connection': '--connection',
        variables: '--variable',
      },
      about: 'Take the newest version of its template, and say what that changes.',
      options: [
        ['--dry-run', 'only say what would change'],
        ['--version <number>', 'only if this version is the newest, as --dry-run said'],
        ['--secret <scheme=name>', 'the secret for a security scheme, if hosts change', 'repeats'],
        ['--connection <name>', 'the account, if hosts change'],
        ['--variable <name=value>', 'a part of its address (default: as before)', 'repeats'],
      ],
    },
    async () => (await import('./upgrade-service.ts')).upgradeService,
  ),
  changeCommand(services, {
    verb: 'disconnect',
    about: 'Disconnect a service. Its credentials stay.',
    done: 'is disconnected',
  }),
  listCommand(
    templates,
    {
      about: 'List templates.',
      fields: { q: '--search' },
      options: [
        ['--search <words>', 'with these words'],
        ['--tier <tier>', 'of this tier', templateTiers],
        ['--status <status>', 'in this state', templateStatuses],
      ],
    },
    ({ options: { search, tier, status } }) => ({ q: search, tier, status }),
  ),
  restCommand(
    {
      usage: 'templates show <key>',
      about: 'Show a template, its actions, and how a service is connected from it.',
      options: [
        ['--tier <tier>', 'the one of this tier (default: the most specific)', templateTiers],
        ['--version <number>', 'this version (default: the published one, or the one saved last)'],
      ],
    },
    async () => (await import('./show-template.ts')).showTemplate,
  ),
  restCommand(
    { usage: 'templates validate <file>', about: 'Check a template; - is stdin.' },
    async () => (await import('./templates.ts')).validateTemplate,
  ),
  restCommand(
    {
      usage: 'templates save <file>',
      about: 'Save a template as a draft; - is stdin.',
      options: [['--key <key>', 'as the next version of this template'], orgOption],
    },
    async () => (await import('./templates.ts')).saveTemplate,
  ),
  restCommand(
    {
      usage: 'templates import <file-or-url>',
      fields: { 'source.url': '<file-or-url>', include_operations: '--operation' },
      about: 'Make a draft of any OpenAPI document.',
      options: [
        ['--key <key>', 'its key (default: made from the title)'],
        ['--operation <id>', 'only this operation, or "METHOD /path"', 'repeats'],
        ['--base-url <url>', 'the address of the API'],
        orgOption,
      ],
    },
    async () => (await import('./templates.ts')).importTemplate,
  ),
  restCommand(
    {
      usage: 'templates publish <key>',
      about: 'Let services be connected from a draft.',
      options: [['--version <number>', 'this version (default: the one saved last)'], orgOption],
    },
    async () => (await import('./templates.ts')).publishTemplate,
  ),
];
