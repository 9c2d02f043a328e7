import { z } from 'zod';

import { json, risk } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';

/** Rows of one answer; the first few carry what is needed to call them. */
export const searchLimits = { default: 10, max: 50, withSchema: 5 } as const;

/**
 * One action of one connected service. Of the list of services that an empty query answers,
 * one service: `action` and `risk` are then null.
 */
export const searchRow = z.strictObject({
  /** What a call names (`github`, or `org/github` where the caller's own has that name); null: not connected. */
  service: z.string().max(67).nullable(),
  template: z.string().max(63),
  action: z.string().max(128).nullable(),
  description: z.string().max(2000),
  risk: risk.nullable(),
  /** From 0 to 1, 1 being the best. */
  score: z.number().min(0).max(1),
  /** Of the first five rows that are actions: JSON Schema of `params`. */
  params_schema: z.record(z.string(), json).optional(),
  /** A call by this caller waits for an approval, unless an allow rule covers it (of a service: a call that is no read). */
  requires_approval: z.boolean(),
  auth: z.strictObject({
    type: z.enum(['none', 'secret', 'oauth2']),
    /** The service is connected and its credentials are there. */
    connected: z.boolean(),
  }),
});
export type SearchRow = z.infer<typeof searchRow>;

export const searchReply = z.strictObject({ items: z.array(searchRow).max(searchLimits.max) });
export type SearchReply = z.infer<typeof searchReply>;

export const searchQuery = z.strictObject({
  /** Words of what is wanted; without any, the services are listed. */
  q: z.string().max(200).optional(),
  limit: z.coerce.number().int().min(1).max(searchLimits.max).optional(),
  /** `true`: also templates that are not connected, after those that are. */
  catalog: z.enum(['true', 'false']).optional(),
});

export const searchRoutes = defineRoutes({
  search: {
    method: 'GET',
    path: '/v1/search',
    summary: 'Find actions by what they do',
    tag: 'Services',
    access: 'actions:read',
    query: searchQuery,
    responses: { 200: searchReply },
    errors: [],
    audit: 'none',
  },
});
