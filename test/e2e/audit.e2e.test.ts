import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { AuditRecord } from '#contracts/audit';
import type { AuditLookup } from '#contracts/http/audit';
import { createAgent, successfulBodyOf, startWorld, pollUntil } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

/**
 * A template with one write and one read. The write has three disclose filters: a plain path, a jq
 * program, and a jq program that fails.
 */
const createTemplate = (server: string) => `openapi: 3.1.0
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
    successfulBodyOf(await admin.post('/v1/templates', { openapi: createTemplate(upstream.url) }));
    successfulBodyOf(await admin.post('/v1/templates/notes/publish', { version: 1 }));
    successfulBodyOf(await admin.post('/v1/services', { template: 'notes' }));
    agent = await createAgent(url, admin, 'writer');
    const rule = { identity_id: agent.id, effect: 'allow', pattern: 'notes:create_note:*' };
    successfulBodyOf(await admin.post('/v1/rules', rule));
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const call = (action: string, params: object, headers?: Record<string, string>) =>
    agent.post('/v1/actions/call', { service: 'notes', action, params }, headers);
  /**
   * Polls until the audit log has this many records of a call, because the records arrive a moment
   * after the answer.
   */
  async function recordsOf(auditId: string, count: number): Promise<AuditLookup> {
    const found: { now?: AuditLookup } = {};
    await pollUntil(async () => {
      const { status, body } = await world.admin.get(`/v1/audit/${auditId}`);
      if (status === 200) found.now = body as AuditLookup;
      return (found.now?.rows.length ?? 0) >= count;
    }, `${count} records of ${auditId}`);
    return found.now as AuditLookup;
  }
  const shownFields = [
    { label: 'Title', value: 'What an agen', truncated: true },
    { label: 'Tags', value: 'red, blue', truncated: false },
    { label: 'Broken', value: '', truncated: false, error: 'no words' },
  ];
  const note = { title: 'What an agent wrote', tags: ['red', 'blue'] };

  test('records a call that a rule allows, once before and once after it is sent', async () => {
    const { audit_id: auditId } = successfulBodyOf(await call('create_note', note));
    const { call_id: callId, state, rows } = await recordsOf(auditId, 2);

    expect({ callId, state }).toEqual({ callId: auditId, state: 'called' });
    const [intent, outcome] = ['action.intent', 'action.outcome'].map((recordType) =>
      rows.find(({ type }) => type === recordType),
    ) as [AuditRecord, AuditRecord];
    for (const row of [intent, outcome]) {
      expect(row).toMatchObject({
        call_id: auditId,
        disclosed: shownFields,
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

  test('records a user’s own call and an approved call with the same fields', async () => {
    const createNoteCall = { service: 'notes', action: 'create_note', params: note };
    const { audit_id: userCallId } = successfulBodyOf(
      await world.admin.post('/v1/actions/call', createNoteCall),
    );
    const lookupOfUserCall = await recordsOf(userCallId, 2);

    const otherAgent = await createAgent(world.url, world.admin, 'asker');
    const { approval_id: approvalId } = successfulBodyOf(
      await otherAgent.post('/v1/actions/call', createNoteCall),
    );
    successfulBodyOf(
      await world.admin.post(`/v1/approvals/${approvalId}/resolve`, { resolution: 'allow' }),
    );
    const resumeCall = async () =>
      (await otherAgent.post('/v1/actions/call', { approval_id: approvalId })).body;
    await pollUntil(async () => (await resumeCall()).status === 'called', 'the replay');
    const lookupOfApprovedCall = await recordsOf((await resumeCall()).audit_id, 3);

    for (const { rows } of [lookupOfUserCall, lookupOfApprovedCall]) {
      const executorRecords = rows.filter(({ type }) => type.startsWith('action.'));
      expect(executorRecords.map(({ disclosed }) => disclosed)).toEqual([shownFields, shownFields]);
      expect(new Set(rows.map((row) => row.request_digest)).size).toBe(1);
    }
    expect(lookupOfApprovedCall.rows.map(({ type }) => type).toSorted()).toEqual([
      'action.intent',
      'action.outcome',
      'execution.finished',
    ]);
    expect(lookupOfApprovedCall).toMatchObject({ state: 'called' });
  });

  test('has one record for a read, which can be found by the read’s audit_id', async () => {
    const { audit_id: auditId } = successfulBodyOf(await call('get_note', { id: '7' }));
    expect(await recordsOf(auditId, 1)).toMatchObject({
      call_id: auditId,
      state: 'called',
      rows: [{ type: 'action.outcome', risk: 'read', request_digest: null, disclosed: [] }],
    });
  });

  test('has the record to which an error about an unknown outcome refers', async () => {
    world.upstream.delayMs = 3_000;
    const writeCall = { service: 'notes', action: 'create_note', params: note, timeout_ms: 200 };
    const { status, body } = await agent.post('/v1/actions/call', writeCall);
    world.upstream.delayMs = 0;
    expect({ status, error: body.error }).toEqual({ status: 504, error: 'outcome_unknown' });

    expect(await recordsOf(body.audit_id, 2)).toMatchObject({ state: 'outcome_unknown' });
    const { items } = successfulBodyOf(await world.admin.get('/v1/audit?outcome=outcome_unknown'));
    expect(items).toMatchObject([
      { call_id: body.audit_id, error: 'outcome_unknown', disclosed: shownFields },
    ]);
  });

  test('keeps a rule’s text after the rule is deleted', async () => {
    const fleetingAgent = await createAgent(world.url, world.admin, 'fleeting');
    const pattern = 'notes:*:*';
    const rule = successfulBodyOf(
      await world.admin.post('/v1/rules', {
        identity_id: fleetingAgent.id,
        effect: 'allow',
        pattern,
      }),
    );
    const createNoteCall = { service: 'notes', action: 'create_note', params: note };
    const { audit_id: auditId } = successfulBodyOf(
      await fleetingAgent.post('/v1/actions/call', createNoteCall),
    );
    await world.admin.delete(`/v1/rules/${rule.id}`);

    const { rows } = await recordsOf(auditId, 2);
    expect(rows[0]?.decision).toEqual({
      by: 'rule',
      rule_id: rule.id,
      approval_id: null,
      allowed_by: [{ rule_id: rule.id, pattern }],
    });
  });

  test('has an unbroken chain of hashes', async () => {
    expect(successfulBodyOf(await world.admin.get('/v1/audit/verify'))).toMatchObject({
      valid: true,
    });
  });
});
