import { z } from 'zod';

import { json } from '../vocabulary.ts';

/**
 * The request that leads on from an answer, as the caller can send it
 * (docs/reference/calling.md#next).
 */
export const nextRequest = z.strictObject({
  method: z.enum(['GET', 'POST']),
  /** The path with its query, on the gateway's own address. */
  path: z.string(),
  body: z.record(z.string(), json).optional(),
  /** What to do besides, such as what to show to the user. */
  say: z.string().optional(),
});
export type NextRequest = z.infer<typeof nextRequest>;
