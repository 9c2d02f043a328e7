import type { OauthProvider } from '#contracts/oauth-provider';
import { isProviderUrl } from './fill.ts';
import { loadBuiltInProviders } from './load.ts';

/**
 * Finds the built-in provider with this authorization URL, or otherwise a provider on the URL's
 * host.
 */
export function findProviderAt(authorizationUrl: string): OauthProvider | undefined {
  const rows = [...loadBuiltInProviders().values()];
  const exactProvider = rows.find((row) =>
    isProviderUrl(row, row.authorization_url, authorizationUrl),
  );
  if (exactProvider !== undefined) return exactProvider;
  const host = URL.parse(authorizationUrl)?.host;
  // A host that contains a variable does not parse, and so matches no given URL.
  return rows.find((row) => host !== undefined && URL.parse(row.authorization_url)?.host === host);
}

/**
 * Whether a template that names a built-in provider also uses that provider's URLs; true for other
 * providers.
 */
export function hasProviderUrls(
  key: string,
  urls: { readonly authorizationUrl: string; readonly tokenUrl: string },
): boolean {
  const row = loadBuiltInProviders().get(key);
  return (
    row === undefined ||
    (isProviderUrl(row, row.authorization_url, urls.authorizationUrl) &&
      isProviderUrl(row, row.token_url, urls.tokenUrl))
  );
}
