import type { Secret } from '#contracts/http/secrets';
import { findNewHosts, hostsOfSecret, isRefused } from './connect-view.ts';
import type { NeededSecret } from './connect-view.ts';

/**
 * The stored secret that the form preselects: the one of the name that the template suggests, if it
 * may already go to every host. Any other secret, and one that the provider refused, is used only by
 * a click, because it may be meant for something else and would be sent to this service.
 */
export function findPreselectedSecret(
  fittingSecrets: readonly Secret[],
  { needed, hosts }: { needed: NeededSecret; hosts: readonly string[] },
): Secret | undefined {
  if (hosts.length === 0) return undefined;
  return fittingSecrets.find(
    (secret) =>
      secret.name === needed.default_secret_name &&
      !isRefused(secret) &&
      findNewHosts(secret, hostsOfSecret(needed, hosts)).length === 0,
  );
}
