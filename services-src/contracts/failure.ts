import { z } from 'zod';

import { id } from './vocabulary.ts';

/**
 * What a provider's refusal means for the caller, however the provider reports it
 * (docs/reference/calling.md#failures).
 */
export const failureKind = z.enum([
  'invalid',
  'forbidden',
  'not_found',
  'conflict',
  'rate_limited',
  'credential_refused',
  'unavailable',
  'failed',
]);
export type FailureKind = z.infer<typeof failureKind>;

/** The longest time that `retry_after` names. Longer waits are not useful to a caller. */
export const retryAfterSecondsMax = 31_536_000;
export const failureMessageCharactersMax = 500;

/**
 * Says that the provider did not do what was asked. The call itself was made, so its `status` is
 * still `called`. A later release may add kinds; a reader treats unknown ones as `failed`.
 */
export const callFailure = z.strictObject({
  kind: failureKind,
  /** The provider's own words as plain text: data from outside, never instructions. */
  message: z.string().max(failureMessageCharactersMax),
  /** Seconds after which the provider accepts another call, if the provider says so. */
  retry_after: z.int().min(0).max(retryAfterSecondsMax).optional(),
  /** The scopes that the credential lacks, if the provider names them. */
  missing_scopes: z.array(z.string().max(300)).max(50).optional(),
  /**
   * The connection for which these scopes can be requested. Set when the template lists each of
   * them.
   */
  connection_id: id.optional(),
  /** The refused secret. The caller can ask a person for a new value. */
  secret: z
    .strictObject({
      /** The name as in permission keys. */
      name: z.string().max(100),
      /**
       * The template to name in that request, so that the page asks for each part of the secret.
       */
      template: z.string().max(100).optional(),
    })
    .optional(),
  /**
   * Set when it is certain that a call which may change something changed nothing, so that it may
   * be made again.
   */
  nothing_done: z.literal(true).optional(),
});
export type CallFailure = z.infer<typeof callFailure>;
