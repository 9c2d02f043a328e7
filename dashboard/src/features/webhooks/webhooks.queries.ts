import { infiniteQueryOptions, queryOptions } from '@tanstack/solid-query';
import type { z } from 'zod';

import type {
  Delivery,
  Webhook,
  createWebhookBody,
  createdWebhook,
} from '#contracts/http/webhooks';
import { request } from '../../api/client.ts';
import { listAll } from '../../api/pages.ts';
import type { Page } from '../../api/pages.ts';

/** All cache keys of this feature begin with the same key. */
export const webhooksKey = ['webhooks'] as const;

export type CreatedWebhook = z.infer<typeof createdWebhook>;

export const webhooksQuery = () =>
  queryOptions({
    queryKey: [...webhooksKey, 'list'],
    queryFn: ({ signal }) => listAll<Webhook>('/v1/webhooks', signal),
  });

const webhookPath = (id: string) => `/v1/webhooks/${encodeURIComponent(id)}` as const;

/** The deliveries of a webhook, newest first. */
export const deliveriesQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: [...webhooksKey, 'deliveries', id],
    queryFn: ({ pageParam, signal }) => {
      const cursor = pageParam === null ? '' : `&cursor=${encodeURIComponent(pageParam)}`;
      return request<Page<Delivery>>(`${webhookPath(id)}/deliveries?limit=20${cursor}`, { signal });
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last: Page<Delivery>) => last.next_cursor,
  });

export function createWebhook(body: z.infer<typeof createWebhookBody>) {
  return request<CreatedWebhook>('/v1/webhooks', { method: 'POST', body });
}

export function verifyWebhook({ id }: { id: string }) {
  return request<Webhook>(`${webhookPath(id)}/verify`, { method: 'POST' });
}

export function deleteWebhook({ id }: { id: string }) {
  return request<void>(webhookPath(id), { method: 'DELETE' });
}

export function redeliver({ webhook_id: webhookId, id }: Pick<Delivery, 'webhook_id' | 'id'>) {
  return request<Delivery>(
    `${webhookPath(webhookId)}/deliveries/${encodeURIComponent(id)}/redeliver`,
    { method: 'POST' },
  );
}
