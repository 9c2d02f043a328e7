import { expect, test } from 'vitest';

import type { AuditOutcome } from '#contracts/audit';
import { stateOf } from './state.ts';

const intent = { type: 'action.intent', outcome: 'started' } as const;
const outcome = (given: AuditOutcome) => ({ type: 'action.outcome', outcome: given });
const replay = (given: AuditOutcome) => ({ type: 'execution.finished', outcome: given });

test.for<[what: string, records: Parameters<typeof stateOf>[0], state: AuditOutcome | null]>([
  ['nothing but the intent', [intent], 'started'],
  ['an outcome', [intent, outcome('called')], 'called'],
  ['an outcome that reached the log before the intent', [outcome('called'), intent], 'called'],
  ['an outcome that nobody knows', [intent, outcome('outcome_unknown')], 'outcome_unknown'],
  [
    'a replay that was given up while the call was made',
    [intent, replay('outcome_unknown'), outcome('called')],
    'called',
  ],
  ['a replay that never came to a call', [replay('failed')], 'failed'],
  ['the change of a setting', [{ type: 'org.changed', outcome: null }], null],
])('%s', ([, records, state]) => {
  expect(stateOf(records)).toBe(state);
});
