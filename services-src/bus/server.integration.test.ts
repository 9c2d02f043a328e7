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
/** Two endpoints of auth: the gateway may call one, policy and approvals the other. */
const contract = defineContract('auth', { ping, getChain: { ...getChain, request: ping.request } });

/** Serves the contract as auth and notes who asks. */
async function listen(bus: Bus, served = contract) {
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

test('a handler learns who asks from the server', async () => {
  await using auth = await listen(await environment.connect('auth'));
  const soon = () => deadlineIn(5_000);
  const gateway = createClient(await environment.connect('gateway'), contract);
  await gateway.ping({}, soon());
  for (const component of ['policy', 'approvals'] as const) {
    const client = createClient(await environment.connect(component), contract);
    await client.getChain({}, soon()).catch(() => undefined);
  }
  expect(auth.asked).toEqual(['ping gateway', 'getChain policy', 'getChain approvals']);
});

test('headers by which a caller claims to be another change nothing', async () => {
  await using auth = await listen(await environment.connect('auth'));
  const { nats } = await environment.connect('policy');
  const headers = createHeaders();
  headers.set('Nats-Request-Info', JSON.stringify({ acc: 'c_approvals', svc: 'gateway' }));
  await nats.request('rpc.auth.v1.getChain', '{}', { headers, timeout: 5_000 });
  expect(auth.asked).toEqual(['getChain policy']);
});

test('a caller that the server lets through and the contract does not name is refused', async () => {
  const narrower = defineContract('auth', {
    ...contract.endpoints,
    ping: { ...ping, callers: ['audit'] },
  });
  await using auth = await listen(await environment.connect('auth'), narrower as never);
  const gateway = createClient(await environment.connect('gateway'), contract);
  await expect(gateway.ping({}, deadlineIn(5_000))).rejects.toMatchObject({ code: 'forbidden' });
  expect(auth.asked).toEqual([]);
});

test.for([
  ['a reply subject of its own', 'rpc.auth.v1.ping.c_gateway', '_INBOX_policy.answer'],
  ['the reply subject of another', 'rpc.auth.v1.ping.c_gateway', 'rpc.policy.v1.plantRules'],
  ['none', 'rpc.auth.v1.ping.c_gateway', undefined],
  ['no caller', 'rpc.auth.v1.ping', '_INBOX_policy.answer'],
])(
  'on a server without accounts a request with %s is neither handled nor answered',
  async ([, subject = '', reply]) => {
    await using open = await startUnrestrictedNats();
    await using auth = await listen(await open.connect('auth'));
    const { nats } = await open.connect('policy');
    const heard: string[] = [];
    const callback = (_: unknown, message: { subject: string }) => void heard.push(message.subject);
    nats.subscribe('>', { callback });
    nats.publish(subject, '{}', reply === undefined ? {} : { reply });
    for (let round = 0; round < 5; round += 1) await nats.flush();
    await auth[Symbol.asyncDispose]();
    await nats.flush();

    // That the message arrived shows that the listening works.
    expect(heard).toEqual([subject]);
    expect(auth.asked).toEqual([]);
  },
);

test('one caller whose requests hang leaves room for the requests of others', async () => {
  const hanging = Promise.withResolvers<never>();
  const { getMe } = auth.endpoints;
  const only = defineContract('auth', { getMe });
  const bus = await environment.connect('auth');
  let asked = 0;
  const handlers = {
    getMe: async ({ principal }: { principal: string }) => {
      asked += 1;
      if (principal.startsWith(hog.split('.')[0] ?? '')) return hanging.promise;
      throw new Error('answered');
    },
  };
  const statementOf = (orgId: string) => {
    const claims = { orgId, userId: 'ann', identityId: 'bot' };
    return `${Buffer.from(JSON.stringify(claims)).toString('base64url')}.key:mac`;
  };
  const hog = statementOf('hog');
  await using serving = await serve(bus, only, handlers as never, { logger, inFlightMax: 64 });
  const gateway = createClient(await environment.connect('gateway'), only);
  const refused: unknown[] = [];
  const all = Array.from({ length: 80 }, () =>
    gateway
      .getMe({ principal: hog }, deadlineIn(10_000))
      .catch((error: unknown) => refused.push(error)),
  );
  await vi.waitFor(() => expect(asked + refused.length).toBe(80), 10_000);
  for (const error of refused) {
    expect(error).toMatchObject({
      code: 'rate_limited',
      details: { component: 'auth', busy: true, retry_after: 5 },
    });
  }
  expect(refused.length).toBeGreaterThan(40);

  for (let n = 0; n < 5; n += 1) {
    const answer = gateway.getMe({ principal: statementOf(`other-${n}`) }, deadlineIn(5_000));
    await expect(answer).rejects.toMatchObject({ code: 'internal' });
  }
  hanging.reject(new Error('it is over'));
  await Promise.all(all);
  await serving[Symbol.asyncDispose]();
});
