import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { auth } from '#contracts/bus/auth';
import { defineContract } from '#contracts/define';
import type { Component } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { attributesOf, collectSpans } from '../../test/support/collector.ts';
import { createTestEnvironment } from '../../test/support/environment.ts';
import type { TestEnvironment } from '../../test/support/environment.ts';
import { createClient, createLocalTransport, deadlineIn, serve } from './index.ts';
import type { Bus } from './index.ts';

let environment: TestEnvironment;
beforeAll(async () => {
  environment = await createTestEnvironment({ serverLogLevel: 'silent' });
});
afterAll(() => environment[Symbol.asyncDispose]());

const logger = pino({ level: 'silent' });
const { ping, getMe } = auth.endpoints;
/**
 * Only the gateway may call the two endpoints. Answers of `getMe` are not checked against its
 * schema.
 */
const contract = defineContract('auth', { ping, getMe: { ...getMe, hot: true } });
type Answer = (request: { principal: string }) => Promise<unknown>;

/** The handlers in this file do not read the principal. */
const anyPrincipal = 'p'.repeat(40);
const transports = ['bus', 'local transport'] as const;

interface Link {
  connect(component: Component): Promise<Bus>;
}

/** Connects two components of one process that reach each other by the named transport. */
function openLink(name: (typeof transports)[number]): Link {
  const transport = createLocalTransport();
  return {
    async connect(component) {
      const bus = await environment.connect(component);
      return name === 'bus' ? bus : { ...bus, local: { caller: component, transport } };
    },
  };
}

async function serveAuth(bus: Bus, answer: Answer, { inFlightMax = 64 } = {}) {
  const handlers = { ping: async () => ({}), getMe: answer };
  return serve(bus, contract, handlers as never, { logger, inFlightMax });
}

async function connectGateway(link: Link) {
  const bus = await link.connect('gateway');
  const client = createClient(bus, contract);
  return {
    bus,
    ask: (principal = anyPrincipal, ms = 30_000): Promise<unknown> =>
      client.getMe({ principal }, deadlineIn(ms)),
  };
}

describe.for(transports)('a request over the %s', (name) => {
  const link = openLink(name);

  test('gets an answer that equals the answer of the handler written and parsed as JSON', async () => {
    const kept = { list: [1, undefined], absent: undefined, at: new Date(0) };
    await using _auth = await serveAuth(await link.connect('auth'), async () => kept);
    const { ask } = await connectGateway(link);

    const answer = (await ask()) as { list: unknown[] };

    expect(answer).toStrictEqual({ list: [1, null], at: '1970-01-01T00:00:00.000Z' });
    answer.list.push('changed by the caller');
    expect(kept.list).toHaveLength(2);
    expect(await ask()).toStrictEqual({ list: [1, null], at: '1970-01-01T00:00:00.000Z' });
  });

  test('is in the trace of its caller, with a span on each side', async () => {
    await using _auth = await serveAuth(await link.connect('auth'), async () => ({}));
    const { ask } = await connectGateway(link);

    const spans = await collectSpans(() => ask());

    const [client, server] = [3, 2].map((kind) => spans.find((span) => span.kind === kind));
    expect(spans).toHaveLength(2);
    expect(server).toMatchObject({ traceId: client?.traceId, parentSpanId: client?.spanId });
    for (const span of [client!, server!]) {
      expect(span.name).toBe('rpc.auth.v1.getMe');
      expect(attributesOf(span)).toEqual({
        'rpc.system.name': 'nats',
        'rpc.method': 'auth.getMe',
      });
    }
  });

  test('never reaches the handler when it does not match the contract', async () => {
    let askedCount = 0;
    await using _auth = await serveAuth(await link.connect('auth'), async () => {
      askedCount += 1;
      return {};
    });
    const { ask } = await connectGateway(link);
    await expect(ask(7 as never)).rejects.toMatchObject({
      code: 'invalid_request',
      details: { issues: [{ path: 'principal' }] },
    });
    expect(askedCount).toBe(0);
  });

  test('is refused when the contract does not name the calling component', async () => {
    const narrower = defineContract('auth', { getMe: { ...getMe, callers: ['audit'] } });
    const bus = await link.connect('auth');
    const handlers = { getMe: async () => ({}) };
    await using _serving = await serve(bus, narrower, handlers as never, { logger });
    const { ask } = await connectGateway(link);
    await expect(ask()).rejects.toMatchObject({ code: 'forbidden' });
  });

  test('fails with the error of the handler, without the cause, which is only for the log', async () => {
    await using _auth = await serveAuth(await link.connect('auth'), async () => {
      const cause = new Error('CANARY-cause');
      throw new AppError('not_found', 'There is none.', { details: { hint: ['x'] }, cause });
    });
    const { ask } = await connectGateway(link);
    const error = await ask().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({ code: 'not_found', message: 'There is none.' });
    expect((error as AppError).details).toEqual({ hint: ['x'] });
    expect((error as AppError).cause).toBeUndefined();
  });

  test('fails as internal when the handler fails in an unexpected way', async () => {
    await using _auth = await serveAuth(await link.connect('auth'), async () => {
      throw new TypeError('CANARY-detail');
    });
    const { ask } = await connectGateway(link);
    const error = await ask().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'internal' });
    expect(JSON.stringify(error) + String(error)).not.toContain('CANARY');
  });

  test('fails at its deadline when no answer comes, and counts as possibly received', async () => {
    const hanging = Promise.withResolvers<unknown>();
    await using _auth = await serveAuth(await link.connect('auth'), () => hanging.promise);
    const { ask } = await connectGateway(link);
    await expect(ask(anyPrincipal, 200)).rejects.toMatchObject({
      code: 'unavailable',
      details: { component: 'auth', lost: true },
    });
    hanging.resolve({});
  });

  test('is refused while the component already handles as many requests as it may', async () => {
    const hanging = Promise.withResolvers<unknown>();
    const bus = await link.connect('auth');
    await using _auth = await serveAuth(bus, () => hanging.promise, { inFlightMax: 8 });
    const { ask } = await connectGateway(link);
    const held = Array.from({ length: 20 }, () => ask().catch((error: unknown) => error));
    const refusals = await Promise.all(held.slice(8));
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({ details: { component: 'auth', busy: true } });
    }
    hanging.resolve({});
    await Promise.all(held);
    await expect(ask()).resolves.toEqual({});
  });

  test('is refused as too large when it exceeds the limit of the bus', async () => {
    await using _auth = await serveAuth(await link.connect('auth'), async () => ({}));
    const { ask } = await connectGateway(link);
    await expect(ask('\u0001'.repeat(700_000))).rejects.toMatchObject({ code: 'too_large' });
  });

  test('is refused as too large when its answer exceeds the limit of the bus', async () => {
    const answer = { text: '\u0001'.repeat(700_000) };
    await using _auth = await serveAuth(await link.connect('auth'), async () => answer);
    const { ask } = await connectGateway(link);
    await expect(ask()).rejects.toMatchObject({ code: 'too_large' });
  });

  test('is answered before its component has stopped', async () => {
    const entered = Promise.withResolvers<void>();
    const handlerMayEnd = Promise.withResolvers<void>();
    const auth = await serveAuth(await link.connect('auth'), async () => {
      entered.resolve();
      await handlerMayEnd.promise;
      return { is: 'done' };
    });
    const { ask } = await connectGateway(link);
    const answer = ask();
    await entered.promise;
    let hasStopped = false;
    const stopping = auth[Symbol.asyncDispose]().then(() => (hasStopped = true));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(hasStopped).toBe(false);
    handlerMayEnd.resolve();
    await expect(answer).resolves.toEqual({ is: 'done' });
    await stopping;
  });
});

describe('a component of the same process', () => {
  test('gets requests without a message to NATS', async () => {
    const link = openLink('local transport');
    await using _auth = await serveAuth(await link.connect('auth'), async () => ({}));
    const { ask, bus } = await connectGateway(link);
    const sentBefore = bus.nats.stats().outMsgs;
    for (let n = 0; n < 10; n += 1) await ask();
    expect(bus.nats.stats().outMsgs).toBe(sentBefore);
  });

  test('leaves requests to another replica while it takes none', async () => {
    const link = openLink('local transport');
    const bus = await link.connect('auth');
    const ownReplica = await serveAuth(bus, async () => ({ is: 'own' }));
    await using _other = await serveAuth(await environment.connect('auth'), async () => ({
      is: 'other',
    }));
    const { ask } = await connectGateway(link);
    expect(await ask()).toEqual({ is: 'own' });
    await ownReplica[Symbol.asyncDispose]();
    expect(await ask()).toEqual({ is: 'other' });
  });

  test('leaves repeatable requests to another replica when it has lost its database', async () => {
    const link = openLink('local transport');
    const lost = Object.assign(new Error('connection lost'), { code: 'ECONNREFUSED' });
    await using _own = await serveAuth(await link.connect('auth'), async () => {
      throw lost;
    });
    await using _other = await serveAuth(await environment.connect('auth'), async () => ({
      is: 'other',
    }));
    const { ask } = await connectGateway(link);
    // NATS chooses one of the two replicas for each attempt, and may choose the one without a
    // database for all attempts of a request.
    await expect.poll(() => ask().catch((error: unknown) => error)).toEqual({ is: 'other' });
  });
});
