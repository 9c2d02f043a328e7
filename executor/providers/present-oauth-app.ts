import type { OauthApp } from '#contracts/http/oauth-apps';
import type { OauthProvider } from '#contracts/oauth-provider';
import type { StoredOauthApp } from './oauth-app.sql.ts';
import type { ProviderApps } from './provider-apps.ts';

interface AppView {
  readonly provider: OauthProvider;
  readonly stored: StoredOauthApp | null;
}

/** A provider app as the API shows it, without the client secret. */
export function presentOauthApp(apps: ProviderApps, { provider, stored }: AppView): OauthApp {
  const environmentApp = stored === null ? apps.ofEnvironment(provider.key) : undefined;
  const definition = stored?.definition ?? null;
  return {
    provider: provider.key,
    title: provider.title,
    source: stored === null ? (environmentApp === undefined ? 'none' : 'environment') : 'org',
    client_id: stored?.clientId ?? environmentApp?.clientId ?? null,
    has_client_secret:
      stored === null
        ? (environmentApp?.clientSecret ?? null) !== null
        : stored.sealedSecret !== null,
    redirect_uri: apps.redirectUriOf(provider.key),
    app_page: provider.app_page ?? null,
    steps: [...(provider.steps ?? [])],
    needs_client_secret: provider.client_authentication !== 'none',
    needed_variables: Object.entries(provider.variables).map(([name, each]) => ({
      name,
      description: each.description,
      default: each.default ?? null,
    })),
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
