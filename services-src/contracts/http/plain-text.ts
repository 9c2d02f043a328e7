import { z } from 'zod';

/** Plain text for people, without control characters. */
export const plainText = z
  .string()
  .trim()
  .min(1)
  .max(300)
  .regex(/^\P{Cc}*$/u, 'must be one line of plain text');
