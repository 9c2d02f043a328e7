import { ConfigError, deriveBaseUrl } from '#config';
import { describeSite } from './authentication/domain/site.ts';
import type { Site } from './authentication/domain/site.ts';
import { createProxyCheck } from './limits/limit-connections.ts';

interface SiteSettings {
  readonly BASE_URL?: string | undefined;
  readonly HOST: string;
  readonly PORT: number;
}

/** Returns the gateway's own address. Throws a `ConfigError` that names the wrong setting. */
export function readSite(settings: SiteSettings): Site {
  const site = describeSite(deriveBaseUrl(settings), settings.PORT);
  if (!('problem' in site)) return site;
  if (settings.BASE_URL !== undefined) throw new ConfigError(site.problem);
  throw new ConfigError(
    `HOST is ${JSON.stringify(settings.HOST)}, which is not on loopback, and BASE_URL is not set. ` +
      'Set BASE_URL to the https address that people use. If another program uses the variable HOST, as conda does, set HOST=127.0.0.1 for the gateway.',
  );
}

/** Returns the entries of TRUSTED_PROXIES. Throws a `ConfigError` if one cannot be read. */
export function readTrustedProxies(setting: string): string[] {
  const proxies = setting.split(',').flatMap((each) => each.trim() || []);
  try {
    createProxyCheck(proxies);
  } catch {
    throw new ConfigError(
      `TRUSTED_PROXIES must be a comma list of addresses and CIDRs (it is ${JSON.stringify(setting)}).`,
    );
  }
  return proxies;
}
