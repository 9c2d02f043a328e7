import type { Bus } from '#bus';
import { onEvents } from '#events';
import type { CredentialCache } from './credential-cache.ts';

/** Every replica drops what it keeps as soon as any of them has changed something. */
export function dropCredentialsOnChange(
  bus: Bus,
  credentials: Pick<CredentialCache<object>, 'clear'>,
): Disposable {
  return onEvents(bus, ['evt.auth.>'], () => credentials.clear());
}
