import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { AuditRecord } from '#contracts/audit';
import type { AuditLookup } from '#contracts/http/audit';
import { createAgent, created, startWorld, until } from './support/world.ts';
import type { Agent, World } from './support/world.ts';

/** One write whose filters are a plain path, a program for jq, and a program that fails; and one read. */
const template = (server: string) => `openapi: 3.1.0
info: { title: Notes, key: notes, category: Testing }
servers: [{ url: '${server}' }]
paths:
  /notes/{id}:
    get:
      operationId: get_note
      summary: Read note {id}
      parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
  /notes:
    post:
      operationId: create_note
      summary: Write note {title}
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [title]
              properties: { title: { type: string }, tags: { type: array, items: { type: string } } }
      disclose:
        - { label: Title, filter: .body.title, max_chars: 12 }
        - { label: Tags, filter: '.body.tags // empty | join(", ")' }
        - { label: Broken, filter: '.body | error("no words")' }
`;

describe('the audit log', () => {
  let world: World;
  let agent: Agent;

  beforeAll(async () => {
    world = await startWorld();
    const { admin, upstream, url } = world;
    created(await admin.post('/v1/templates', { openapi: template(upstream.url) }));
    created(await admin.post('/v1/templates/notes/publish', { version: 1 }));
    created(await admin.post('/v1/services', { template: 'notes' }));
    agent = await createAgent(url, admin, 'writer');
    const rule = { identity_id: agent.id, effect: 'allow', pattern: 'notes:create_note:*' };
    created(await admin.post('/v1/rules', rule));
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const call = (action: string, params: object, headers?: Record<string, string>) =>
    agent.post('/v1/actions/call', { service: 'notes', action, params }, headers);
  /** Records are written a moment after the answer. */
  async function recordsOf(auditId: string, count: number): Promise<AuditLookup> {
    const found: { now?: AuditLookup } = {};
    await until(async () => {
      const { status, body } = await world.admin.get(`/v1/audit/${auditId}`);
      if (status === 200) found.now = body as AuditLookup;
      return (found.now?.rows.length ?? 0) >= count;
    }, `${count} records of ${auditId}`);
    return found.now as AuditLookup;
  }
  const shown = [
    { label: 'Title', value: 'What an agen', truncated: true },
    { label: 'Tags', value: 'red, blue', truncated: false },
    { label: 'Broken', value: '', truncated: false, error: 'no words' },
  ];
  const note = { title: 'What an agent wrote', tags: ['red', 'blue'] };

  test('shows what a call that a rule allowed has sent, before and after it left', async () => {
    const { audit_id: auditId } = created(await call('create_note', note));
    const { call_id: callId, state, rows } = await recordsOf(auditId, 2);

    expect({ callId, state }).toEqual({ callId: auditId, state: 'called' });
    const [intent, outcome] = ['action.intent', 'action.outcome'].map((wanted) =>
      rows.find(({ type }) => type === wanted),
    ) as [AuditRecord, AuditRecord];
    for (const row of [intent, outcome]) {
      expect(row).toMatchObject({
        call_id: auditId,
        disclosed: shown,
        request_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
        decision: { by: 'rule', allowed_by: [{ pattern: 'notes:create_note:*' }] },
      });
    }
    expect(intent).toMatchObject({ outcome: 'started', http_status: null });
    expect(outcome).toMatchObject({ outcome: 'called', http_status: 201 });
    expect(outcome.request_digest).toBe(intent.request_digest);
    for (const { id } of rows) {
      expect((await world.admin.get(`/v1/audit/${id}`)).body).toMatchObject({ call_id: auditId });
    }
  });

  test('shows the same of a call by the user alone, and of one that was approved', async () => {
    const asked = { service: 'notes', action: 'create_note', params: note };
    const { audit_id: own } = created(await world.admin.post('/v1/actions/call', asked));
    const byUser = await recordsOf(own, 2);

    const other = await createAgent(world.url, world.admin, 'asker');
    const { approval_id: approvalId } = created(await other.post('/v1/actions/call', asked));
    created(await world.admin.post(`/v1/approvals/${approvalId}/resolve`, { resolution: 'allow' }));
    const resumed = async () =>
      (await other.post('/v1/actions/call', { approval_id: approvalId })).body;
    await until(async () => (await resumed()).status === 'called', 'the replay');
    const byApproval = await recordsOf((await resumed()).audit_id, 3);

    for (const { rows } of [byUser, byApproval]) {
      const ofExecutor = rows.filter(({ type }) => type.startsWith('action.'));
      expect(ofExecutor.map(({ disclosed }) => disclosed)).toEqual([shown, shown]);
      expect(new Set(rows.map((row) => row.request_digest)).size).toBe(1);
    }
    expect(byApproval.rows.map(({ type }) => type).toSorted()).toEqual([
      'action.intent',
      'action.outcome',
      'execution.finished',
    ]);
    expect(byApproval).toMatchObject({ state: 'called' });
  });

  test('has one record of a read, found by its audit_id as well', async () => {
    const { audit_id: auditId } = created(await call('get_note', { id: '7' }));
    expect(await recordsOf(auditId, 1)).toMatchObject({
      call_id: auditId,
      state: 'called',
      rows: [{ type: 'action.outcome', risk: 'read', request_digest: null, disclosed: [] }],
    });
  });

  test('opens what an unknown outcome points to', async () => {
    world.upstream.delayMs = 3_000;
    const given = { service: 'notes', action: 'create_note', params: note, timeout_ms: 200 };
    const { status, body } = await agent.post('/v1/actions/call', given);
    world.upstream.delayMs = 0;
    expect({ status, error: body.error }).toEqual({ status: 504, error: 'outcome_unknown' });

    expect(await recordsOf(body.audit_id, 2)).toMatchObject({ state: 'outcome_unknown' });
    const { items } = created(await world.admin.get('/v1/audit?outcome=outcome_unknown'));
    expect(items).toMatchObject([
      { call_id: body.audit_id, error: 'outcome_unknown', disclosed: shown },
    ]);
  });

  test('keeps what a rule said although the rule is gone', async () => {
    const fleeting = await createAgent(world.url, world.admin, 'fleeting');
    const pattern = 'notes:*:*';
    const rule = created(
      await world.admin.post('/v1/rules', {
        identity_id: fleeting.id,
        effect: 'allow',
        pattern,
      }),
    );
    const asked = { service: 'notes', action: 'create_note', params: note };
    const { audit_id: auditId } = created(await fleeting.post('/v1/actions/call', asked));
    await world.admin.delete(`/v1/rules/${rule.id}`);

    const { rows } = await recordsOf(auditId, 2);
    expect(rows[0]?.decision).toEqual({
      by: 'rule',
      rule_id: rule.id,
      approval_id: null,
      allowed_by: [{ rule_id: rule.id, pattern }],
    });
  });

  test('is whole', async () => {
    expect(created(await world.admin.get('/v1/audit/verify'))).toMatchObject({ valid: true });
  });
});
