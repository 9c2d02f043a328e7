import { ConfigError } from '#config';
import { parseEgressAllow } from './allow.ts';
import type { EgressOptions } from './client.ts';
import { ownAddressesOf } from './own.ts';
import type { OwnSettings } from './own.ts';
import { parseProxy } from './proxy.ts';

/** The settings of all components that send requests to addresses which users choose. */
export interface EgressSettings extends OwnSettings {
  readonly EGRESS_ALLOW: string;
  readonly EGRESS_PROXY_RESOLVES: 'on' | 'off';
  readonly EGRESS_CA_FILE?: string | undefined;
}

/** Reads the options of `openEgress` from the settings. Throws a `ConfigError`. */
export function readEgressSettings(
  settings: EgressSettings,
): Required<Pick<EgressOptions, 'allow' | 'proxy' | 'caFile' | 'ownAddresses'>> {
  const resolvesNames = settings.EGRESS_PROXY_RESOLVES === 'on';
  if (resolvesNames && settings.EGRESS_PROXY === undefined) {
    throw new ConfigError('EGRESS_PROXY_RESOLVES is on without an EGRESS_PROXY. Set both.');
  }
  return {
    allow: parseEgressAllow(settings.EGRESS_ALLOW),
    proxy: settings.EGRESS_PROXY ? parseProxy(settings.EGRESS_PROXY, { resolvesNames }) : undefined,
    caFile: settings.EGRESS_CA_FILE,
    ownAddresses: ownAddressesOf(settings),
  };
}
