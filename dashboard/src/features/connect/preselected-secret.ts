import type { Secret } from '#contracts/http/secrets';
import { findNewHosts, hostsOfSecret, isRefused } from './connect-view.ts';
import type { NeededSecret } from './connect-view.ts';

/**
 * The stored secret that the form preselects. It has the name that the template suggests, may
 * already be sent to every host, and was not refused by the provider. Any other secret is used only
 * if the person clicks it, because it may be meant for something else and would be sent to this
 * service.
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
