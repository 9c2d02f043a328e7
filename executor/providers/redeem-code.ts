import type { Egress } from '#egress';
import { AppError } from '#errors';
import type { Logger } from '#telemetry';
import type { Account } from './look-up-account.ts';
import type { ProviderApp } from './provider-apps.ts';
import { requestTokens } from './request-tokens.ts';
import { revokeAtProvider } from './revoke-at-provider.ts';
import type { GrantedTokens } from './domain/token-answer.ts';

interface Deps {
  readonly egress: Egress;
  readonly logger: Logger;
}

/** Exchanges an authorization code for tokens (RFC 6749 §4.1.3, RFC 7636 §4.5). */
export async function redeemCode(
  deps: Deps,
  app: ProviderApp,
  { code, verifier, redirectUri }: { code: string; verifier: string | null; redirectUri: string },
): Promise<{ tokens: GrantedTokens; body: unknown }> {
  const answer = await requestTokens(deps, app, {
    url: app.provider.token_url,
    parameters: {
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      ...(verifier === null ? {} : { code_verifier: verifier }),
    },
  });
  if (answer.kind === 'granted') return answer;
  const reason = answer.kind === 'refused' ? answer.error : answer.problem;
  throw new AppError(
    'upstream_incomplete',
    `${app.provider.title} gave no access token (${reason}). Try again; if it happens again, an admin should check how the provider is set up here.`,
  );
}

interface ConnectedAccount {
  readonly id: string;
  readonly accountId: string | null;
  readonly accountLabel: string | null;
}

/**
 * Refuses a different account when a connection is repaired, because services act for the account
 * that was connected first.
 */
export async function checkSameAccount(
  deps: Deps,
  app: ProviderApp,
  {
    connection,
    account,
    tokens,
  }: { connection: ConnectedAccount; account: Account | null; tokens: GrantedTokens },
): Promise<void> {
  const { accountId, accountLabel } = connection;
  if (accountId === null || accountId === account?.id || accountId === account?.idBefore) return;
  await revokeAtProvider(deps, app, tokens).catch((error: unknown) =>
    deps.logger.warn({ err: error, connectionId: connection.id }, 'not revoked at the provider'),
  );
  throw new AppError(
    'conflict',
    account === null
      ? `${app.provider.title} did not say whose account this is, so it was not put in the place of ${accountLabel}; try again.`
      : `You were signed in at ${app.provider.title} as ${account.label}, but this connection is for ${accountLabel}. Sign in there as ${accountLabel}, or make another connection under another name.`,
  );
}
