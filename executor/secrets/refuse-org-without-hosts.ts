import type { Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';

/**
 * Everybody in the org can use its secrets, so each names its hosts
 * (docs/reference/credentials.md#where-a-credential-may-go).
 */
export function refuseOrgWithoutHosts(tier: Tier, hosts: readonly string[]): void {
  if (tier === 'user' || hosts.length > 0) return;
  throw new AppError(
    'host_not_allowed',
    'Give the hosts that this secret of the org may go to (allowed_hosts).',
  );
}
