import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { expect, test } from 'vitest';

import { startWorld } from './world.testing.ts';

const healthy = {
  '/health/live': { status: 'ok' },
  '/health/ready': { status: 'ok' },
  '/v1/identities/me': { path: ['ann'], kind: 'user', role: 'admin' },
  '/v1/status': { components: { gateway: { status: 'ok' } } },
};

/**
 * A gateway that answers each path with its body in `answers`. A path that is missing there answers
 * 401.
 */
async function startGateway(answers: Record<string, unknown>, date?: string) {
  const server = createServer((request, response) => {
    const answer = answers[request.url ?? ''];
    const failing = typeof answer === 'object' && answer !== null && 'failing' in answer;
    if (date !== undefined) response.setHeader('date', date);
    response.writeHead(answer === undefined ? 401 : failing ? 503 : 200);
    response.end(typeof answer === 'string' ? answer : JSON.stringify(answer ?? {}));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

const key = { ACTION_GATEWAY_KEY: 'aak_CANARYkey' };

test.each([
  ['all is well', healthy, undefined, 0, 'components: ok, all answer'],
  [
    'another server is there',
    { '/health/live': '<html>' },
    undefined,
    1,
    'NOT OK, http://127.0.0.1',
  ],
  [
    'the gateway is not ready',
    { ...healthy, '/health/ready': { status: 'unavailable', failing: ['nats', 'auth'] } },
    undefined,
    6,
    'NOT OK, The gateway does not take calls yet (nats, auth)',
  ],
  [
    'the credential is refused',
    { ...healthy, '/v1/identities/me': undefined },
    undefined,
    3,
    'put a valid one into ACTION_GATEWAY_KEY',
  ],
  [
    'the clock is wrong',
    healthy,
    'Sat, 01 Jan 2000 00:00:00 GMT',
    1,
    's ahead of the gateway. Set the clock',
  ],
  [
    'a component does not answer',
    { ...healthy, '/v1/status': { components: { audit: { status: 'unavailable' } } } },
    undefined,
    1,
    'NOT OK, audit unavailable',
  ],
])('doctor reports the result when %s', async (_what, answers, date, expectedCode, message) => {
  await using world = await startWorld();
  await using gateway = await startGateway(answers, date);
  const { code, stdout, stderr } = await world.runHereAs(key, 'doctor', '--url', gateway.url);
  expect({ code, stdout }).toEqual({
    code: expectedCode,
    stdout: expect.stringContaining(message),
  });
  expect(stderr === '').toBe(code === 0);
  const asJson = await world.runHereAs(key, 'doctor', '--url', gateway.url, '--json');
  expect(JSON.parse(asJson.stdout)).toMatchObject({ ok: code === 0, gateway: gateway.url });
});

test('when nothing answers and there is no login, doctor reports the address before the login', async () => {
  await using world = await startWorld();
  const { url } = world.gateway;
  await world.gateway.stop();
  const args = ['doctor', '--url', url, '--profile', 'none'];
  const { code, stdout } = await world.runHere(...args);
  expect(code).toBe(6);
  expect(stdout).toContain(`${url} does not answer (ECONNREFUSED). Check the address`);
  expect(stdout).toContain('login:   NOT OK');
});
