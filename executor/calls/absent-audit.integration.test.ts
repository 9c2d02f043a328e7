import { jetstreamManager } from '@nats-io/jetstream';
import type { JetStreamManager } from '@nats-io/jetstream';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import { connectBus } from '#bus';
import type { Bus } from '#bus';
import type { Call } from '#contracts/call';
import type { Gap } from '#contracts/permit';
import { AppError } from '#errors';
import { provisionStreams } from '#events';
import { smallStreams } from '../../test/support/streams.ts';
import { context, createWorld, options, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

const tinyStreams = { ...smallStreams, auditBytesMax: 64 * 1024 };
const pollOptions = { timeout: 30_000 };

let world: World;
let provisionBus: Bus;
let manager: JetStreamManager;
beforeAll(async () => {
  world = await createWorld();
  const url = world.variables['EXECUTOR_NATS_URL'] ?? '';
  provisionBus = await connectBus({
    url: url.replace('//executor:', '//provision:'),
    name: 'provision',
  });
  manager = await jetstreamManager(provisionBus.nats);
});
afterAll(async () => {
  await provisionBus[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});
beforeEach(() => world.upstream.reset());

const createCall = () => world.actionCall('create', { title: 'x'.repeat(1_000) });
/** `called`, or the error that the caller gets. */
const outcomeOf = (answer: Promise<{ kind: string }>) =>
  answer.then(
    ({ kind }) => kind,
    (error: unknown) => AppError.from(error),
  );
const execute = (call: Call, permit = world.permitOf(call)) =>
  outcomeOf(world.gateway.execute({ permit, call, options, context }, testDeadline()));
const expectedRefusal = expect.objectContaining({
  code: 'unavailable',
  message: expect.stringContaining('The stream AUDIT') as unknown,
  details: { unsent: true },
}) as unknown;
const countDispatches = async () => {
  const [row] = await world.sql<{ n: number }[]>`
    select count(*)::integer as n from executor.dispatch
  `;
  return row?.n;
};

/** Approves a call. The returned function replays it, any number of times. */
async function approveForReplay(call: Call) {
  const approvalId = uuidv7();
  const gap = world.gapOf(call, { jti: approvalId });
  const preview = await world.approvals.preview({ gap, call, options, approvalId }, testDeadline());
  if (preview.kind !== 'preview') throw new Error('seen');
  const { sealedCall } = preview;
  const { target, injections } = JSON.parse(
    Buffer.from(gap.split('.')[0] ?? '', 'base64url').toString(),
  ) as Gap;
  const executionId = uuidv7();
  const ids = { approvalId, executionId, dispatchId: executionId };
  return () => {
    const permit = world.permitOf(call, { target, injections, ...ids });
    return outcomeOf(
      world.approvals.executeFrozen({ permit, sealedCall, context }, testDeadline()),
    );
  };
}

test.each(['full', 'missing'] as const)(
  'while AUDIT is %s no call is sent or stored, stored answers are still returned, and calls work again when AUDIT does',
  async (streamState) => {
    const replay = await approveForReplay(createCall());
    const earlyCall = createCall();
    const dispatchId = uuidv7();
    const executeEarlierCallAgain = () =>
      execute(earlyCall, world.permitOf(earlyCall, { dispatchId }));
    expect(await executeEarlierCallAgain()).toBe('called');

    if (streamState === 'full') await provisionStreams(provisionBus, tinyStreams);
    else await manager.streams.delete('AUDIT');
    // The executor sends calls until it learns that AUDIT is full. The records of these calls stay
    // in the outbox.
    await expect
      .poll(() => execute(createCall()), { ...pollOptions, interval: 1 })
      .toEqual(expectedRefusal);

    const sentBefore = world.upstream.hits.length;
    const dispatches = await countDispatches();
    const read = world.actionCall('get', { id: 'a' });
    for (const refusal of [await execute(createCall()), await execute(read), await replay()]) {
      expect(refusal).toEqual(expectedRefusal);
    }
    expect(await executeEarlierCallAgain()).toBe('called');
    expect(world.upstream.hits).toHaveLength(sentBefore);
    expect(await countDispatches()).toBe(dispatches);

    if (streamState === 'full') await manager.streams.purge('AUDIT');
    await provisionStreams(provisionBus, smallStreams);
    await expect.poll(replay, pollOptions).toBe('called');
    expect([await execute(createCall()), await execute(read)]).toEqual(['called', 'called']);
    expect(await replay()).toBe('called');
    expect(world.upstream.hits).toHaveLength(sentBefore + 3);
  },
);

test('a read whose record AUDIT refuses is kept in the outbox, and no further read is sent', async () => {
  await manager.streams.purge('AUDIT');
  // Otherwise a record of the previous test, still in the outbox, could be the first to find AUDIT
  // full.
  await expect
    .poll(() => world.sql`select id from executor.outbox where published_at is null`, pollOptions)
    .toHaveLength(0);
  await manager.streams.update('AUDIT', { max_bytes: 100 });
  const read = world.actionCall('get', { id: 'a' });
  const before = await world.outbox('action.outcome');
  await expect.poll(() => execute(read), { ...pollOptions, interval: 1 }).toEqual(expectedRefusal);

  const sentBefore = world.upstream.hits.length;
  expect(sentBefore).toBeGreaterThan(0);
  expect(await world.outbox('action.outcome')).toHaveLength(before.length + sentBefore);
  expect(await execute(read)).toEqual(expectedRefusal);
  expect(world.upstream.hits).toHaveLength(sentBefore);

  await provisionStreams(provisionBus, smallStreams);
  await expect.poll(() => execute(read), pollOptions).toBe('called');
  await expect
    .poll(() => world.sql`select 1 from executor.outbox where recorded_at is null`, pollOptions)
    .toHaveLength(0);
});
