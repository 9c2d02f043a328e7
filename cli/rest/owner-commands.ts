import { ruleEffects } from '#contracts/value-sets';
import type { CommandRow, OptionRow } from '../command.ts';
import { restCommand } from './command.ts';
import { changeCommand, listCommand, showCommand } from './resource-commands.ts';
import { agents, keys, rules, secrets } from './resources.ts';

const expiresOption: OptionRow = [
  '--expires <time>',
  'for so long, such as 24h or 7d, or until a time: 2027-01-31T00:00:00Z',
];

/** Commands about what a person owns: agents, keys of agents, secrets and rules. */
export const ownerCommands: readonly CommandRow[] = [
  listCommand(agents, { about: 'List agents, each before the subagents below it.' }),
  restCommand(
    {
      usage: 'agents add <name>',
      fields: { parent_id: '--parent' },
      about: 'Create an agent of yours.',
      options: [['--parent <agent>', 'a subagent below this agent']],
    },
    async () => (await import('./identities.ts')).addAgent,
  ),
  showCommand(agents, { about: 'Show an agent.' }),
  changeCommand(agents, {
    verb: 'archive',
    about: 'Stop an agent and all below it.',
    post: 'archive',
    done: 'is archived',
  }),
  changeCommand(agents, {
    verb: 'restore',
    about: 'Let an archived agent act again.',
    post: 'restore',
    done: 'is active',
  }),
  changeCommand(agents, {
    verb: 'revoke',
    about: 'End an agent, all below it, and their keys, for good.',
    post: 'revoke',
    done: 'is revoked',
    isFinal: true,
  }),
  listCommand(keys, { about: 'List the keys of an agent.' }),
  restCommand(
    {
      usage: 'keys add <agent>',
      fields: { expires_at: '--expires' },
      about: 'Make a key for an agent; it is printed this once.',
      options: [['--name <name>', 'what the key is for'], expiresOption],
      notes: `Example:
  action-gateway keys add bot --name ci > bot.key`,
    },
    async () => (await import('./identities.ts')).addKey,
  ),
  changeCommand(keys, { verb: 'revoke', about: 'Revoke a key.', done: 'is revoked' }),
  listCommand(secrets, { about: 'List secrets, without their values.' }),
  restCommand(
    {
      usage: 'secrets set <name>',
      fields: { allowed_hosts: '--host', tier: '--org' },
      about: 'Store a secret. Its value is typed, or comes from stdin.',
      options: [
        ['--host <host>', 'a host that it may go to', 'repeats'],
        ['--org', 'of the org, for all its members'],
        ['--description <text>', 'what it is for'],
        ['--as-is', 'also when it looks as if more was pasted with it'],
      ],
      notes: `Examples:
  action-gateway secrets set notes_token --host api.example.com
  action-gateway secrets set notes_token < token.txt`,
    },
    async () => (await import('./secrets.ts')).setSecret,
  ),
  changeCommand(secrets, {
    verb: 'delete',
    about: 'Delete a secret with all its versions.',
    done: 'is deleted',
    isFinal: true,
  }),
  listCommand(
    rules,
    {
      about: 'List rules, the newest first.',
      fields: { identity_id: '--agent', scope: '--org' },
      options: [
        ['--agent <agent>', 'of this agent'],
        ['--org', 'of the whole org'],
        ['--service <name>', 'that name this service'],
        ['--effect <effect>', 'of this effect', ruleEffects],
      ],
    },
    async ({ api, options: { agent, org, service, effect } }) => {
      const { findId } = await import('./resource-handlers.ts');
      const identity = agent === undefined ? undefined : await findId(api, agents, agent);
      return { identity_id: identity, scope: org && 'org', service, effect };
    },
  ),
  restCommand(
    {
      usage: 'rules add <effect> <pattern>',
      choices: { effect: ruleEffects },
      fields: { identity_id: '--agent', expires_at: '--expires' },
      about: 'Allow or deny what a pattern of permission keys covers.',
      options: [
        ['--agent <agent>', 'for this agent'],
        ['--org', 'for everybody in the org'],
        expiresOption,
      ],
      notes: `Example:
  action-gateway rules add allow 'github:create_issue:acme/*' --agent bot`,
    },
    async () => (await import('./rules.ts')).addRule,
  ),
  changeCommand(rules, { verb: 'delete', about: 'Delete a rule.', done: 'is deleted' }),
  restCommand(
    {
      usage: 'rules explain <service> <action> [path]',
      fields: { as_identity_id: '--agent', method: '<action>' },
      about: 'Say what would become of a call, and which rules decide. Nothing is sent.',
      options: [
        ['--agent <agent>', 'if this agent made the call'],
        ['--param <name=value>', 'a parameter; name:=JSON for what is no text', 'repeats'],
        ['--json-params <json>', 'all parameters as JSON; @FILE or - for stdin'],
      ],
      notes: `Examples:
  action-gateway rules explain github create_issue --agent bot --param repo=acme/site
  action-gateway rules explain http POST https://api.example.com/notes --agent bot`,
    },
    async () => (await import('./rules.ts')).explainCall,
  ),
];
