import type { OauthProvider } from '#contracts/oauth-provider';
import { isProviderUrl } from './fill.ts';
import { builtInProviders } from './load.ts';

/** The built-in provider at whose address, or at least host, people would sign in. */
export function findProviderAt(authorizationUrl: string): OauthProvider | undefined {
  const rows = [...builtInProviders().values()];
  const exact = rows.find((row) => isProviderUrl(row, row.authorization_url, authorizationUrl));
  if (exact !== undefined) return exact;
  const host = URL.parse(authorizationUrl)?.host;
  // A host with a variable in it parses as none that could be asked for.
  return rows.find((row) => host !== undefined && URL.parse(row.authorization_url)?.host === host);
}

/** Whether a template that names a provider names its addresses too; true of those that are not built in. */
export function hasProviderUrls(
  key: string,
  urls: { readonly authorizationUrl: string; readonly tokenUrl: string },
): boolean {
  const row = builtInProviders().get(key);
  return (
    row === undefined ||
    (isProviderUrl(row, row.authorization_url, urls.authorizationUrl) &&
      isProviderUrl(row, row.token_url, urls.tokenUrl))
  );
}
