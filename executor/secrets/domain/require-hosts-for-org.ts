import type { Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';

/**
 * Throws when an org's secret has no hosts. Everyone in the org can use the secret, so it must be
 * limited to hosts (docs/reference/credentials.md#where-a-credential-may-go).
 */
export function requireHostsForOrg(tier: Tier, hosts: readonly string[]): void {
  if (tier === 'user' || hosts.length > 0) return;
  throw new AppError(
    'host_not_allowed',
    'Give the hosts that this secret of the org may go to (allowed_hosts).',
  );
}
