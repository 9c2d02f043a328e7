import type { Bus } from '#bus';
import { onEvents } from '#events';
import type { LookupCache } from '#cache';

/** Every replica drops what it keeps as soon as any of them has changed something. */
export function dropCredentialsOnChange(
  bus: Bus,
  credentials: Pick<LookupCache<unknown, object>, 'drop'>,
): Disposable {
  return onEvents(bus, ['evt.auth.>'], () => credentials.drop());
}
