import { auditOutcomes, risks, roles } from '#contracts/value-sets';
import type { CommandRow } from '../command.ts';
import { restCommand } from './command.ts';
import { changeCommand, limitOption, listCommand, showCommand } from './resource-commands.ts';
import { users, webhooks } from './resources.ts';

/** Commands about an org: its users, webhooks and audit log. */
export const orgCommands: readonly CommandRow[] = [
  listCommand(users, { about: 'List the users of the org.' }),
  showCommand(users, { about: 'Show a user.' }),
  restCommand(
    {
      usage: 'users invite <email>',
      about: 'Create a user, and print the link with which they sign in.',
      options: [
        ['--role <role>', 'the role (default: member)', roles],
        ['--name <name>', 'the name (default: made from the e-mail address)'],
      ],
    },
    async () => (await import('./users.ts')).inviteUser,
  ),
  restCommand(
    {
      usage: 'users change <user>',
      about: 'Change the role or the display name of a user.',
      options: [
        ['--role <role>', 'the new role', roles],
        ['--display-name <name>', 'what others read; an empty text removes it'],
      ],
    },
    async () => (await import('./users.ts')).changeUser,
  ),
  restCommand(
    {
      usage: 'users sign-in-link <user>',
      about: 'Print a link with which a user signs in once and sets a new password.',
    },
    async () => (await import('./users.ts')).createSignInLink,
  ),
  changeCommand(users, {
    verb: 'archive',
    about: 'Stop a user and all their agents.',
    post: 'archive',
    done: 'is archived',
  }),
  changeCommand(users, {
    verb: 'restore',
    about: 'Let an archived user act again.',
    post: 'restore',
    done: 'is active',
  }),
  listCommand(webhooks, { about: 'List webhooks.' }),
  restCommand(
    {
      usage: 'webhooks show <webhook-id>',
      fields: { id: '<webhook-id>' },
      about: 'Show a webhook, and what became of its last delivery.',
    },
    async () => (await import('./webhooks.ts')).showWebhook,
  ),
  restCommand(
    {
      usage: 'webhooks add <url>',
      fields: { events: '--event' },
      about: 'Send events to an address; prints the secret of their signatures this once.',
      options: [
        ['--event <type>', 'events of this type, such as approval.raised or approval.*', 'repeats'],
        ['--description <text>', 'what it is for'],
      ],
    },
    async () => (await import('./webhooks.ts')).addWebhook,
  ),
  changeCommand(webhooks, {
    verb: 'verify',
    about: 'Send the handshake again, which also switches a webhook on that is off.',
    post: 'verify',
    done: 'is asked to answer the handshake',
  }),
  changeCommand(webhooks, { verb: 'delete', about: 'Delete a webhook.', done: 'is deleted' }),
  restCommand(
    {
      usage: 'audit tail',
      fields: { text: '--search' },
      about: 'Print the newest audit records, the newest last.',
      options: [
        ['--follow', 'and then those that come, until Ctrl+C'],
        ['--service <name>', 'about this service'],
        ['--type <type>', 'of this type, such as action.outcome'],
        ['--outcome <outcome>', 'that ended so', auditOutcomes],
        ['--risk <risk>', 'of this risk', risks],
        ['--since <time>', 'of the last 30m, 24h or 7d, or since a time: 2027-01-31T00:00:00Z'],
        ['--search <text>', 'whose description has this text'],
        limitOption,
      ],
    },
    async () => (await import('./audit.ts')).tailAudit,
  ),
  restCommand(
    { usage: 'audit verify', about: 'Check that nobody changed the audit log.' },
    async () => (await import('./audit.ts')).verifyAudit,
  ),
];
