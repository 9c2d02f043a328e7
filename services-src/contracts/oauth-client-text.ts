import { z } from 'zod';

/**
 * The id or the secret of an OAuth client that somebody registered at a provider (RFC 6749, appendix
 * A.1 and A.2), without the blanks that are pasted with it.
 */
export const oauthClientText = z
  .string()
  .min(1)
  .regex(
    /^(?! )[\x20-\x7e]*(?<! )$/,
    'must be printable ASCII, and must not begin or end with a blank: check what was pasted',
  );
