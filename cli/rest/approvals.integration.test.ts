import { expect, test } from 'vitest';

import { answerFrom, startWorld } from './world.testing.ts';

const id = '01900000-0000-7000-8000-000000000001';

/** An allowed approval with this execution. */
const approvalWith = (execution: object) => ({
  id,
  status: 'allowed',
  risk: 'med',
  action_description: 'Send a mail',
  requester: { path: ['ann', 'bot'] },
  request: { method: 'POST', url: 'https://a.example/', params: {}, headers: {}, credentials: [] },
  disclosed: [],
  permission_keys: [],
  suggested_tiers: [],
  execution,
});

test.each([
  [
    { status: 'executed', http_status_code: 200, result: { status_code: 200, body: { a: 1 } } },
    'executed 200\n\n{\n  "a": 1\n}\n',
  ],
  [
    {
      status: 'executed',
      http_status_code: 404,
      result: {
        status_code: 404,
        body: 'Gone.',
        failure: { kind: 'not_found', message: 'No mailbox' },
      },
    },
    'executed 404. Failed, not_found: No mailbox\n\nGone.\n',
  ],
  [
    { status: 'failed', error: { error: 'outcome_unknown', message: 'Look first.' } },
    'failed. outcome_unknown: Look first.\n',
  ],
])('approvals show prints the result of a call or why it failed', async (execution, expected) => {
  await using world = await startWorld({
    answerRest: answerFrom({ [`GET /v1/approvals/${id}`]: approvalWith(execution) }),
  });
  const { code, stdout } = await world.runHere('approvals', 'show', id);
  expect(code).toBe(0);
  expect(stdout.split(/execution: +/)[1]).toBe(expected);
});
