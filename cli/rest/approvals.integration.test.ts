import { expect, test } from 'vitest';

import type { McpCall } from '../gateway.testing.ts';
import { answerFrom, pageOf, startWorld } from './world.testing.ts';

const id = '01900000-0000-7000-8000-000000000001';

const openApprovals = { 'GET /v1/approvals': pageOf() };

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

test('approvals list takes the name of a requester, and an ambiguous name is refused', async () => {
  const others = ['2', '3'].map((digit) => id.replace(/1$/, digit));
  await using world = await startWorld({
    answerRest: answerFrom({
      ...openApprovals,
      'GET /v1/identities': pageOf(
        { id, path: ['ann', 'bot'] },
        { id: others[0], path: ['ben', 'bot'] },
        { id: others[1], path: ['ben'] },
      ),
    }),
  });
  const list = (requester: string) => world.runHere('approvals', 'list', '--requester', requester);
  for (const requester of ['ann/bot', 'ben', id]) {
    expect(await list(requester)).toMatchObject({ code: 0 });
  }
  const paths = world.gateway.calls.map(({ path }) => path);
  expect(paths.flatMap((path) => /requester=([^&]*)/.exec(path)?.[1] ?? [])).toEqual([
    id,
    others[1],
    id,
  ]);
  expect(await list('bot')).toMatchObject({
    code: 2,
    stderr: `"bot" is the name of 2 agents: write ann/bot (id ${id}) or ben/bot (id ${others[0]}).`,
  });
  expect(await list('eve')).toMatchObject({
    code: 2,
    stderr: 'There is no agent or user "eve": see "action-gateway agents list".',
  });
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

test.each([
  [{ status: 'pending' }, `What becomes of the call: action-gateway approvals show ${id}\n`],
  [
    { status: 'failed', error: { error: 'forbidden', message: 'A rule denies it.' } },
    'The call: failed. forbidden: A rule denies it.\n',
  ],
])('approvals allow says what became of the call, or where that is shown', async (...row) => {
  const [execution, expected] = row;
  const approval = approvalWith(execution);
  await using world = await startWorld({
    answerRest: answerFrom({
      [`GET /v1/approvals/${id}`]: approval,
      [`POST /v1/approvals/${id}/resolve`]: approval,
    }),
  });
  expect(await world.runHere('approvals', 'allow', id)).toEqual({
    code: 0,
    stdout: 'allowed: Send a mail\n',
    stderr: expected,
  });
});

test('approvals watch says in each line what the call does, and goes on after the last event with an id', async () => {
  const events = [
    { type: 'approval.raised', data: { id, risk: 'med', action_description: 'Send a mail' } },
    { type: 'approval.resolved', data: { approval_id: id, status: 'allowed' } },
    { type: 'execution.finished', data: { approval_id: id, execution: { status: 'failed' } } },
  ];
  const stream = events.map((event) => {
    const withId = event.type === 'approval.raised' ? 'id: 7\n' : '';
    return `event: ${event.type}\n${withId}data: ${JSON.stringify(event)}\n\n`;
  });
  let streamCount = 0;
  await using world = await startWorld({
    answerRest: (call) => {
      if (call.path.startsWith('/v1/approvals')) return answerFrom(openApprovals)(call);
      streamCount += 1;
      if (streamCount > 1) return answerFrom({})(call); // ends the command
      call.response.writeHead(200, { 'content-type': 'text/event-stream' }).end(stream.join(''));
    },
  });
  const { stdout } = await world.runHere('approvals', 'watch');
  expect(stdout.split('\n')).toEqual([
    `raised  ${id}  med  Send a mail`,
    `resolved  ${id}  Send a mail  allowed`,
    `finished  ${id}  Send a mail  failed`,
    '',
  ]);
  const streams = world.gateway.calls.filter(({ path }) => path.startsWith('/v1/events'));
  expect(streams.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '7']);
});

const pending = {
  status: 'pending_approval',
  approval_id: 'a-1',
  approval_url: 'http://gateway.example/approvals/a-1',
  action_description: 'Send a mail',
  poll_after_ms: 1,
};

test('a call that waits tells an agent who decides and how to wait, and only a person how to decide', async () => {
  await using world = await startWorld({
    answerRest: ({ response }) => void response.end(JSON.stringify(pending)),
  });
  const args = ['call', 'mail', 'send'];
  const environment = {
    ACTION_GATEWAY_KEY: 'aak_CANARYkey',
    ACTION_GATEWAY_URL: world.gateway.url,
  };
  const waysToResult = [
    'To wait for the decision: action-gateway approvals wait a-1',
    'The result afterwards: action-gateway approvals show a-1',
    '',
  ];
  const asAgent = await world.runHereAs(environment, ...args);
  expect({ ...asAgent, stderr: asAgent.stderr.split('\n') }).toEqual({
    code: 5,
    stdout: '',
    stderr: [
      'Waits for approval: Send a mail',
      'Your user, or an agent above you, decides at http://gateway.example/approvals/a-1',
      ...waysToResult,
    ],
  });
  const asPerson = await world.runHere(...args);
  expect(asPerson.stderr.split('\n')).toEqual([
    'Waits for approval: Send a mail',
    'Decide at http://gateway.example/approvals/a-1',
    'or with: action-gateway approvals allow a-1',
    ...waysToResult,
  ]);
});

test('the commands that a message names use the gateway and the profile that were given', async () => {
  const approval = approvalWith({ status: 'pending' });
  const refusal = {
    error: 'unknown_action',
    message: 'There is no such action.',
    request_id: 'r-1',
    next: { method: 'GET', path: '/v1/search?q=send+mail&service=mail' },
  };
  await using world = await startWorld({
    answerRest: (call) => {
      const { body, path, response } = call;
      if (path === '/v1/actions/call') {
        const isUnknown = body.includes('unknown');
        response
          .writeHead(isUnknown ? 404 : 200)
          .end(JSON.stringify(isUnknown ? refusal : pending));
      } else {
        answerFrom({
          'GET /v1/identities': pageOf(),
          [`GET /v1/approvals/${id}`]: approval,
          [`POST /v1/approvals/${id}/resolve`]: approval,
        })(call);
      }
    },
  });
  const { url } = world.gateway;
  const given = ['--profile', 'default', '--url', url];
  const commandsOf = ({ stderr }: { stderr: string }) =>
    stderr.match(/action-gateway [^"\n]*/g)?.map((text) => text.slice('action-gateway '.length));

  expect(commandsOf(await world.runHere('call', 'mail', 'send', ...given))).toEqual(
    ['allow', 'wait', 'show'].map((verb) => `approvals ${verb} a-1 --profile default --url ${url}`),
  );
  const asAgent = { ACTION_GATEWAY_KEY: 'aak_CANARYkey' };
  expect(commandsOf(await world.runHereAs(asAgent, 'call', 'mail', 'send', '--url', url))).toEqual(
    ['wait', 'show'].map((verb) => `approvals ${verb} a-1 --url ${url}`),
  );
  expect(commandsOf(await world.runHere('approvals', 'allow', id, ...given))).toEqual([
    `approvals show ${id} --profile default --url ${url}`,
  ]);
  expect(
    commandsOf(await world.runHere('approvals', 'list', '--requester', 'eve', ...given)),
  ).toEqual([`agents list --profile default --url ${url}`]);
  expect(commandsOf(await world.runHere('call', 'mail', 'unknown', ...given))).toEqual([
    `search 'send mail' --service mail --profile default --url ${url}`,
  ]);
});

/** Answers that the call waits, and this approval when asked for it. */
function answerWaiting(approval: object) {
  return ({ method, response }: McpCall) =>
    void response.end(JSON.stringify(method === 'GET' ? approval : pending));
}

test('when waiting ends without a decision, the program says so, and mentions the approval only once', async () => {
  await using world = await startWorld({
    answerRest: answerWaiting({ status: 'bubbled' }),
  });
  const { code, stderr } = await world.runHere('call', 'mail', 'send', '--wait', '1s');
  expect(code).toBe(5);
  expect(stderr.match(/Waits for approval/g)).toHaveLength(1);
  expect(stderr).toContain('Nobody has decided yet.');
});

test('approvals wait asks for the result by the id alone, and so makes no other call', async () => {
  const result = { status_code: 200, body: 'Sent.' };
  const called = { status: 'called', action_description: 'Send a mail', result };
  await using world = await startWorld({
    answerRest: ({ response }) =>
      void response.end(JSON.stringify(world.gateway.calls.length === 1 ? pending : called)),
  });
  expect(await world.runHere('approvals', 'wait', id, '--for', '1m')).toMatchObject({
    code: 0,
    stdout: 'Sent.\n',
  });
  const bodies = world.gateway.calls.map(({ body }) => JSON.parse(body) as unknown);
  expect(bodies).toEqual([{ approval_id: id }, { approval_id: 'a-1' }]);
});

test('approvals wait ends with the reason of a denial, or with 5 when nobody decides in time', async () => {
  const answers: object[] = [{ status: 'denied', reason: 'too soon' }];
  await using world = await startWorld({
    answerRest: ({ method, response }) =>
      void response.end(
        JSON.stringify(method === 'GET' ? { status: 'pending' } : (answers.shift() ?? pending)),
      ),
  });
  expect(await world.runHere('approvals', 'wait', id)).toMatchObject({
    code: 4,
    stderr: 'Denied: too soon\n',
  });
  const { code, stderr } = await world.runHere('approvals', 'wait', id, '--for', '1s');
  expect(code).toBe(5);
  expect(stderr).toContain('Nobody has decided yet.');
  const { code: misuseCode, stderr: advice } = await world.runHere(
    'approvals',
    'wait',
    id,
    '--for',
    '5x',
  );
  expect(misuseCode).toBe(2);
  expect(advice).toContain('--for takes a time');
});

test.for([
  [{ status: 'allowed', execution: { status: 'pending' } }, 'The call is allowed, and has not run'],
  [{ status: 'allowed', execution: { status: 'executing' } }, 'The call is being made.'],
  [{ status: 'denied' }, 'There is no result yet.'],
] as const)(
  'when the time of a wait is over, for an approval %j the program says: %s',
  async ([approval, says]) => {
    await using world = await startWorld({ answerRest: answerWaiting(approval) });
    const { code, stderr } = await world.runHere('approvals', 'wait', id, '--for', '1s');
    expect(code).toBe(5);
    expect(stderr).toContain(says);
    expect(stderr).not.toContain('Nobody has decided');
  },
);

test('a call that waits for a decision asks again when the gateway does not answer', async () => {
  const result = { status_code: 200, body: 'Sent.' };
  const called = { status: 'called', action_description: 'Send a mail', result };
  await using world = await startWorld({
    answerRest: ({ response }) => {
      const { length } = world.gateway.calls;
      if (length === 2) response.destroy();
      else response.end(JSON.stringify(length === 1 ? pending : called));
    },
  });
  expect(await world.runHere('call', 'mail', 'send', '--wait', '1m')).toMatchObject({
    code: 0,
    stdout: 'Sent.\n',
  });
  const resumed = world.gateway.calls.slice(1).map(({ body }) => JSON.parse(body));
  expect(resumed).toEqual([{ approval_id: 'a-1' }, { approval_id: 'a-1' }]);
});

test('when the gateway does not answer until waiting ends, the call still waits for an approval', async () => {
  await using world = await startWorld({
    answerRest: ({ response }) => {
      if (world.gateway.calls.length > 1) response.destroy();
      else response.end(JSON.stringify(pending));
    },
  });
  const { code, stderr } = await world.runHere('call', 'mail', 'send', '--wait', '1s');
  expect(code).toBe(5);
  expect(stderr).toContain('The gateway does not answer.\nTo wait for the decision:');
});
