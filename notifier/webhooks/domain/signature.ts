import { createHmac } from 'node:crypto';

/**
 * Derives the signing secret of a subscription as an HMAC of its id. The secret is therefore stored
 * nowhere, and a database dump contains none. The API shows it once, when the subscription is
 * created.
 */
export function deriveWebhookSecret(webhookKey: string, webhookId: string): string {
  const secretBytes = createHmac('sha256', webhookKey)
    .update(`webhook secret 1 ${webhookId}`)
    .digest();
  return `whsec_${secretBytes.toString('base64url')}`;
}

/**
 * Builds the headers of one attempt. Each retry has its own timestamp and signature
 * (docs/reference/events.md#webhooks).
 */
export function createSignedHeaders({
  secret,
  timestampSeconds,
  body,
  type,
  deliveryId,
  orgId,
}: {
  secret: string;
  timestampSeconds: number;
  body: string;
  type: string;
  deliveryId: string;
  orgId: string;
}): [name: string, value: string][] {
  // The HMAC key is the UTF-8 text of the secret, including its prefix; it is not decoded.
  const digest = createHmac('sha256', secret).update(`${timestampSeconds}.${body}`).digest('hex');
  return [
    ['Content-Type', 'application/json'],
    ['User-Agent', 'agent-action-gateway'],
    ['X-Service-Timestamp', String(timestampSeconds)],
    ['X-Service-Signature-V1', `v1=${digest}`],
    ['X-Service-Event', type],
    ['X-Service-Delivery', deliveryId],
    ['X-Service-Org', orgId],
  ];
}
