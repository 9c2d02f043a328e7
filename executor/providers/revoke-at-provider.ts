import type { Egress } from '#egress';
import type { ProviderApp } from './provider-apps.ts';
import { authenticateClient, writeBody } from './request-tokens.ts';
import type { GrantedTokens } from './domain/token-answer.ts';

const timeoutMs = 6_000;

/**
 * Asks the provider to revoke a grant, by RFC 7009 or in the way that the provider's definition
 * names. Does nothing for a provider without revocation.
 */
export async function revokeAtProvider(
  { egress }: { egress: Egress },
  app: ProviderApp,
  { accessToken, refreshToken }: Pick<GrantedTokens, 'accessToken' | 'refreshToken'>,
): Promise<void> {
  const { revocation } = app.provider;
  if (revocation === undefined) return;
  const { url, method, style, field } = revocation;
  const token = revocation.token === 'refresh_token' ? (refreshToken ?? accessToken) : accessToken;
  if (style === 'bearer') {
    const headers: [string, string][] = [['authorization', `Bearer ${accessToken}`]];
    await egress.request({ method, url, headers, totalTimeoutMs: timeoutMs });
    return;
  }
  const client = await authenticateClient(
    app,
    style === 'json' ? 'client_secret_basic' : undefined,
  );
  const fields = { [field]: token, ...client.fields };
  const { body, contentType } = writeBody(style === 'json' ? 'json' : 'form', fields);
  const { status } = await egress.request({
    method,
    url,
    headers: [...client.headers, ['accept', 'application/json'], ['content-type', contentType]],
    body,
    totalTimeoutMs: timeoutMs,
  });
  if (status >= 400) throw new Error(`the provider answered with status ${status}`);
}
