import { z } from 'zod';

import { defineContract } from '../define.ts';
import { eventType, feedItem, readerPing } from '../events.ts';
import { createWebhookBody, createdWebhook, delivery, webhook } from '../http/webhooks.ts';
import { id, pageSchemaOf, pageRequest, signedPrincipal } from '../vocabulary.ts';

const done = z.strictObject({});
const byId = z.strictObject({ principal: signedPrincipal, id });

/** Tells people and systems: signed webhooks, and the feed behind SSE. */
export const notifier = defineContract('notifier', {
  /** Feed items after a position that the caller may see, oldest first; `position` is where to go on. */
  listFeed: {
    request: z.strictObject({
      principal: signedPrincipal,
      after: z.int().min(0),
      types: z.array(eventType).max(50).nullable(),
      limit: z.int().min(1).max(200),
    }),
    response: z.strictObject({ items: z.array(feedItem).max(200), position: z.int() }),
    errors: ['invalid_request'],
    callers: ['gateway', 'executor'],
    timeoutMs: 3_000,
  },
  /** The position of the newest item: where a reader without `Last-Event-ID` starts. */
  feedPosition: {
    request: z.strictObject({ principal: signedPrincipal }),
    response: z.strictObject({ position: z.int() }),
    errors: [],
    callers: ['gateway'],
    timeoutMs: 2_000,
  },
  listWebhooks: {
    request: z.strictObject({ principal: signedPrincipal, page: pageRequest }),
    response: pageSchemaOf(webhook),
    errors: [],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  createWebhook: {
    request: z.strictObject({ principal: signedPrincipal, body: createWebhookBody }),
    response: createdWebhook,
    errors: ['forbidden', 'conflict', 'invalid_params'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  getWebhook: {
    request: byId,
    response: webhook,
    errors: ['not_found'],
    callers: ['gateway'],
    timeoutMs: 2_000,
  },
  deleteWebhook: {
    request: byId,
    response: done,
    errors: ['not_found', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  verifyWebhook: {
    request: byId,
    response: webhook,
    errors: ['not_found', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 20_000,
  },
  listDeliveries: {
    request: byId.extend({ page: pageRequest }),
    response: pageSchemaOf(delivery),
    errors: ['not_found'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  redeliver: {
    request: byId.extend({ deliveryId: id }),
    response: delivery,
    errors: ['not_found', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
  },
  ping: {
    request: done,
    response: readerPing,
    errors: [],
    callers: ['gateway'],
    timeoutMs: 1_000,
  },
});
