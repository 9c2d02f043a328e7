import { z } from 'zod';

import { id } from './vocabulary.ts';

/**
 * What a provider's refusal means for the caller, whatever way the provider has of saying it
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

/** The longest time that `retry_after` names; a provider that says more is not worth waiting for. */
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
  /** Seconds after which the provider is ready for another call, where it says so. */
  retry_after: z.int().min(0).max(retryAfterSecondsMax).optional(),
  /** The scopes that the credential lacks, where the provider names them. */
  missing_scopes: z.array(z.string().max(300)).max(50).optional(),
  /** The connection for which these scopes can be asked, where the template lists each of them. */
  connection_id: id.optional(),
  /** The refused secret, for a new value of which the caller can ask a person. */
  secret: z
    .strictObject({
      /** The name as in permission keys. */
      name: z.string().max(100),
      /** The template that a request has to name, so that its page asks for each part. */
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
