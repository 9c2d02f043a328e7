import { z } from 'zod';

import { readerState } from '../events.ts';
import { components } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';

export const status = z.strictObject({
  status: z.enum(['ok', 'degraded']),
  components: z.record(
    z.enum(components),
    z.strictObject({
      /** `busy`: it answers, and refuses calls because it has no room for more. */
      status: z.enum(['ok', 'busy', 'degraded', 'unavailable']),
      latency_ms: z.number().nullable(),
      /** Of components that read the event stream: `behind` or `missing` makes them `degraded`. */
      reading: readerState.optional(),
    }),
  ),
});

export const health = z.strictObject({ status: z.enum(['ok', 'unavailable']) });

export const statusRoutes = defineRoutes({
  getStatus: {
    method: 'GET',
    path: '/v1/status',
    summary: 'Each component and its state',
    tag: 'Status',
    access: 'any',
    responses: { 200: status },
    errors: [],
    audit: 'none',
  },
  getLive: {
    method: 'GET',
    path: '/health/live',
    summary: 'The process runs',
    tag: 'Status',
    access: 'public',
    responses: { 200: health },
    errors: [],
    audit: 'none',
  },
  getReady: {
    method: 'GET',
    path: '/health/ready',
    summary: 'The gateway can serve: the bus is connected',
    tag: 'Status',
    access: 'public',
    responses: { 200: health, 503: health },
    errors: [],
    audit: 'none',
  },
});
