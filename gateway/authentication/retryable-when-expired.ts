import type { Client } from '#bus';
import type { Contract } from '#contracts/define';
import { AppError } from '#errors';

/**
 * Wraps the client of a component so that an expired principal becomes a retryable error. Auth
 * issued the principal only moments ago, so its expiry means that the component read the request
 * too late, for example because its process was suspended. The error `unauthenticated` would make
 * the caller renew a valid credential. A retry is safe, because components verify the principal
 * before they do anything else.
 */
export function makeExpiryRetryable<C extends Contract>(client: Client<C>): Client<C> {
  type Method = (...given: unknown[]) => Promise<unknown>;
  const methods = Object.entries<Method>(client as Record<string, Method>).map(([name, ask]) => [
    name,
    (...given: unknown[]) => ask(...given).catch(rethrowExpiredAsRetryable),
  ]);
  return Object.fromEntries(methods) as Client<C>;
}

function rethrowExpiredAsRetryable(thrown: unknown): never {
  const error = AppError.from(thrown);
  if (error.code !== 'unauthenticated') throw error;
  throw new AppError(
    'unavailable',
    'The request was held up on its way, and nothing was done; try again shortly.',
    { cause: error, details: { lost: false } },
  );
}
