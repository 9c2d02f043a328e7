import { randomUUID } from 'node:crypto';

import { jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { storeApi } from '#bus';
import { auditRecord } from '#contracts/audit';
import { auditStream } from '#contracts/events';
import { recordEvents } from './record-events.ts';
import { createAuditWorld, eventOf, firstPage, testDeadline } from '../world.testing.ts';
import type { AuditWorld } from '../world.testing.ts';

let world: AuditWorld;
beforeAll(async () => {
  world = await createAuditWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** The number of events that the audit log has not acknowledged yet. */
async function countUnacknowledgedEvents(): Promise<number> {
  const { nats } = await world.environment.connectReader('audit');
  const manager = await jetstreamManager(nats, { checkAPI: false, apiPrefix: storeApi });
  const { num_ack_pending, num_pending } = await manager.consumers.info(auditStream, 'audit');
  return num_ack_pending + num_pending;
}

describe('recording events', () => {
  test('stores every field of the audit entry', async () => {
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
      failure: 'conflict',
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
    const { items } = await world.client.list(
      { principal, page: firstPage, filter: {} },
      testDeadline(),
    );

    expect(auditRecord.parse(items[0])).toEqual({
      ...event.audit,
      id: event.id,
      org_id: orgId,
      type: event.type,
      at: event.created_at,
      seq: 1,
      prev_hash: '0'.repeat(64),
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      unread: null,
    });
  });

  test('ignores an event without an audit entry', async () => {
    const orgId = randomUUID();
    await recordEvents(world.recorder, [{ ...eventOf(orgId), audit: null }]);
    expect(await world.countRecords(orgId)).toBe(0);
  });

  test('keeps the first event with an id and ignores a later event that reuses the id', async () => {
    const orgId = randomUUID();
    const firstEvent = { ...eventOf(orgId), type: 'rule.created' as const };
    const copiedEvent = { ...eventOf(orgId), id: firstEvent.id, type: 'webhook.changed' as const };
    await world.publish([firstEvent]);
    // The second event is published while the audit log still waits for further events, so both
    // events are in one batch.
    await world.publish([copiedEvent]);
    await expect.poll(() => world.countRecords(orgId)).toBe(1);

    const [row] = await world.db<{ type: string }[]>`
      select type from audit.record where org_id = ${orgId}
    `;
    expect(row?.type).toBe('rule.created');
  });

  test('refuses an event that reuses an id of another org, and records the rest of the batch', async () => {
    // Chains are locked in the order of org ids, so the org that reuses the id is processed first.
    const [thief = '', victim = ''] = [randomUUID(), randomUUID()].toSorted();
    const batchedEvent = eventOf(victim);
    const recordedEarlier = eventOf(victim);
    await recordEvents(world.recorder, [recordedEarlier]);
    const laterEvent = eventOf(thief, { description: 'the last' });
    const copyOf = ({ id }: { id: string }) => ({
      ...eventOf(thief, { description: 'a lie' }),
      id,
      type: 'webhook.changed' as const,
    });
    await world.publish([recordedEarlier, copyOf(recordedEarlier)]);
    await world.publish([batchedEvent]);
    await world.publish([copyOf(batchedEvent)]);
    await world.publish([copyOf(batchedEvent), laterEvent]);

    await expect.poll(() => world.countRecords(thief)).toBe(3);
    await expect.poll(countUnacknowledgedEvents).toBe(0);
    const rows = await world.db<{ type: string; description: string; id: string }[]>`
      select type, description, id from audit.record where org_id = ${thief}
    `;
    const refusedRows = rows.filter(({ type }) => type === 'event.refused');
    expect(refusedRows).toHaveLength(2);
    expect(rows.map(({ description }) => description)).not.toContain('a lie');
    expect(refusedRows[0]?.description).toContain('webhook.changed');
    const keptRows = await world.db<{ id: string; type: string }[]>`
      select id, type from audit.record where org_id = ${victim} order by seq
    `;
    expect(keptRows).toEqual(
      [recordedEarlier, batchedEvent].map(({ id }) => ({ id, type: 'action.outcome' })),
    );
    for (const orgId of [thief, victim]) {
      const principal = world.principal({ orgId, role: 'auditor' });
      expect(await world.client.verify({ principal }, testDeadline())).toMatchObject({
        valid: true,
      });
    }
  });

  test('makes one record per event, however often and to whichever replica it is delivered', async () => {
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

  test('keeps every chain intact while three replicas record events of many orgs', async () => {
    await using replicas = new AsyncDisposableStack();
    replicas.use(await world.startReplica());
    replicas.use(await world.startReplica());
    const orgIds = Array.from({ length: 5 }, () => randomUUID());
    const events = Array.from({ length: 600 }, (_, i) => eventOf(orgIds[i % 5] ?? ''));

    await world.publish([...events, ...events.slice(0, 100)]);

    for (const orgId of orgIds) {
      await expect.poll(() => world.countRecords(orgId)).toBe(120);
      const principal = world.principal({ orgId, role: 'auditor' });
      expect(await world.client.verify({ principal }, testDeadline())).toMatchObject({
        valid: true,
        rows_checked: 120,
        head: { seq: 120 },
      });
    }
  });

  test('records text that Postgres cannot store without breaking the chain', async () => {
    const orgId = randomUUID();
    const unstorableText = 'NUL \0 and half a pair \ud83c';
    await recordEvents(world.recorder, [
      eventOf(orgId, {
        description: unstorableText,
        disclosed: [{ label: unstorableText, value: unstorableText, truncated: false }],
        permission_keys: [`svc:act:${unstorableText}`],
      }),
      eventOf(orgId),
    ]);

    const principal = world.principal({ orgId, role: 'admin' });
    expect(await world.client.verify({ principal }, testDeadline())).toMatchObject({
      valid: true,
      rows_checked: 2,
    });
  });
});

describe('the database role of the component', () => {
  test.for([
    `update audit.record set description = 'x'`,
    'delete from audit.record',
    'truncate audit.record',
    'drop table audit.record',
    'alter table audit.record disable trigger all',
  ])('is not allowed to run the statement: %s', async (statement) => {
    await expect(world.db.unsafe(statement)).rejects.toMatchObject({ code: '42501' });
  });
});
