import { join } from 'node:path';

import { expect, test } from 'vitest';

import { lastingPort } from '../../services-src/embedded/index.ts';
import { startGateway } from '../gateway.testing.ts';
import { writeLogin } from '../program.testing.ts';
import { startWorld as startSignedIn } from './world.testing.ts';

/** Starts a signed-in world whose gateway answers every request with the caller. */
const startWorld: typeof startSignedIn = (behaviour) =>
  startSignedIn({ answerRest: answerWithCaller, ...behaviour });

const caller = {
  path: ['ann\u202E'],
  kind: 'user',
  role: 'admin',
  org: { name: 'acme' },
  scopes: ['user'],
  status: 'active',
};

function answerWithCaller({ response }: { response: { end: (text: string) => void } }): void {
  response.end(JSON.stringify(caller));
}

test('whoami shows the caller without hidden characters, and with --json as data', async () => {
  await using world = await startWorld();
  const { code, stdout, stderr } = await world.run(['whoami']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain(String.raw`ann\u202e`);
  expect(stdout).toContain('the profile "default"');
  const asJson = await world.run(['whoami', '--json']);
  expect(JSON.parse(asJson.stdout)).toEqual({ gateway: world.gateway.url, ...caller });
  expect(asJson.stdout).not.toContain('\u202E');
});

test('an expired login is refreshed, and its new tokens are used the next time', async () => {
  await using world = await startWorld();
  world.gateway.accessTokens.clear();
  for (const _ of [1, 2]) expect(await world.run(['whoami'])).toMatchObject({ code: 0 });
  expect(world.gateway.calls.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer CANARY-access-0',
    'Bearer CANARY-access-1',
    'Bearer CANARY-access-1',
  ]);
});

test('an agent key takes precedence over the login, and --profile over the agent key', async () => {
  await using world = await startWorld();
  const key = { ACTION_GATEWAY_KEY: 'aak_CANARYkey', ACTION_GATEWAY_URL: world.gateway.url };
  await world.run(['whoami'], key);
  await world.run(['whoami', '--profile', 'default'], key);
  expect(world.gateway.calls.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer aak_CANARYkey',
    'Bearer CANARY-access-0',
  ]);
});

test('an agent key beside a profile is sent nowhere without an address', async () => {
  await using world = await startWorld();
  const environment = { ACTION_GATEWAY_KEY: 'aak_CANARYkey', ACTION_GATEWAY_PROFILE: 'default' };
  const { code, stderr } = await world.runHereAs(environment, 'whoami');
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining('ACTION_GATEWAY_URL'),
  });
  expect(world.gateway.calls).toEqual([]);
});

test('each profile keeps its own login', async () => {
  await using world = await startWorld();
  await using other = await startGateway({ answerRest: answerWithCaller });
  other.accessTokens.add('CANARY-access-other');
  await writeLogin(join(world.profiles, 'other.json'), other.url, {
    access_token: 'CANARY-access-other',
    scope: 'user',
  });
  expect(await world.run(['whoami', '--profile', 'other'])).toMatchObject({ code: 0 });
  expect(await world.run(['whoami'], { ACTION_GATEWAY_PROFILE: 'other' })).toMatchObject({
    code: 0,
  });
  expect([other.calls.length, world.gateway.calls.length]).toEqual([2, 0]);
  const wrong = await world.run(['whoami', '--url', other.url]);
  expect(wrong.code).toBe(1);
  expect(wrong.stderr).toContain(`is a login at ${world.gateway.url}`);
  expect([other.calls.length, world.gateway.calls.length]).toEqual([2, 0]);
});

test.each([
  [401, 'unauthenticated', 3],
  [403, 'insufficient_scope', 4],
  [403, 'not_in_your_chain', 4],
  [404, 'not_found', 1],
  [503, 'unavailable', 6],
  [504, 'outcome_unknown', 7],
])('the status %i with the code %s ends with the exit code %i', async (status, error, expected) => {
  await using world = await startWorld({
    answerRest: ({ response }) => {
      const next = { method: 'GET', path: '/v1/search?q=x', say: 'Look first.' };
      const body = { error, message: 'No\u001B[2J.', request_id: 'CANARY-free', next };
      response.writeHead(status).end(JSON.stringify(body));
    },
  });
  const { code, stdout, stderr } = await world.run(['whoami']);
  expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
  expect(stderr).not.toContain('\u001B');
  if (status === 401) return expect(stderr).toContain('run "action-gateway login"');
  expect(stderr).toBe(
    `action-gateway: No [2J.\nLook first.\nNext: action-gateway search x\nError ${error}, request CANARY-free\n`,
  );
  const asJson = await world.run(['whoami', '--json']);
  expect(JSON.parse(asJson.stderr)).toMatchObject({ error, next: { say: 'Look first.' } });
  expect(asJson.stdout).toBe('');
});

test.each([
  [200, '<html>'],
  [302, ''],
  [404, '<html>'],
])(
  'an answer with the status %i that does not come from a gateway is refused',
  async (status, text) => {
    await using world = await startWorld({
      answerRest: ({ response }) =>
        void response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end(text),
    });
    const { code, stdout, stderr } = await world.run(['whoami']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('not one of a gateway');
  },
);

test('when the gateway does not answer, the program ends with the exit code 6', async () => {
  await using world = await startWorld();
  await world.gateway.stop();
  const { code, stderr } = await world.run(['whoami']);
  expect(code).toBe(6);
  expect(stderr).toContain('did not answer (ECONNREFUSED)');
  const url = `http://127.0.0.1:${await lastingPort()}`;
  expect(
    await world.run(['whoami', '--url', url], { ACTION_GATEWAY_KEY: 'aak_CANARYkey' }),
  ).toMatchObject({ code: 6 });
});

test('without a login or key, the program says how to sign in and exits with 3', async () => {
  await using world = await startWorld();
  const { code, stderr } = await world.run(['whoami', '--profile', 'new']);
  expect(code).toBe(3);
  expect(stderr).toContain('run "action-gateway login --profile new"');
});

test.each(['.', '..'])(
  'the name %j is refused, because it would name another route',
  async (name) => {
    await using world = await startWorld();
    const { code, stderr } = await world.runHere('templates', 'show', name);
    expect(code).toBe(2);
    expect(stderr).toContain('no ids');
    expect(world.gateway.calls).toEqual([]);
  },
);

test('when the answer to a call is lost, the program says how to repeat the call safely, and exits with 7', async () => {
  let isLost = true;
  await using world = await startWorld({
    answerRest: ({ response }) => {
      if (isLost) response.destroy();
      else response.end(JSON.stringify({ status: 'denied', reason: 'Repeated.' }));
    },
  });
  const { code, stdout, stderr } = await world.run(['call', 'mail', 'send']);
  expect({ code, stdout }).toEqual({ code: 7, stdout: '' });
  expect(stderr).toContain('The call may have been made.');
  const [, key = ''] = /--idempotency-key (\S+)\.$/m.exec(stderr) ?? [];
  expect(key).not.toBe('');
  const asJson = await world.run(['http', 'POST', 'https://a.example', '--json']);
  expect(JSON.parse(asJson.stderr)).toMatchObject({ error: 'outcome_unknown' });
  isLost = false;
  const repeated = await world.runHere('call', 'mail', 'send', '--idempotency-key', key);
  expect(repeated).toMatchObject({ code: 4, stderr: expect.stringContaining('Repeated.') });
  const keys = world.gateway.calls.map(({ headers }) => headers['idempotency-key']);
  expect([keys[0], keys[2]]).toEqual([key, key]);
  expect(keys[1]).not.toBe(key);
});

test.each([
  [['rules', 'add', 'allow', 'http:GET:a.example', '--org'], 7, 'look before you repeat it'],
  [['rules', 'list'], 6, 'did not answer'],
])('when the answer to the command %j is lost, the program exits with %i', async (...row) => {
  const [args, expected, message] = row;
  await using world = await startWorld({ answerRest: ({ response }) => void response.destroy() });
  const { code, stderr } = await world.runHere(...args);
  expect(code).toBe(expected);
  expect(stderr).toContain(message);
});

test('a proxy that answers for the gateway does not make a call look as if it was not made', async () => {
  await using world = await startWorld({
    answerRest: ({ response }) => void response.writeHead(502).end('<html>'),
  });
  const { code, stderr } = await world.runHere('call', 'mail', 'send');
  expect(code).toBe(7);
  expect(stderr).toContain('--idempotency-key');
});

test('a call that never reached the gateway exits with 6', async () => {
  await using world = await startWorld();
  await world.gateway.stop();
  const { code, stderr } = await world.runHere('call', 'mail', 'send');
  expect(code).toBe(6);
  expect(stderr).not.toContain('may have been made');
});

test.each([
  [['approvals', 'list', '--status', 'opened'], 'Allowed choices are open, decided, pending,'],
  [['approvals', 'list', '--risk', 'write'], 'Allowed choices are low, med, high.'],
  [['rules', 'list', '--effect', 'ask'], 'Allowed choices are allow, deny.'],
  [['rules', 'add', 'ask', 'a:b:c', '--org'], 'Allowed choices are allow, deny.'],
  [['users', 'invite', 'ben@acme.example', '--role', 'boss'], 'Allowed choices are admin,'],
  [['users', 'change', 'ben', '--role', 'boss'], 'Allowed choices are admin, member, auditor.'],
  [['templates', 'list', '--tier', 'all'], 'Allowed choices are user, org, global.'],
  [['templates', 'list', '--status', 'new'], 'Allowed choices are draft, published, disabled.'],
  [['templates', 'show', 'github', '--tier', 'all'], 'Allowed choices are user, org, global.'],
  [['audit', 'tail', '--outcome', 'done'], 'Allowed choices are started, called,'],
  [['audit', 'tail', '--risk', 'high'], 'Allowed choices are read, write, delete.'],
  [['call', 'a', 'b', '--max-risk', 'delete'], 'Allowed choices are read, write.'],
  [['http', 'FETCH', 'https://a.example'], '"FETCH" is not one of the methods GET, HEAD,'],
  [['rules', 'explain', 'http', 'FETCH', 'https://a.example'], '"FETCH" is not one of'],
  [['approvals', 'show', 'milk'], '"action-gateway approvals list" shows the ids.'],
  [['keys', 'revoke', 'bot', 'ci'], '"action-gateway keys list" shows the ids.'],
  [['rules', 'delete', '0190'], '"action-gateway rules list" shows the ids.'],
  [['webhooks', 'verify', 'x'], '"action-gateway webhooks list" shows the ids.'],
])('the command %j is wrong use, and sends nothing', async (args, message) => {
  await using world = await startWorld();
  const { code, stdout, stderr } = await world.runHere(...args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(message);
  expect(world.gateway.calls).toEqual([]);
});

test('a method may be in lower case, and a listed value is sent', async () => {
  const answer = { status: 'denied', reason: 'No.', items: [], next_cursor: null };
  await using world = await startWorld({
    answerRest: ({ response }) => void response.end(JSON.stringify(answer)),
  });
  await world.runHere('http', 'get', 'https://a.example');
  await world.runHere('approvals', 'list', '--status', 'decided');
  expect(JSON.parse(world.gateway.calls[0]?.body ?? '')).toMatchObject({ method: 'GET' });
  expect(world.gateway.calls[1]?.path).toContain('status=decided');
});

test.each([
  [['--wait', '5x'], '--wait takes a time'],
  [['--idempotency-key', 'a key'], '--idempotency-key is'],
])('a call with the wrong option %j is not sent', async (options, message) => {
  await using world = await startWorld();
  const { code, stderr } = await world.runHere('call', 'mail', 'send', ...options);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
  expect(world.gateway.calls).toEqual([]);
});
