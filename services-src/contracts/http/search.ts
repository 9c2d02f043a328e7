import { z } from 'zod';

import { json, nameReference, risk } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';
import { nextRequest } from './next.ts';

/**
 * The default and the largest number of rows in an answer. The best rows get schemas while the
 * answer has at most `answerBytes` bytes of JSON.
 */
export const searchLimits = { default: 10, max: 50, answerBytes: 8_192 } as const;

/**
 * One action of one connected service. An empty query lists services instead, and `action` and
 * `risk` are null in those rows.
 */
export const searchRow = z.strictObject({
  /**
   * The name to call the service by (`github`, or `org/github` where the caller's own service has
   * the name `github`); null when no service is connected.
   */
  service: z.string().max(67).nullable(),
  template: z.string().max(63),
  action: z.string().max(128).nullable(),
  description: z.string().max(2000),
  risk: risk.nullable(),
  /** From 0 to 1, where 1 is the best match. */
  score: z.number().min(0).max(1),
  /**
   * JSON Schema of `params`, for the best rows, as far as all rows fit into 8 KB. The schema of an
   * action that was asked for by name is cut at its deepest levels until it fits.
   */
  params_schema: z.record(z.string(), json).optional(),
  /** The names of the params, where the schema did not fit or was cut. */
  params: z.array(z.string().max(200)).max(50).optional(),
  /**
   * Whether a call by this caller waits for an approval unless an allow rule covers it. In the row
   * of a service, this is about calls that are not reads.
   */
  requires_approval: z.boolean(),
  /** Why the action is off in this service; absent when it can be called. */
  disabled: z.string().max(4000).optional(),
  auth: z.strictObject({
    type: z.enum(['none', 'secret', 'oauth2']),
    /** Whether the service is connected and has its credentials. */
    connected: z.boolean(),
  }),
});
export type SearchRow = z.infer<typeof searchRow>;

export const searchReply = z.strictObject({ items: z.array(searchRow).max(searchLimits.max) });
export type SearchReply = z.infer<typeof searchReply>;

/**
 * The answer to REST clients. When it has no rows and `catalog` was not set, `next` says how to
 * search the catalogue.
 */
export const searchAnswer = searchReply.extend({ next: nextRequest.optional() });

export const searchQuery = z.strictObject({
  /** Words to search for; without any word, the services are listed. */
  q: z.string().max(200).optional(),
  limit: z.coerce.number().int().min(1).max(searchLimits.max).optional(),
  /** Only actions of the connected service with this name. */
  service: nameReference.optional(),
  /** Only this action of `service`. */
  action: z.string().min(1).max(128).optional(),
  /** `true`: also lists templates that are not connected, after the connected services. */
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
    responses: { 200: searchAnswer },
    serves: 'registry.search',
    audit: 'none',
  },
});
