import type { Bus } from '#bus';
import { onEvents } from '#events';
import type { LookupCache } from '#cache';

/** Empties this replica's cache of credentials when any replica announces a change. */
export function dropCredentialsOnChange(
  bus: Bus,
  credentialCache: Pick<LookupCache<unknown, object>, 'drop'>,
): Disposable {
  return onEvents(bus, ['evt.auth.>'], () => credentialCache.drop());
}
