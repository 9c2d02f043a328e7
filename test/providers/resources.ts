import type { Provider } from './provider.ts';
import { endGrant } from './provider.ts';
import type { EngineAnswer, EngineRequest } from './engine.ts';
import { authenticate } from './token-endpoint.ts';

/**
 * Answers a request that has an access token. The request asks for the account, or is another
 * request to the API.
 */
export function answerWithToken(provider: Provider, request: EngineRequest): EngineAnswer {
  const { facts, accessTokens, calls, refusals } = provider;
  const refuse = (status: number, why: string): EngineAnswer => {
    refusals.push(`${request.method} ${request.url.href}: ${why}`);
    return { status, body: { error: why } };
  };
  const token = tokenOf(provider, request);
  const issuedToken = accessTokens.get(token);
  if (issuedToken === undefined) return refuse(401, 'invalid_token');
  const absentHeader = facts.api.required_headers.find(
    (name) => request.headers[name] === undefined,
  );
  if (absentHeader !== undefined) return refuse(400, `without the header ${absentHeader}`);
  const account = facts.accounts.find(
    ({ method, url }) => method === request.method && isLike(url, request.url),
  );
  if (account === undefined) {
    calls.push(token);
    return { status: 200, body: facts.api.answer };
  }
  const grantedScopes = issuedToken.grant.scopes[issuedToken.kind] ?? [];
  if (account.scopes.length > 0 && !account.scopes.some((scope) => grantedScopes.includes(scope))) {
    return refuse(403, `needs one of the scopes ${account.scopes.join(' ')}`);
  }
  const wrongHeader = Object.entries(account.headers).find(
    ([name, value]) => !request.headers[name]?.toString().split(', ').includes(value),
  );
  if (wrongHeader !== undefined) return refuse(400, `needs ${wrongHeader.join(': ')}`);
  calls.push(token);
  return { status: 200, body: account.answer };
}

/**
 * Answers a revocation request: ends the grant to which the given token belongs. The form of the
 * request depends on the provider.
 */
export function answerRevocation(provider: Provider, request: EngineRequest): EngineAnswer {
  const { accessTokens, refreshTokens, refusals } = provider;
  try {
    const token = revokedToken(provider, request);
    const issuedToken = accessTokens.get(token) ?? refreshTokens.get(token);
    if (issuedToken === undefined) throw new Error('no such token');
    endGrant(provider, issuedToken.grant);
    return { status: 200, body: provider.facts.api.answer };
  } catch (error) {
    refusals.push(`revocation: ${(error as Error).message}`);
    return { status: 400, body: { error: 'invalid_request' } };
  }
}

function revokedToken(provider: Provider, request: EngineRequest): string {
  const { style } = provider.facts.revocation ?? {};
  if (style === 'bearer') return tokenOf(provider, request);
  if (style === 'json') {
    authenticate(provider, { request, fields: {}, ways: ['basic'] });
    const fields = JSON.parse(request.body) as Record<string, string>;
    return fields['token'] ?? fields['access_token'] ?? '';
  }
  const fields = Object.fromEntries(new URLSearchParams(request.body));
  authenticate(provider, { request, fields });
  return fields['token'] ?? '';
}

function tokenOf({ facts }: Provider, { headers }: EngineRequest): string {
  const { token_header: tokenHeader } = facts.api;
  if (tokenHeader !== undefined) return headers[tokenHeader]?.toString() ?? '';
  return /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? '';
}

/**
 * Whether a URL matches a documented URL. In the documented URL, `{…}` stands for one segment of
 * the path.
 */
export function isLike(documented: string, url: URL): boolean {
  const pattern = documented
    .split(/\{\w+\}/)
    .map((part) => RegExp.escape(part))
    .join('[^/?]+');
  return new RegExp(`^${pattern}$`).test(url.origin + url.pathname);
}
