import { createHmac } from 'node:crypto';

import { describe, expect, test } from 'vitest';

import { deriveWebhookSecret, createSignedHeaders } from './signature.ts';

const key = 'k'.repeat(43);

describe('the signing secret', () => {
  test('is different for each subscription, and never changes', () => {
    const secret = deriveWebhookSecret(key, 'a');

    expect(secret).toMatch(/^whsec_[A-Za-z0-9_-]{43}$/);
    expect(deriveWebhookSecret(key, 'a')).toBe(secret);
    expect(deriveWebhookSecret(key, 'b')).not.toBe(secret);
    expect(deriveWebhookSecret('l'.repeat(43), 'a')).not.toBe(secret);
  });
});

describe('the signed headers', () => {
  test('have a signature that the documented procedure verifies', () => {
    const body = '{"id":"d1","data":{"ü":1}}';
    const headers = new Map(
      createSignedHeaders({
        secret: 'whsec_CANARY',
        timestampSeconds: 1_780_000_000,
        body,
        type: 'approval.raised',
        deliveryId: 'd1',
        orgId: 'o1',
      }),
    );

    const expected = createHmac('sha256', Buffer.from('whsec_CANARY', 'utf8'))
      .update(Buffer.from(`1780000000.${body}`, 'utf8'))
      .digest('hex');
    expect(headers.get('X-Service-Signature-V1')).toBe(`v1=${expected}`);
    expect(headers.get('X-Service-Timestamp')).toBe('1780000000');
    expect(headers.get('X-Service-Event')).toBe('approval.raised');
    expect(headers.get('X-Service-Delivery')).toBe('d1');
    expect(headers.get('X-Service-Org')).toBe('o1');
    expect(headers.has('X-Service-Signature')).toBe(false);
  });
});
