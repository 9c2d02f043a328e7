import { createAccessTokens } from './open-access-token.ts';
import type { AccessTokens, OpenAccessToken } from './open-access-token.ts';
import { createProviderApps } from '../providers/provider-apps.ts';
import type { EnvironmentApp, ProviderApps } from '../providers/provider-apps.ts';
import { createRefresher } from './refresh-tokens.ts';
import type { RefreshDeps, Refresher } from './refresh-tokens.ts';

export interface ConnectionDeps {
  /** Finds the OAuth app of an org at a provider. */
  readonly apps: ProviderApps;
  readonly refresher: Refresher;
  readonly openAccessToken: OpenAccessToken;
  /** The URL of the page on which the owner of a connection repairs it. */
  readonly authUrlOf: (connectionId: string) => string;
  /** The URL of the page from which the owner goes on to the provider. */
  readonly flowUrlOf: (flowId: string) => string;
}

/**
 * Builds the dependencies of the connection use cases. `forget` drops everything that these
 * dependencies cache.
 */
export function openConnections({
  baseUrl,
  ofEnvironment,
  ...deps
}: Pick<RefreshDeps, 'db' | 'egress' | 'vault' | 'logger'> & {
  baseUrl: string;
  ofEnvironment: ReadonlyMap<string, EnvironmentApp>;
}): ConnectionDeps & Pick<AccessTokens, 'forget'> {
  const { db, vault } = deps;
  const apps = createProviderApps({ db, vault, baseUrl, ofEnvironment });
  const authUrlOf = (connectionId: string) => `${baseUrl}/connect/repair/${connectionId}`;
  const refresher = createRefresher({ ...deps, apps, authUrlOf });
  const accessTokens = createAccessTokens({ ...deps, apps, authUrlOf, refresher });
  return {
    apps,
    refresher,
    openAccessToken: accessTokens.open,
    forget: accessTokens.forget,
    authUrlOf,
    flowUrlOf: (flowId) => `${baseUrl}/connect/${flowId}`,
  };
}
