import { randomUUID } from 'node:crypto';

import { jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { storeApi } from '#bus';
import { auditRecord } from '#contracts/audit';
import { eventsStream } from '#contracts/events';
import { recordEvents } from './usecases/record-events.ts';
import { createAuditWorld, eventOf, firstPage, soon } from './world.testing.ts';
import type { AuditWorld } from './world.testing.ts';

let world: AuditWorld;
beforeAll(async () => {
  world = await createAuditWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** How many events the audit log has been given and could not yet acknowledge. */
async function unacknowledged(): Promise<number> {
  const { nats } = await world.environment.connectReader('audit');
  const manager = await jetstreamManager(nats, { checkAPI: false, apiPrefix: storeApi });
  const { num_ack_pending, num_pending } = await manager.consumers.info(eventsStream, 'audit');
  return num_ack_pending + num_pending;
}

describe('recording', () => {
  test('keeps every field of the event that asked for it', async () => {
    const orgId = randomUUID();
    const userId = randomUUID();
    const event = eventOf(orgId, {
      user_id: userId,
      identity: { id: randomUUID(), kind: 'agent', name: 'bot', path: ['ann', 'bot'] },
      credential: { kind: 'agent_key', id: randomUUID(), client_id: null },
      service: 'github',
      template: 'github',
      action: 'issues.create',
      permission_keys: ['github:issues.create:acme/site', 'secret:token:api.github.com'],
      risk: 'write',
      decision: { by: 'rule', rule_id: randomUUID(), approval_id: null },
      outcome: 'called',
      http_status: 201,
      duration_ms: 12.345678901234567,
      disclosed: [{ label: 'Title', value: 'Ünïcode 🎉', truncated: false }],
      approval_id: randomUUID(),
      execution_id: randomUUID(),
      request_id: 'req-1',
      trace_id: 'abc',
      ip: '::1',
    });
    await world.publish([event]);
    await expect.poll(() => world.countRecords(orgId)).toBe(1);

    const principal = world.principal({ orgId, role: 'member', userId });
    const { items } = await world.client.list({ principal, page: firstPage, filter: {} }, soon());

    expect(auditRecord.parse(items[0])).toEqual({
      ...event.audit,
      id: event.id,
      org_id: orgId,
      type: event.type,
      at: event.created_at,
      seq: 1,
      prev_hash: '0'.repeat(64),
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  test('takes an event without an audit entry for nothing to record', async () => {
    const orgId = randomUUID();
    await recordEvents(world.recorder, [{ ...eventOf(orgId), audit: null }]);
    expect(await world.countRecords(orgId)).toBe(0);
  });

  test('keeps the first event under an id, not a later one that reuses the id', async () => {
    const orgId = randomUUID();
    const honest = { ...eventOf(orgId), type: 'rule.created' as const };
    const copied = { ...eventOf(orgId), id: honest.id, type: 'webhook.changed' as const };
    await world.publish([honest]);
    // Within the time that the audit log leaves events for others to join them.
    await world.publish([copied]);
    await expect.poll(() => world.countRecords(orgId)).toBe(1);

    const [row] = await world.db<{ type: string }[]>`
      select type from audit.record where org_id = ${orgId}
    `;
    expect(row?.type).toBe('rule.created');
  });

  test('refuses an event under the id of one of another org, and goes on with the rest', async () => {
    // The one that repeats the id is first by the order in which chains are locked.
    const [thief = '', victim = ''] = [randomUUID(), randomUUID()].toSorted();
    const inOneBatch = eventOf(victim);
    const recordedEarlier = eventOf(victim);
    await recordEvents(world.recorder, [recordedEarlier]);
    const later = eventOf(thief, { description: 'the last' });
    const copyOf = ({ id }: { id: string }) => ({
      ...eventOf(thief, { description: 'a lie' }),
      id,
      type: 'webhook.changed' as const,
    });
    await world.publish([recordedEarlier, copyOf(recordedEarlier)]);
    await world.publish([inOneBatch]);
    await world.publish([copyOf(inOneBatch)]);
    await world.publish([copyOf(inOneBatch), later]);

    await expect.poll(() => world.countRecords(thief)).toBe(3);
    await expect.poll(unacknowledged).toBe(0);
    const rows = await world.db<{ type: string; description: string; id: string }[]>`
      select type, description, id from audit.record where org_id = ${thief}
    `;
    const refused = rows.filter(({ type }) => type === 'event.refused');
    expect(refused).toHaveLength(2);
    expect(rows.map(({ description }) => description)).not.toContain('a lie');
    expect(refused[0]?.description).toContain('webhook.changed');
    const kept = await world.db<{ id: string; type: string }[]>`
      select id, type from audit.record where org_id = ${victim} order by seq
    `;
    expect(kept).toEqual(
      [recordedEarlier, inOneBatch].map(({ id }) => ({ id, type: 'action.outcome' })),
    );
    for (const orgId of [thief, victim]) {
      const principal = world.principal({ orgId, role: 'auditor' });
      expect(await world.client.verify({ principal }, soon())).toMatchObject({ valid: true });
    }
  });

  test('makes one record of an event, however often and wherever it is delivered', async () => {
    const orgId = randomUUID();
    const events = Array.from({ length: 10 }, () => eventOf(orgId));

    await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        recordEvents(world.recorder, [
          ...events.slice(i),
          ...events.slice(0, i),
          ...events.slice(0, 3),
        ]),
      ),
    );
    await world.publish(events);
    const last = eventOf(orgId, { description: 'the last' });
    await world.publish([last, last]);

    await expect.poll(() => world.countRecords(orgId)).toBe(11);
  });

  test('by three replicas of many orgs at once keeps every chain whole', async () => {
    await using replicas = new AsyncDisposableStack();
    replicas.use(await world.startReplica());
    replicas.use(await world.startReplica());
    const orgIds = Array.from({ length: 5 }, () => randomUUID());
    const events = Array.from({ length: 600 }, (_, i) => eventOf(orgIds[i % 5] ?? ''));

    await world.publish([...events, ...events.slice(0, 100)]);

    for (const orgId of orgIds) {
      await expect.poll(() => world.countRecords(orgId), { timeout: 15_000 }).toBe(120);
      const principal = world.principal({ orgId, role: 'auditor' });
      expect(await world.client.verify({ principal }, soon())).toMatchObject({
        valid: true,
        rows_checked: 120,
        head: { seq: 120 },
      });
    }
  });

  test('text that Postgres cannot hold neither stops the log nor breaks its chain', async () => {
    const orgId = randomUUID();
    const odd = 'NUL \0 and half a pair \ud83c';
    await recordEvents(world.recorder, [
      eventOf(orgId, {
        description: odd,
        disclosed: [{ label: odd, value: odd, truncated: false }],
        permission_keys: [`svc:act:${odd}`],
      }),
      eventOf(orgId),
    ]);

    const principal = world.principal({ orgId, role: 'admin' });
    expect(await world.client.verify({ principal }, soon())).toMatchObject({
      valid: true,
      rows_checked: 2,
    });
  });
});

describe("the component's own role", () => {
  test.for([
    `update audit.record set description = 'x'`,
    'delete from audit.record',
    'truncate audit.record',
    'drop table audit.record',
    'alter table audit.record disable trigger all',
  ])('may not: %s', async (statement) => {
    await expect(world.db.unsafe(statement)).rejects.toMatchObject({ code: '42501' });
  });
});
