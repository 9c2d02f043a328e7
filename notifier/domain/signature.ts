import { createHmac } from 'node:crypto';

/**
 * The signing secret of a subscription: an HMAC of its id, so that it is stored nowhere and a
 * dump of the database holds none. Shown once, when the subscription is made.
 */
export function deriveWebhookSecret(webhookKey: string, webhookId: string): string {
  const bytes = createHmac('sha256', webhookKey).update(`webhook secret 1 ${webhookId}`).digest();
  return `whsec_${bytes.toString('base64url')}`;
}

/** The headers of one attempt; a retry is signed again, with its own timestamp (docs/reference/events.md#webhooks). */
export function signedHeaders({
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
  // The key is the secret's UTF-8 text as shown, prefix included; it is not decoded.
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
