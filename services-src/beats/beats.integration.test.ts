import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, expect, test } from 'vitest';

import type { Bus } from '#bus';
import { executorBeat, executorBeatSubject } from '#contracts/events';
import { createTestEnvironment } from '../../test/support/environment.ts';
import type { TestEnvironment } from '../../test/support/environment.ts';
import { callMarkOf } from './call-mark.ts';
import { followExecutors, startExecutorBeats } from './index.ts';

let environment: TestEnvironment;
let gateway: Bus;
beforeAll(async () => {
  environment = await createTestEnvironment();
  gateway = await environment.connect('gateway');
});
afterAll(() => environment[Symbol.asyncDispose]());

/** Listens to the beats as a gateway does. */
function listen() {
  const beats: { bytes: number; calls: string[] }[] = [];
  const subscription = gateway.nats.subscribe(executorBeatSubject, {
    callback: (_failure, message) => {
      const { calls } = executorBeat.parse(message.json());
      beats.push({ bytes: message.data.byteLength, calls });
    },
  });
  return { beats, [Symbol.dispose]: () => subscription.unsubscribe() };
}

test('the beats of an executor name each call that it handles until the call is answered, without revealing the audit id', async () => {
  using beatListener = listen();
  await using beats = startExecutorBeats(await environment.connect('executor'));
  const auditId = randomUUID();
  const heldCall = beats.hold(auditId);
  await expect.poll(() => beatListener.beats.length).toBeGreaterThan(1);
  expect(beatListener.beats.every(({ calls }) => calls.join() === callMarkOf(auditId))).toBe(true);
  expect(callMarkOf(auditId)).not.toContain(auditId.slice(-12));

  heldCall[Symbol.dispose]();
  const other = randomUUID();
  using _other = beats.hold(other);

  await expect.poll(() => beatListener.beats.at(-1)?.calls).toEqual([callMarkOf(other)]);
});

test('a call that an executor handles twice is named in its beats until both answers are sent', async () => {
  using beatListener = listen();
  await using beats = startExecutorBeats(await environment.connect('executor'));
  const auditId = randomUUID();
  const firstHeldCall = beats.hold(auditId);
  using _second = beats.hold(auditId);

  firstHeldCall[Symbol.dispose]();

  await expect.poll(() => beatListener.beats.at(-1)?.calls).toEqual([callMarkOf(auditId)]);
});

test('an executor that handles 10,000 calls names all of them in small messages', async () => {
  using beatListener = listen();
  await using beats = startExecutorBeats(await environment.connect('executor'));
  const auditIds = Array.from({ length: 10_000 }, () => randomUUID());
  for (const auditId of auditIds) beats.hold(auditId);

  await expect
    .poll(() => new Set(beatListener.beats.flatMap(({ calls }) => calls)).size)
    .toBe(auditIds.length);

  expect(Math.max(...beatListener.beats.map(({ bytes }) => bytes))).toBeLessThan(10_240);
});

test('a call is reported as silent when no executor names it in its beats, and not while one does', async () => {
  const bus = await environment.connect('executor');
  await using beats = startExecutorBeats(bus);
  using executors = followExecutors(gateway);
  const namedAuditId = randomUUID();
  const heldCall = beats.hold(namedAuditId);
  using namedCall = executors.follow(namedAuditId);
  using otherCall = executors.follow(randomUUID());
  let isSilent = false;
  const silence = namedCall.untilSilent(2_000).then(() => (isSilent = true));
  await otherCall.untilSilent(2_500);
  expect(isSilent).toBe(false);

  heldCall[Symbol.dispose]();
  await silence;
});
