import { randomUUID } from 'node:crypto';

import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { blankAuditEntry } from '#contracts/audit';
import type { Event } from '#contracts/events';
import { openDatabase } from '#database';
import { createTestEnvironment } from '../../test/support/environment.ts';
import type { TestEnvironment } from '../../test/support/environment.ts';
import { consumeEvents } from './consume.ts';
import { appendEvent } from './outbox.ts';
import { startRelay } from './relay.ts';

let environment: TestEnvironment;
beforeAll(async () => {
  environment = await createTestEnvironment();
});
afterAll(() => environment[Symbol.asyncDispose]());

test('an event too large for the stream is refused with its change, and those after it are relayed', async () => {
  const logger = pino({ enabled: false });
  await using db = openDatabase({
    url: environment.variables['POLICY_DATABASE_URL'] ?? '',
    schema: 'policy',
    connectionsMax: 3,
  });
  const append = (characters: number) =>
    db.transaction((tx) =>
      appendEvent(tx, {
        type: 'rule.created',
        orgId: randomUUID(),
        audience: [],
        data: { text: 'é'.repeat(characters) },
        audit: blankAuditEntry('Made a rule'),
      }),
    );
  await expect(append(2_100_000)).rejects.toMatchObject({ code: 'too_large' });
  const large = await append(2_090_000);
  const small = await append(1);

  const seen: Event[] = [];
  await using _reader = consumeEvents({
    bus: await environment.connectReader('audit'),
    durable: 'audit',
    recordsRefusals: false,
    logger,
    handle: async (events) => void seen.push(...events),
  });
  await using _relay = startRelay({
    db,
    bus: await environment.connect('policy'),
    owner: 'policy',
    logger,
  });
  await expect
    .poll(() => seen.map(({ id }) => id), { timeout: 15_000 })
    .toEqual([large.id, small.id]);
  expect(await db`select 1 from outbox where published_at is null`).toHaveLength(0);
});
