import { ConfigError } from '#config';
import { openEgress, ownAddressesOf, parseEgressAllow } from '#egress';
import type { Egress } from '#egress';
import type { AuthConfig } from './config.ts';

/**
 * The guarded HTTP client for addresses that admins and OAuth clients choose: those of sign-in
 * providers and of client metadata documents.
 */
export function openAuthEgress(config: AuthConfig): Egress {
  const { EGRESS_ALLOW, EGRESS_PROXY, EGRESS_CA_FILE } = config;
  try {
    return openEgress({
      allow: parseEgressAllow(EGRESS_ALLOW),
      proxy: EGRESS_PROXY,
      caFile: EGRESS_CA_FILE,
      ownAddresses: ownAddressesOf(config),
    });
  } catch (error) {
    throw new ConfigError(error instanceof Error ? error.message : 'EGRESS_ALLOW is not valid.');
  }
}
