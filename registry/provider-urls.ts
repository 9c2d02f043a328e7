import { builtInProviders, isProviderUrl } from '#providers';

/**
 * The address that a provider of ours has in the place of this one; undefined where this is its own,
 * or nothing is known of the provider.
 */
export function findOtherProviderUrl(
  provider: string,
  kind: 'authorization_url' | 'token_url',
  url: string,
): string | undefined {
  const known = builtInProviders().get(provider);
  if (known === undefined || isProviderUrl(known, known[kind], url)) return undefined;
  return known[kind];
}
