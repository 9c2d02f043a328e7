import type { z } from 'zod';

import type { createdWebhook, Delivery, Webhook } from '#contracts/http/webhooks';
import type { RestCall } from './command.ts';
import type { Answer, Cell } from './output.ts';
import { factsOf } from './resource-handlers.ts';

/** As many deliveries are looked at. */
const deliveriesMax = 100;

interface AddOptions {
  readonly event?: readonly string[];
  readonly description?: string;
}

/**
 * `action-gateway webhooks add <url>`: prints only the secret for the signatures to stdout. The
 * secret is shown only once.
 */
export async function addWebhook({
  api,
  args: [url],
  options: { event, description },
}: RestCall<AddOptions>): Promise<Answer> {
  const webhook = await api.request<z.infer<typeof createdWebhook>>('POST', '/v1/webhooks', {
    body: {
      url,
      ...(event !== undefined && { events: event }),
      ...(description !== undefined && { description }),
    },
  });
  const { id, status, secret } = webhook;
  const next = status === 'active' ? '' : ` Its events wait until it has answered the handshake.`;
  return {
    data: webhook,
    show: { text: secret },
    note: `The webhook ${id} is ${status}.${next} This secret checks its signatures and is not shown again.`,
  };
}

/**
 * `action-gateway webhooks show <webhook-id>`: shows a webhook, and what became of the newest
 * delivery that was attempted. Those that only wait do not say why nothing arrives.
 */
export async function showWebhook({ api, args: [id = ''] }: RestCall): Promise<Answer> {
  const path = `/v1/webhooks/${encodeURIComponent(id)}` as const;
  const webhook = await api.request<Webhook>('GET', path);
  const deliveries = await api.list<Delivery>(`${path}/deliveries`, {}, deliveriesMax);
  const delivery = deliveries.find(({ attempts }) => attempts > 0) ?? deliveries[0];
  return {
    data: { ...webhook, last_delivery: delivery ?? null },
    show: { facts: [...factsOf(webhook), ...(delivery ? factsOfDelivery(delivery) : [])] },
  };
}

function factsOfDelivery(delivery: Delivery): (readonly [string, Cell])[] {
  const { type, status, attempts, created_at: at } = delivery;
  const attemptsText = attempts === 1 ? '1 attempt' : `${attempts} attempts`;
  return [
    ['last delivery', `${type} of ${at}: ${status}, ${attemptsText}`],
    ['last answer', delivery.last_status_code],
    ['last error', delivery.last_error],
    ['next attempt', delivery.next_attempt_at],
  ];
}
