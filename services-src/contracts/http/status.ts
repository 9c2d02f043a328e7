import { z } from 'zod';

import {
  consumerState,
  durableConsumers,
  outboxState,
  readerState,
  streamState,
  streams,
} from '../events.ts';
import type { DurableConsumerName } from '../events.ts';
import { components } from '../vocabulary.ts';
import { defineRoutes } from './define.ts';

export const status = z.strictObject({
  status: z.enum(['ok', 'degraded']),
  components: z.record(
    z.enum(components),
    z.strictObject({
      /** `busy`: the component answers, but refuses calls because it has no free slot. */
      status: z.enum(['ok', 'busy', 'degraded', 'unavailable']),
      latency_ms: z.number().nullable(),
      /** For components that publish events: the rows that wait. */
      outbox: outboxState.optional(),
      /**
       * For components that read a stream: `behind` or `missing` makes the component
       * `degraded`.
       */
      reading: readerState.optional(),
      /** The number of records that came and that no release has been able to read; at most 1,000. */
      unreadable: z.int().optional(),
    }),
  ),
  /**
   * The state of each stream at the gateway's last check, a few seconds ago at most. A stream or
   * consumer in any state but `ok` makes the whole installation `degraded`.
   */
  streams: z.record(z.enum(streams), streamState),
  consumers: z.record(
    z.enum(Object.keys(durableConsumers) as DurableConsumerName[]),
    consumerState,
  ),
});

export const health = z.strictObject({ status: z.literal('ok') });
export const notReady = z.strictObject({
  status: z.literal('unavailable'),
  /** The names of the checks that fail. */
  failing: z.array(z.string().max(50)).max(20),
});

export const statusRoutes = defineRoutes({
  getStatus: {
    method: 'GET',
    path: '/v1/status',
    summary: 'Each component and its state',
    tag: 'Status',
    access: 'any',
    responses: { 200: status },
    serves: [
      'auth.ping',
      'registry.ping',
      'policy.ping',
      'executor.ping',
      'approvals.ping',
      'notifier.ping',
      'audit.ping',
    ],
    audit: 'none',
  },
  getLive: {
    method: 'GET',
    path: '/health/live',
    summary: 'The process runs',
    tag: 'Status',
    access: 'public',
    responses: { 200: health },
    serves: 'none',
    audit: 'none',
  },
  getReady: {
    method: 'GET',
    path: '/health/ready',
    summary: 'Calls would work: all that they pass through answers',
    tag: 'Status',
    access: 'public',
    responses: { 200: health, 503: notReady },
    serves: 'none',
    audit: 'none',
  },
});
