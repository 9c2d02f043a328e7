import { approvalFilters, shownRisks } from '#contracts/value-sets';
import type { CommandRow, OptionRow } from '../command.ts';
import { restCommand } from './command.ts';

const reasonOption: OptionRow = ['--reason <text>', 'a sentence for the requester'];

/** Commands about calls that wait for an approval. */
export const approvalCommands: readonly CommandRow[] = [
  restCommand(
    {
      usage: 'approvals list',
      fields: { q: '--search', assigned: '--mine' },
      about: 'List approvals, the newest first.',
      options: [
        ['--status <status>', 'in this state (default: open)', approvalFilters],
        ['--requester <agent>', 'asked for by this agent'],
        ['--service <name>', 'of this service'],
        ['--risk <risk>', 'of this risk', shownRisks],
        ['--search <words>', 'with these words'],
        ['--mine', 'that you are asked to decide'],
        ['--limit <number>', 'at most so many (default 50, at most 1000)'],
      ],
    },
    async () => (await import('./approvals.ts')).listApprovals,
  ),
  restCommand(
    { usage: 'approvals show <id>', about: 'Show what would be sent, and what it needs.' },
    async () => (await import('./approvals.ts')).showApproval,
  ),
  restCommand(
    {
      usage: 'approvals wait <id>',
      about: 'Wait for the decision about a call, and print its result.',
      options: [['--for <time>', 'how long, such as 90s, 5m or 24h (default 15m)']],
    },
    async () => (await import('./calls.ts')).waitForApproval,
  ),
  restCommand(
    {
      usage: 'approvals allow <id>',
      fields: { remember_keys: '--key', cascade: '--no-cascade' },
      about: 'Allow a call.',
      options: [
        ['--remember', 'and calls like it, from now on'],
        [
          '--key <permission-key>',
          'with --remember: remember this key that "show" names',
          'repeats',
        ],
        ['--ttl <time>', 'with --remember: for so long, such as 24h or 30d'],
        ['--no-cascade', 'leave other open calls undecided that --remember would allow'],
        reasonOption,
        ['--yes', 'do not ask again when the risk is high'],
      ],
    },
    async () => (await import('./approvals.ts')).allowApproval,
  ),
  restCommand(
    { usage: 'approvals deny <id>', about: 'Refuse a call.', options: [reasonOption] },
    async () => (await import('./approvals.ts')).denyApproval,
  ),
  restCommand(
    {
      usage: 'approvals watch',
      about: 'Print a line for each approval that comes or ends.',
      notes: `When the connection breaks, the command opens it again, and goes on after the last event that had
an id; every event of a gateway has one. Later events without an id are printed again. If no event
had an id, what happened in between is not printed.`,
    },
    async () => (await import('./watch.ts')).watchApprovals,
  ),
];
