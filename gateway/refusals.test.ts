import { randomUUID } from 'node:crypto';

import pino from 'pino';
import { describe, expect, test } from 'vitest';

import type { Event } from '#contracts/events';
import { event as eventSchema } from '#contracts/events';
import { AppError } from '#errors';
import { agent } from './principals.testing.ts';
import { openRefusals } from './refusals.ts';
import type { Refusal } from './refusals.ts';

/** What reaches the stream, while it takes anything. */
function start() {
  const published: Event[] = [];
  const stream = { isOpen: true };
  const publisher = {
    async publish(event: Event) {
      await new Promise((resolve) => setImmediate(resolve));
      if (!stream.isOpen) throw new AppError('unavailable', 'x');
      published.push(eventSchema.parse(event));
    },
  };
  const refusals = openRefusals({ publisher, logger: pino({ enabled: false }) });
  return { published, stream, refusals };
}

const claims = agent();
const refusal = (
  given: Partial<Omit<Refusal, 'error'>> & { code?: 'forbidden' } = {},
): Refusal => ({
  type: 'action.refused',
  caller: { principal: 'signed', claims },
  context: { requestId: randomUUID(), traceId: null, ip: '192.0.2.1' },
  facts: { service: 'github', action: 'a' },
  ...given,
  error: new AppError(given.code ?? 'invalid_params', 'Send a number.'),
});
const rowsOf = (published: readonly Event[]) =>
  published.map(({ audit }) => [audit?.action, audit?.error, audit?.count]);

describe('refusals', () => {
  test('are recorded before they are answered, and repeated ones counted', async () => {
    const { published, refusals } = start();
    const first = refusal();
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

    const again = Array.from({ length: 500 }, () => refusal());
    await Promise.all(again.map((each) => refusals.record(each)));
    await refusals.record(refusal({ code: 'forbidden' }));
    await refusals.record(refusal({ type: 'approval.refused' }));
    await refusals.record(refusal({ facts: { service: 'github', action: 'b' } }));
    const other = { principal: 'signed', claims: agent() };
    await refusals.record(refusal({ caller: other }));
    expect(published).toHaveLength(5);

    await refusals[Symbol.asyncDispose]();
    expect(rowsOf(published).slice(5)).toEqual([['a', 'invalid_params', 500]]);
    expect(published.at(-1)?.audit?.request_id).toBe(again.at(-1)?.context.requestId);
  });

  test('that come at the same moment wait for the one record', async () => {
    const { published, refusals } = start();
    await Promise.all(Array.from({ length: 20 }, () => refusals.record(refusal())));
    expect(published).toHaveLength(1);
    await refusals[Symbol.asyncDispose]();
    expect(rowsOf(published)).toEqual([
      ['a', 'invalid_params', null],
      ['a', 'invalid_params', 19],
    ]);
  });

  test('of many targets by one identity are counted by their code alone', async () => {
    const { published, refusals } = start();
    for (let n = 0; n < 1_000; n += 1) {
      await refusals.record(refusal({ facts: { approval_id: randomUUID() } }));
    }
    await refusals[Symbol.asyncDispose]();
    expect(published.length).toBeLessThan(25);
    const counted = published.reduce((sum, { audit }) => sum + (audit?.count ?? 1), 0);
    expect(counted).toBe(1_000);
  });

  test('are errors while they cannot be stored', async () => {
    const { published, stream, refusals } = start();
    stream.isOpen = false;
    const together = [refusal(), refusal(), refusal()].map((each) => refusals.record(each));
    for (const { status } of await Promise.allSettled(together)) expect(status).toBe('rejected');

    stream.isOpen = true;
    await refusals.record(refusal());
    expect(published).toHaveLength(1);
    await refusals[Symbol.asyncDispose]();
  });

  test('are recorded once, by whichever part comes first', async () => {
    const { published, refusals } = start();
    const one = refusal();
    await refusals.record(one);
    await refusals.record({ ...one, type: 'approval.refused' });
    await refusals[Symbol.asyncDispose]();
    expect(published).toHaveLength(1);
  });
});
