import { randomUUID } from 'node:crypto';

import { expect, test } from 'vitest';

import { blankAuditEntry } from '#contracts/audit';
import type { CallResult } from '#contracts/call';
import { createOutcomeEvent } from './audit-entry.ts';

const parts = { orgId: randomUUID(), auditId: randomUUID(), audience: [] };
const result: CallResult = { status_code: 200, headers: {}, body: null, duration_ms: 1 };
const outcomeEventOf = (more: Partial<CallResult>) =>
  createOutcomeEvent(
    { ...parts, entry: blankAuditEntry('Created an issue') },
    { kind: 'called', result: { ...result, ...more } },
  );

test('the record of a call contains the kind of a failure at the provider, but not the provider’s message', () => {
  const failure = { kind: 'invalid', message: 'CANARY-ann@example.com is taken' } as const;
  const event = outcomeEventOf({ status_code: 422, failure });
  expect(event.audit).toMatchObject({ outcome: 'called', http_status: 422, failure: 'invalid' });
  expect(JSON.stringify(event)).not.toContain('CANARY');
});

test('the record of a call contains no failure when the call succeeded or got no answer', () => {
  expect(outcomeEventOf({}).audit?.failure).toBeNull();
  const entry = blankAuditEntry('Created an issue');
  const failed = { kind: 'failed', code: 'upstream_timeout', durationMs: 1 } as const;
  expect(createOutcomeEvent({ ...parts, entry }, failed).audit).toMatchObject({
    error: 'upstream_timeout',
    failure: null,
  });
});
