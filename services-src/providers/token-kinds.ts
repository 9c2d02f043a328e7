import type { TokenActor, OauthProvider } from '#contracts/oauth-provider';
import { scopeRowOf } from './load.ts';

/**
 * The provider's row for tokens of this kind. Some providers, such as Slack, use different
 * parameters and members of the answer for a person's token than for a bot's.
 */
export function providerActingAs(
  provider: OauthProvider,
  actsAs: TokenActor | null,
): OauthProvider {
  const kind = actsAs === null ? undefined : provider.token_kinds?.[actsAs];
  if (kind === undefined) return provider;
  const { scope_parameter, token_answer, account } = kind;
  return {
    ...provider,
    ...(scope_parameter === undefined ? {} : { scope_parameter }),
    ...(token_answer === undefined ? {} : { token_answer }),
    ...(account === undefined ? {} : { account }),
  };
}

/** The header in which a provider takes access tokens, and the text before the token. */
export function tokenHeaderOf(provider: string): { name: string; prefix: string } {
  const name = scopeRowOf(provider)?.token_header;
  return name === undefined ? { name: 'Authorization', prefix: 'Bearer ' } : { name, prefix: '' };
}

/** Whether two credentials are of the same kind. A token without a stated kind is a person's. */
export function isSameKind(
  left: TokenActor | null | undefined,
  right: TokenActor | null | undefined,
) {
  return (left ?? 'user') === (right ?? 'user');
}
