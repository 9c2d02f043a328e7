import { z } from 'zod';

/**
 * A template as agents name it when they ask for something. Capital letters make no difference; for
 * any other wrong spelling, a title included, the error `not_found` suggests the key.
 */
export const wantedTemplate = z
  .string()
  .min(1)
  .max(63)
  .regex(/^\P{Cc}*$/u, 'must be one line of plain text');
