import type { OauthApp } from '#contracts/http/oauth-apps';
import type { OauthProvider } from '#contracts/oauth-provider';
import type { StoredOauthApp } from '../repository/oauth-app.ts';
import type { ProviderApps } from './provider-apps.ts';

interface AppView {
  readonly provider: OauthProvider;
  readonly stored: StoredOauthApp | null;
}

/** What an org is known as at a provider; the client secret stays where it is. */
export function presentApp(apps: ProviderApps, { provider, stored }: AppView): OauthApp {
  const fixed = stored === null ? apps.ofEnvironment(provider.key) : undefined;
  const definition = stored?.definition ?? null;
  return {
    provider: provider.key,
    title: provider.title,
    source: stored === null ? (fixed === undefined ? 'none' : 'environment') : 'org',
    client_id: stored?.clientId ?? fixed?.clientId ?? null,
    has_client_secret:
      stored === null ? (fixed?.clientSecret ?? null) !== null : stored.sealedSecret !== null,
    redirect_uri: apps.redirectUriOf(provider.key),
    app_page: provider.app_page ?? null,
    variables: stored?.variables ?? {},
    definition: definition && {
      title: definition.title,
      issuer: definition.issuer ?? null,
      authorization_url: definition.authorization_url,
      token_url: definition.token_url,
      revocation_url: definition.revocation?.url ?? null,
      hosts: definition.hosts,
    },
    updated_at: stored?.updatedAt.toISOString() ?? null,
  };
}
