import { z } from 'zod';

import { errorCodes } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import { json } from '../vocabulary.ts';
import { nextRequest } from './next.ts';

/**
 * The body of every error. `message` says what to do; further members depend on the code
 * (docs/reference/errors.md#codes).
 */
export const errorEnvelope = z
  .object({
    error: z.enum(Object.keys(errorCodes) as [ErrorCode, ...ErrorCode[]]),
    message: z.string(),
    request_id: z.string(),
    next: nextRequest.optional(),
  })
  .catchall(json);
export type ErrorEnvelope = z.infer<typeof errorEnvelope>;
