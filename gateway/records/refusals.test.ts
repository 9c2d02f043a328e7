import { randomUUID } from 'node:crypto';

import pino from 'pino';
import { describe, expect, test } from 'vitest';

import type { Event } from '#contracts/events';
import { event as eventSchema } from '#contracts/events';
import { AppError } from '#errors';
import { createAgentPrincipal } from '../principals.testing.ts';
import { openRefusals } from './refusals.ts';
import type { Refusal } from './refusals.ts';

/** Collects the published events. Publishing fails while `stream.isOpen` is false. */
function start() {
  const publishedEvents: Event[] = [];
  const stream = { isOpen: true };
  const publisher = {
    async publish(event: Event) {
      await new Promise((resolve) => setImmediate(resolve));
      if (!stream.isOpen) throw new AppError('unavailable', 'x');
      publishedEvents.push(eventSchema.parse(event));
    },
  };
  const refusals = openRefusals({ publisher, logger: pino({ enabled: false }) });
  return { published: publishedEvents, stream, refusals };
}

const claims = createAgentPrincipal();
const createRefusal = (
  refusalFields: Partial<Omit<Refusal, 'error'>> & { code?: 'forbidden' } = {},
): Refusal => ({
  type: 'action.refused',
  caller: { principal: 'signed', claims },
  context: { requestId: randomUUID(), traceId: null, ip: '192.0.2.1' },
  fields: { service: 'github', action: 'a' },
  ...refusalFields,
  error: new AppError(refusalFields.code ?? 'invalid_params', 'Send a number.'),
});
const rowsOf = (published: readonly Event[]) =>
  published.map(({ audit }) => [audit?.action, audit?.error, audit?.count]);

describe('refusals', () => {
  test('are recorded before they are answered, and repetitions are only counted', async () => {
    const { published, refusals } = start();
    const first = createRefusal();
    await refusals.record(first);
    expect(published).toMatchObject([
      {
        type: 'action.refused',
        audit: {
          outcome: 'refused',
          error: 'invalid_params',
          description: 'Refused: Send a number.',
          user_id: claims.userId,
          request_id: first.context.requestId,
          count: null,
        },
      },
    ]);

    const laterRefusals = Array.from({ length: 500 }, () => createRefusal());
    await Promise.all(laterRefusals.map((each) => refusals.record(each)));
    await refusals.record(createRefusal({ code: 'forbidden' }));
    await refusals.record(createRefusal({ type: 'approval.refused' }));
    await refusals.record(createRefusal({ fields: { service: 'github', action: 'b' } }));
    const otherCaller = { principal: 'signed', claims: createAgentPrincipal() };
    await refusals.record(createRefusal({ caller: otherCaller }));
    expect(published).toHaveLength(5);

    await refusals[Symbol.asyncDispose]();
    expect(rowsOf(published).slice(5)).toEqual([['a', 'invalid_params', 500]]);
    expect(published.at(-1)?.audit?.request_id).toBe(laterRefusals.at(-1)?.context.requestId);
  });

  test('wait for one common record if they are of one kind and happen concurrently', async () => {
    const { published, refusals } = start();
    await Promise.all(Array.from({ length: 20 }, () => refusals.record(createRefusal())));
    expect(published).toHaveLength(1);
    await refusals[Symbol.asyncDispose]();
    expect(rowsOf(published)).toEqual([
      ['a', 'invalid_params', null],
      ['a', 'invalid_params', 19],
    ]);
  });

  test('are counted by their error code alone if one identity tries many targets', async () => {
    const { published, refusals } = start();
    for (let n = 0; n < 1_000; n += 1) {
      await refusals.record(createRefusal({ fields: { approval_id: randomUUID() } }));
    }
    await refusals[Symbol.asyncDispose]();
    expect(published.length).toBeLessThan(25);
    const countedRefusals = published.reduce((sum, { audit }) => sum + (audit?.count ?? 1), 0);
    expect(countedRefusals).toBe(1_000);
  });

  test('are replaced by the error unavailable while they cannot be recorded', async () => {
    const { published, stream, refusals } = start();
    stream.isOpen = false;
    const pendingRecords = [createRefusal(), createRefusal(), createRefusal()].map((each) =>
      refusals.record(each),
    );
    for (const { status } of await Promise.allSettled(pendingRecords))
      expect(status).toBe('rejected');

    stream.isOpen = true;
    await refusals.record(createRefusal());
    expect(published).toHaveLength(1);
    await refusals[Symbol.asyncDispose]();
  });

  test('are recorded only once if they are reported again in other words', async () => {
    const { published, refusals } = start();
    const refusal = createRefusal();
    await refusals.record(refusal);
    const { code } = refusal.error;
    const error = new AppError(code, 'In other words.', { cause: refusal.error });
    await refusals.record({ ...refusal, fields: { service: 'github', action: 'b' }, error });
    expect(rowsOf(published)).toHaveLength(1);
  });

  test('are recorded only once if they share one error object', async () => {
    const { published, refusals } = start();
    const singleRefusal = createRefusal();
    await refusals.record(singleRefusal);
    await refusals.record({ ...singleRefusal, type: 'approval.refused' });
    await refusals[Symbol.asyncDispose]();
    expect(published).toHaveLength(1);
  });
});
