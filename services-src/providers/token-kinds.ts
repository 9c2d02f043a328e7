import type { TokenActor, OauthProvider } from '#contracts/oauth-provider';
import { scopeRowOf } from './load.ts';

/**
 * The provider as it gives out tokens of this kind: to some, such as Slack, the tokens of a person
 * and of a bot are asked for and answered in different places.
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

/** The header in which a provider takes access tokens, and what goes before the token. */
export function tokenHeaderOf(provider: string): { name: string; prefix: string } {
  const name = scopeRowOf(provider)?.token_header;
  return name === undefined ? { name: 'Authorization', prefix: 'Bearer ' } : { name, prefix: '' };
}

/** Whether two credentials are of one kind; tokens are a person's unless something else is said. */
export function isSameKind(
  left: TokenActor | null | undefined,
  right: TokenActor | null | undefined,
) {
  return (left ?? 'user') === (right ?? 'user');
}
