import { headers as createHeaders } from '@nats-io/transport-node';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

import { auth } from '#contracts/bus/auth';
import { defineContract } from '#contracts/define';
import { createTestEnvironment } from '../../test/support/environment.ts';
import type { TestEnvironment } from '../../test/support/environment.ts';
import { startUnrestrictedNats } from '../../test/support/unrestricted-nats.ts';
import { createClient, deadlineIn, serve } from './index.ts';
import type { Bus } from './index.ts';

let environment: TestEnvironment;
beforeAll(async () => {
  environment = await createTestEnvironment({ serverLogLevel: 'silent' });
});
afterAll(() => environment[Symbol.asyncDispose]());

const logger = pino({ level: 'silent' });
const { ping, getChain } = auth.endpoints;
/**
 * Two endpoints of auth: the gateway may call one of them; policy and approvals may call the other.
 */
const contract = defineContract('auth', { ping, getChain: { ...getChain, request: ping.request } });

/** Serves the contract as the component auth, and records which components call it. */
async function serveAuth(bus: Bus, served = contract) {
  const asked: string[] = [];
  const serving = await serve(
    bus,
    served,
    {
      ping: async (_request, _deadline, caller) => {
        asked.push(`ping ${caller}`);
        return {};
      },
      getChain: async (_request, _deadline, caller) => {
        asked.push(`getChain ${caller}`);
        return { chain: null } as never;
      },
    },
    { logger },
  );
  return { asked, [Symbol.asyncDispose]: () => serving[Symbol.asyncDispose]() };
}

test('a handler learns from the NATS server which component is calling', async () => {
  await using auth = await serveAuth(await environment.connect('auth'));
  const testDeadline = () => deadlineIn(5_000);
  const gateway = createClient(await environment.connect('gateway'), contract);
  await gateway.ping({}, testDeadline());
  for (const component of ['policy', 'approvals'] as const) {
    const client = createClient(await environment.connect(component), contract);
    await client.getChain({}, testDeadline()).catch(() => undefined);
  }
  expect(auth.asked).toEqual(['ping gateway', 'getChain policy', 'getChain approvals']);
});

test('a request for which NATS finds no responder is sent again, and answered by one that appears meanwhile', async () => {
  const auth = await environment.connect('auth');
  const gateway = await environment.connect('gateway');
  let sendCount = 0;
  await using serving = new AsyncDisposableStack();

  const answer = await gateway.requests.request('rpc.auth.v1.ping', '{}', {
    timeoutMs: 60_000,
    headers: createHeaders(),
    onSend: () => {
      sendCount += 1;
      if (sendCount === 2) void serveAuth(auth).then((responder) => serving.use(responder));
    },
  });

  expect(sendCount).toBeGreaterThan(1);
  expect(answer.json()).toEqual({});
});

test('a request without any responder ends as one that was never received', async () => {
  const gateway = createClient(await environment.connect('gateway'), contract);
  await expect(gateway.ping({}, deadlineIn(60_000))).rejects.toMatchObject({
    code: 'unavailable',
    details: { component: 'auth', lost: false },
  });
});

test('a caller cannot pretend to be another component by sending headers', async () => {
  await using auth = await serveAuth(await environment.connect('auth'));
  const { nats } = await environment.connect('policy');
  const headers = createHeaders();
  headers.set('Nats-Request-Info', JSON.stringify({ acc: 'c_approvals', svc: 'gateway' }));
  await nats.request('rpc.auth.v1.getChain', '{}', { headers, timeout: 30_000 });
  expect(auth.asked).toEqual(['getChain policy']);
});

test('a component refuses a caller that its contract does not name, even when the NATS server delivers the request', async () => {
  const narrowerContract = defineContract('auth', {
    ...contract.endpoints,
    ping: { ...ping, callers: ['audit'] },
  });
  await using auth = await serveAuth(await environment.connect('auth'), narrowerContract as never);
  const gateway = createClient(await environment.connect('gateway'), contract);
  await expect(gateway.ping({}, deadlineIn(5_000))).rejects.toMatchObject({ code: 'forbidden' });
  expect(auth.asked).toEqual([]);
});

test.for([
  ['a reply subject of its own', 'rpc.auth.v1.ping.c_gateway', '_INBOX_policy.answer'],
  [
    'an endpoint of another component as its reply subject',
    'rpc.auth.v1.ping.c_gateway',
    'rpc.policy.v1.plantRules',
  ],
  ['no reply subject', 'rpc.auth.v1.ping.c_gateway', undefined],
  ['no caller in its NATS subject', 'rpc.auth.v1.ping', '_INBOX_policy.answer'],
])(
  'a component neither handles nor answers a request with %s on a NATS server without accounts',
  async ([, subject = '', reply]) => {
    await using unrestrictedNats = await startUnrestrictedNats();
    await using auth = await serveAuth(await unrestrictedNats.connect('auth'));
    const { nats } = await unrestrictedNats.connect('policy');
    const heardSubjects: string[] = [];
    const callback = (_: unknown, message: { subject: string }) =>
      void heardSubjects.push(message.subject);
    nats.subscribe('>', { callback });
    nats.publish(subject, '{}', reply === undefined ? {} : { reply });
    for (let round = 0; round < 5; round += 1) await nats.flush();
    await auth[Symbol.asyncDispose]();
    await nats.flush();

    // This shows that the recording works, because the request itself was received.
    expect(heardSubjects).toEqual([subject]);
    expect(auth.asked).toEqual([]);
  },
);

test('a component whose requests hang leaves room for the requests of other components', async () => {
  const hangingAnswer = Promise.withResolvers<never>();
  const { getMe } = auth.endpoints;
  const contractOfGetMe = defineContract('auth', { getMe });
  const bus = await environment.connect('auth');
  let asked = 0;
  const handlers = {
    getMe: async ({ principal }: { principal: string }) => {
      asked += 1;
      if (principal.startsWith(statementOfHog.split('.')[0] ?? '')) return hangingAnswer.promise;
      throw new Error('answered');
    },
  };
  const statementOf = (orgId: string) => {
    const claims = { orgId, userId: 'ann', identityId: 'bot' };
    return `${Buffer.from(JSON.stringify(claims)).toString('base64url')}.key:mac`;
  };
  const statementOfHog = statementOf('hog');
  await using serving = await serve(bus, contractOfGetMe, handlers as never, {
    logger,
    inFlightMax: 64,
  });
  const gateway = createClient(await environment.connect('gateway'), contractOfGetMe);
  const refusals: unknown[] = [];
  const all = Array.from({ length: 80 }, () =>
    gateway
      .getMe({ principal: statementOfHog }, deadlineIn(10_000))
      .catch((error: unknown) => refusals.push(error)),
  );
  await vi.waitFor(() => expect(asked + refusals.length).toBe(80), 10_000);
  for (const error of refusals) {
    expect(error).toMatchObject({
      code: 'rate_limited',
      details: { component: 'auth', busy: true, retry_after: 5 },
    });
  }
  expect(refusals.length).toBeGreaterThan(40);

  for (let n = 0; n < 5; n += 1) {
    const answer = gateway.getMe({ principal: statementOf(`other-${n}`) }, deadlineIn(5_000));
    await expect(answer).rejects.toMatchObject({ code: 'internal' });
  }
  hangingAnswer.reject(new Error('it is over'));
  await Promise.all(all);
  await serving[Symbol.asyncDispose]();
});
