import type { Client } from '#bus';
import type { Contract } from '#contracts/define';
import { AppError } from '#errors';

/**
 * A client of a component that reads principals. Auth has just vouched for the caller, so a component
 * that finds the principal expired has read the request too late, for example because its process
 * stood still: that is no failure of the caller's credential, which it would go and renew in vain.
 * Nothing was done, as a component looks at the principal first.
 */
export function retryableWhenExpired<C extends Contract>(client: Client<C>): Client<C> {
  type Method = (...given: unknown[]) => Promise<unknown>;
  const methods = Object.entries<Method>(client as Record<string, Method>).map(([name, ask]) => [
    name,
    (...given: unknown[]) => ask(...given).catch(excuse),
  ]);
  return Object.fromEntries(methods) as Client<C>;
}

function excuse(thrown: unknown): never {
  const error = AppError.from(thrown);
  if (error.code !== 'unauthenticated') throw error;
  throw new AppError(
    'unavailable',
    'The request was held up on its way, and nothing was done; try again shortly.',
    { cause: error, details: { lost: false } },
  );
}
