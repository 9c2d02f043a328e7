import { z } from 'zod';

import { defineContract } from '../define.ts';
import { eventType, feedItem, outboxPing, readerPing } from '../events.ts';
import { createWebhookBody, createdWebhook, delivery, webhook } from '../http/webhooks.ts';
import { id, pageSchemaOf, pageRequest, signedPrincipal } from '../vocabulary.ts';

const emptyReply = z.strictObject({});
const requestById = z.strictObject({ principal: signedPrincipal, id });

/** Sends events to people and systems: signed webhooks, and the feed behind SSE. */
export const notifier = defineContract('notifier', {
  /**
   * The feed items after a position that the caller may see, oldest first. The answer's `position`
   * is the one to continue from.
   */
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
    repeatable: true,
  },
  /** The position of the newest item: where a reader without `Last-Event-ID` starts. */
  feedPosition: {
    request: z.strictObject({ principal: signedPrincipal }),
    response: z.strictObject({ position: z.int() }),
    errors: [],
    callers: ['gateway'],
    timeoutMs: 2_000,
    repeatable: true,
  },
  listWebhooks: {
    request: z.strictObject({ principal: signedPrincipal, page: pageRequest }),
    response: pageSchemaOf(webhook),
    errors: [],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: true,
  },
  createWebhook: {
    request: z.strictObject({ principal: signedPrincipal, body: createWebhookBody }),
    response: createdWebhook,
    errors: ['forbidden', 'conflict', 'invalid_params'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  getWebhook: {
    request: requestById,
    response: webhook,
    errors: ['not_found'],
    callers: ['gateway'],
    timeoutMs: 2_000,
    repeatable: true,
  },
  deleteWebhook: {
    request: requestById,
    response: emptyReply,
    errors: ['not_found', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  verifyWebhook: {
    request: requestById,
    response: webhook,
    errors: ['not_found', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 20_000,
    repeatable: false,
  },
  listDeliveries: {
    request: requestById.extend({ page: pageRequest }),
    response: pageSchemaOf(delivery),
    errors: ['not_found'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: true,
  },
  redeliver: {
    request: requestById.extend({ deliveryId: id }),
    response: delivery,
    errors: ['not_found', 'forbidden'],
    callers: ['gateway'],
    timeoutMs: 3_000,
    repeatable: false,
  },
  ping: {
    request: emptyReply,
    response: outboxPing.extend(readerPing.shape),
    errors: [],
    callers: ['gateway'],
    timeoutMs: 1_000,
    repeatable: false,
  },
});
