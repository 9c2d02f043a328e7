import { z } from 'zod';

import { eventType } from '../events.ts';
import { id, json, pageSchemaOf, pageQuery, timestamp } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';

export const webhook = z.strictObject({
  id,
  org_id: id,
  url: z.string(),
  events: z.array(z.string()),
  description: z.string().nullable(),
  status: z.enum(['pending_verification', 'active', 'disabled']),
  disabled_reason: z.string().nullable(),
  created_at: timestamp,
  created_by: id,
});
export type Webhook = z.infer<typeof webhook>;

/** Only this answer contains `secret` (docs/reference/events.md#webhooks). */
export const createdWebhook = webhook.extend({ secret: z.string() });

export const createWebhookBody = z.strictObject({
  url: z.url().max(2000),
  /**
   * Event types, or families such as `approval.*`; the default is `approval.*` and
   * `execution.finished`.
   */
  events: z
    .array(z.union([eventType, z.string().regex(/^[a-z_]+\.\*$/)]))
    .min(1)
    .max(50)
    .optional(),
  description: z.string().max(500).optional(),
});

export const delivery = z.strictObject({
  id,
  webhook_id: id,
  event_id: id,
  type: z.string(),
  status: z.enum(['held', 'pending', 'delivered', 'failed']),
  attempts: z.int(),
  next_attempt_at: timestamp.nullable(),
  last_status_code: z.int().nullable(),
  last_error: z.string().nullable(),
  created_at: timestamp,
  delivered_at: timestamp.nullable(),
  body: json,
});
export type Delivery = z.infer<typeof delivery>;

const idParams = z.strictObject({ id });

export const webhookRoutes = defineRoutes({
  listWebhooks: {
    method: 'GET',
    path: '/v1/webhooks',
    summary: 'Webhook subscriptions',
    tag: 'Webhooks',
    access: 'user',
    query: pageQuery,
    responses: { 200: pageSchemaOf(webhook) },
    serves: 'notifier.listWebhooks',
    audit: 'none',
  },
  createWebhook: {
    method: 'POST',
    path: '/v1/webhooks',
    summary: 'Subscribe an endpoint to events; it is verified first',
    tag: 'Webhooks',
    access: 'user',
    body: createWebhookBody,
    responses: { 201: createdWebhook },
    serves: 'notifier.createWebhook',
    audit: ['webhook.created'],
  },
  getWebhook: {
    method: 'GET',
    path: '/v1/webhooks/{id}',
    summary: 'One subscription',
    tag: 'Webhooks',
    access: 'user',
    params: idParams,
    responses: { 200: webhook },
    serves: 'notifier.getWebhook',
    audit: 'none',
  },
  deleteWebhook: {
    method: 'DELETE',
    path: '/v1/webhooks/{id}',
    summary: 'End a subscription',
    tag: 'Webhooks',
    access: 'user',
    params: idParams,
    responses: { 204: null },
    serves: 'notifier.deleteWebhook',
    audit: ['webhook.deleted'],
  },
  verifyWebhook: {
    method: 'POST',
    path: '/v1/webhooks/{id}/verify',
    summary: 'Send the verification handshake again',
    tag: 'Webhooks',
    access: 'user',
    params: idParams,
    responses: { 200: webhook },
    serves: 'notifier.verifyWebhook',
    audit: ['webhook.changed'],
  },
  listDeliveries: {
    method: 'GET',
    path: '/v1/webhooks/{id}/deliveries',
    summary: 'Deliveries of a subscription, newest first',
    tag: 'Webhooks',
    access: 'user',
    params: idParams,
    query: pageQuery,
    responses: { 200: pageSchemaOf(delivery) },
    serves: 'notifier.listDeliveries',
    audit: 'none',
  },
  redeliver: {
    method: 'POST',
    path: '/v1/webhooks/{id}/deliveries/{delivery_id}/redeliver',
    summary: 'Send a delivery again',
    tag: 'Webhooks',
    access: 'user',
    params: z.strictObject({ id, delivery_id: id }),
    responses: { 202: delivery },
    serves: 'notifier.redeliver',
    audit: ['webhook.changed'],
  },
});
