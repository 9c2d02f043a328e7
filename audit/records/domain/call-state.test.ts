import { expect, test } from 'vitest';

import type { AuditOutcome } from '#contracts/audit';
import { callStateOf } from './call-state.ts';

const intentRecord = { type: 'action.intent', outcome: 'started' } as const;
const createOutcomeRecord = (given: AuditOutcome) => ({ type: 'action.outcome', outcome: given });
const createReplayRecord = (given: AuditOutcome) => ({
  type: 'execution.finished',
  outcome: given,
});

test.for<[what: string, records: Parameters<typeof callStateOf>[0], state: AuditOutcome | null]>([
  ['a call that has only an intent has the state started', [intentRecord], 'started'],
  ['a call has the state of its outcome', [intentRecord, createOutcomeRecord('called')], 'called'],
  [
    'a call has the state of its outcome even if the log got the outcome before the intent',
    [createOutcomeRecord('called'), intentRecord],
    'called',
  ],
  [
    'a call whose outcome is unknown has the state outcome_unknown',
    [intentRecord, createOutcomeRecord('outcome_unknown')],
    'outcome_unknown',
  ],
  [
    'a call that ended after its replay was abandoned has the state of its own outcome',
    [intentRecord, createReplayRecord('outcome_unknown'), createOutcomeRecord('called')],
    'called',
  ],
  [
    'a call whose replay failed before the call was sent has the state failed',
    [createReplayRecord('failed')],
    'failed',
  ],
  [
    'a call keeps its state when a record of a type that nobody knows names the call',
    [{ type: 'service.invented', outcome: 'failed' }, intentRecord],
    'started',
  ],
  [
    'a record of an unknown type that is no part of a call has the state of its own outcome',
    [{ type: 'action.postponed', outcome: 'failed' }],
    'failed',
  ],
  ['the change of a setting has no call state', [{ type: 'org.changed', outcome: null }], null],
])('%s', ([, records, state]) => {
  expect(callStateOf(records)).toBe(state);
});
