import { headers as createHeaders } from '@nats-io/transport-node';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';

import { narrowing } from '#contracts/critical';
import { defineContract } from '#contracts/define';
import { createTestEnvironment } from '../../test/support/environment.ts';
import type { TestEnvironment } from '../../test/support/environment.ts';
import { errorCodeHeader, errorHeader } from './headers.ts';
import { createClient, deadlineIn, serve } from './index.ts';

let environment: TestEnvironment;
beforeAll(async () => {
  environment = await createTestEnvironment();
});
afterAll(() => environment[Symbol.asyncDispose]());

const logger = pino({ level: 'silent' });
const testDeadline = () => deadlineIn(5_000);
const pingFields = {
  errors: [],
  callers: ['gateway' as const],
  timeoutMs: 5_000,
  repeatable: true as const,
};

/**
 * The endpoint as two releases define it. The later release adds a limit, a hint and a value of
 * `mode` to the request, and a value of `state` and a member to the answer.
 */
const earlierContract = defineContract('auth', {
  ping: {
    ...pingFields,
    request: z.strictObject({ of: z.strictObject({ mode: z.enum(['fast']).optional() }) }),
    response: z.strictObject({ state: z.enum(['ok']) }),
  },
});
const laterContract = defineContract('auth', {
  ping: {
    ...pingFields,
    request: z.strictObject({
      of: z.strictObject({
        mode: z.enum(['fast', 'slow']).optional(),
        limit: narrowing(z.int()).optional(),
        hint: z.string().optional(),
      }),
    }),
    response: z.strictObject({ state: z.enum(['ok', 'tired']), since: z.string().optional() }),
  },
});
type ServedContract = typeof earlierContract | typeof laterContract;

/** Serves the endpoint with one more replica of auth, and collects the requests that it handles. */
async function startReplica(
  served: ServedContract,
  answer: (request: unknown) => unknown = () => ({ state: 'ok' }),
) {
  const handledRequests: unknown[] = [];
  const bus = await environment.connect('auth');
  const ping = async (request: unknown) => {
    handledRequests.push(request);
    return answer(request) as never;
  };
  const serving = await serve(bus, served, { ping } as never, { logger });
  return { handled: handledRequests, [Symbol.asyncDispose]: () => serving[Symbol.asyncDispose]() };
}
const connectLaterClient = async () =>
  createClient(await environment.connect('gateway'), laterContract);
const connectEarlierClient = async () =>
  createClient(await environment.connect('gateway'), earlierContract);

describe('a replica of an earlier release', () => {
  test('ignores members of a request that it does not know, and answers the request', async () => {
    await using replica = await startReplica(earlierContract);
    const gateway = await connectLaterClient();
    expect(await gateway.ping({ of: { hint: 'x', mode: 'fast' } }, testDeadline())).toEqual({
      state: 'ok',
    });
    expect(replica.handled).toEqual([{ of: { mode: 'fast' } }]);
  });

  test.for<[what: string, of: z.input<typeof laterContract.endpoints.ping.request>['of']]>([
    ['a limit', { limit: 3 }],
    ['a mode', { mode: 'slow' }],
  ])('leaves a request with %s that it does not know to a later release', async ([, of]) => {
    await using earlierReplica = await startReplica(earlierContract);
    await using laterReplica = await startReplica(laterContract);
    const gateway = await connectLaterClient();
    for (let request = 0; request < 5; request += 1) {
      expect(await gateway.ping({ of }, testDeadline())).toEqual({ state: 'ok' });
    }
    expect(earlierReplica.handled).toEqual([]);
    expect(laterReplica.handled).toEqual(Array.from({ length: 5 }, () => ({ of })));
  });

  test('refuses a request with a limit that it does not know when there is no replica of a later release', async () => {
    await using earlierReplica = await startReplica(earlierContract);
    await using other = await startReplica(earlierContract);
    const gateway = await connectLaterClient();
    await expect(gateway.ping({ of: { limit: 3 } }, testDeadline())).rejects.toMatchObject({
      code: 'unavailable',
      details: { unknown_critical: ['of.limit'] },
    });
    await expect(gateway.ping({ of: { mode: 'slow' } }, testDeadline())).rejects.toMatchObject({
      code: 'invalid_request',
      details: { issues: [{ path: 'of.mode' }] },
    });
    expect([...earlierReplica.handled, ...other.handled]).toEqual([]);
  });

  test('answers with values that a later release stored, without the members that it does not know', async () => {
    await using _old = await startReplica(earlierContract, () => ({
      state: 'tired',
      since: 'noon',
    }));
    const gateway = await connectLaterClient();
    expect(await gateway.ping({ of: {} }, testDeadline())).toEqual({ state: 'tired' });
  });
});

describe('a client of an earlier release', () => {
  test('drops members of an answer that it does not know, and keeps a value that it does not know', async () => {
    await using _recent = await startReplica(laterContract, () => ({
      state: 'tired',
      since: 'noon',
    }));
    const gateway = await connectEarlierClient();
    expect(await gateway.ping({ of: {} }, testDeadline())).toEqual({ state: 'tired' });
  });

  test.for([
    [404, 'not_found'],
    [409, 'conflict'],
    [418, 'internal'],
    [503, 'internal'],
  ] as const)('reads an unknown error code with the status %d as %s', async ([status, code]) => {
    const { nats } = await environment.connect('auth');
    const headers = createHeaders();
    headers.set(errorHeader, 'too_late');
    headers.set(errorCodeHeader, String(status));
    const subscription = nats.subscribe('rpc.auth.v1.ping.*', {
      queue: 'auth',
      callback: (_, message) => {
        message.respond(JSON.stringify({ code: 'too_late', message: 'Later.' }), { headers });
      },
    });
    await nats.flush();
    const gateway = await connectEarlierClient();
    await expect(gateway.ping({ of: {} }, testDeadline())).rejects.toMatchObject({
      code,
      message: 'Later.',
    });
    subscription.unsubscribe();
    await nats.flush();
  });
});
