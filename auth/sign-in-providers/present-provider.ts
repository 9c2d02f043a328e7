import type { PublicSignInProvider } from '#contracts/http/sign-in';
import type { Deps } from '../deps.ts';
import type { SignInProvider } from './sign-in-providers.ts';

/** The public form of a provider, without its client secret. */
export function presentProvider(
  { providers }: Pick<Deps, 'providers'>,
  provider: SignInProvider,
): PublicSignInProvider {
  return {
    key: provider.key,
    name: provider.name,
    issuer: provider.issuer,
    client_id: provider.clientId,
    scopes: [...provider.scopes],
    allowed_email_domains: [...provider.allowedEmailDomains],
    allowed_groups: [...provider.allowedGroups],
    has_client_secret: provider.hasClientSecret,
    source: provider.source,
    redirect_uri: providers.redirectUriOf(provider.key),
  };
}
