import { createAccessTokens } from './access-tokens.ts';
import type { AccessTokens, OpenAccessToken } from './access-tokens.ts';
import { createProviderApps } from './provider-apps.ts';
import type { EnvironmentApp, ProviderApps } from './provider-apps.ts';
import { createRefresher } from './refresh.ts';
import type { RefreshDeps, Refresher } from './refresh.ts';

export interface ConnectionDeps {
  /** What orgs are known as at OAuth providers. */
  readonly apps: ProviderApps;
  readonly refresher: Refresher;
  readonly openAccessToken: OpenAccessToken;
  /** The page on which the owner of a connection repairs it. */
  readonly authUrlOf: (connectionId: string) => string;
  /** The page on which the owner goes on to the provider. */
  readonly flowUrlOf: (flowId: string) => string;
}

/** What the use cases of connections are given, and how to drop what is kept for a moment. */
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
  const tokens = createAccessTokens({ ...deps, apps, authUrlOf, refresher });
  return {
    apps,
    refresher,
    openAccessToken: tokens.open,
    forget: tokens.forget,
    authUrlOf,
    flowUrlOf: (flowId) => `${baseUrl}/connect/${flowId}`,
  };
}
