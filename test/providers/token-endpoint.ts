import { createHash } from 'node:crypto';

import type { TokenKind } from './facts.ts';
import { issueTokens } from './provider.ts';
import type { Grant, Provider } from './provider.ts';
import type { EngineAnswer, EngineRequest } from './engine.ts';

type Fields = Readonly<Record<string, string>>;

/**
 * A refusal by the token endpoint. `isCodeRefused` is true if the code was refused. Some providers
 * answer that with a body of their own.
 */
class Refused extends Error {
  readonly error: string;
  readonly isCodeRefused: boolean;
  constructor(error: string, why: string, isCodeRefused = false) {
    super(why);
    this.error = error;
    this.isCodeRefused = isCodeRefused;
  }
}

/** Answers a token request (RFC 6749 §4.1.3, §6) according to the provider's facts file. */
export function answerTokenRequest(provider: Provider, request: EngineRequest): EngineAnswer {
  const { token_error: refusal } = provider.facts;
  try {
    const fields = readFields(provider, request);
    authenticate(provider, { request, fields });
    const isForRefresh = isSentTo(provider.facts.token_answer.refresh_url, request);
    const body =
      isForRefresh || fields['grant_type'] === 'refresh_token'
        ? refreshTokens(provider, request, fields)
        : redeemCode(provider, fields);
    return writeAnswer(provider, request, { status: 200, body });
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    provider.refusals.push(`token: ${error.message}`);
    const usualBody = { error: error.error, error_description: error.message };
    const body = error.isCodeRefused ? (refusal.body ?? usualBody) : usualBody;
    return writeAnswer(provider, request, { status: refusal.status, body });
  }
}

/**
 * Reads the parameters of a request. Throws unless the body has one of the formats that the
 * provider accepts.
 */
function readFields({ facts }: Provider, { headers, body }: EngineRequest): Fields {
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  const forms = facts.token_request ?? ['form'];
  if (type === 'application/json' && forms.includes('json')) return JSON.parse(body) as Fields;
  if (type === 'application/x-www-form-urlencoded' && forms.includes('form')) {
    return Object.fromEntries(new URLSearchParams(body));
  }
  throw new Refused('invalid_request', `the body must be ${forms.join(' or ')}, not ${type}`);
}

/** Authenticates the client (RFC 6749 §2.3.1) in one of the ways that the provider accepts. */
export function authenticate(
  { app, facts }: Provider,
  {
    request: { headers },
    fields,
    ways = facts.client_authentication,
  }: { request: EngineRequest; fields: Fields; ways?: readonly ('basic' | 'body')[] },
): void {
  const { authorization } = headers;
  const isSecretInBody = fields['client_secret'] !== undefined;
  if (isSecretInBody && authorization !== undefined) {
    throw new Refused('invalid_request', 'the client authenticates twice');
  }
  const method = isSecretInBody ? 'body' : 'basic';
  if (!ways.includes(method)) {
    throw new Refused('invalid_client', `the client must not authenticate by ${method}`);
  }
  const [, encodedPair = ''] = /^Basic (.+)$/.exec(authorization ?? '') ?? [];
  const basicCredentials = Buffer.from(encodedPair, 'base64')
    .toString()
    .split(':')
    .map(decodeURIComponent);
  const [id, secret] = isSecretInBody
    ? [fields['client_id'], fields['client_secret']]
    : basicCredentials;
  if (app === null || id !== app.clientId || secret !== app.clientSecret) {
    throw new Refused('invalid_client', 'wrong client or secret');
  }
}

function redeemCode(provider: Provider, fields: Fields): object {
  if (fields['grant_type'] !== 'authorization_code') {
    throw new Refused('unsupported_grant_type', 'grant_type must be authorization_code');
  }
  const { used_code: usedCode } = provider.facts.token_error;
  const grant = provider.codes.get(fields['code'] ?? '');
  if (grant === undefined || grant.isRedeemed) {
    throw new Refused(usedCode, 'unknown or used code', true);
  }
  if (fields['redirect_uri'] !== grant.redirectUri) {
    throw new Refused(usedCode, 'redirect_uri is another one', true);
  }
  if (grant.challenge !== null) {
    const verifier = createHash('sha256').update(fields['code_verifier'] ?? '');
    if (verifier.digest('base64url') !== grant.challenge) {
      throw new Refused(usedCode, 'code_verifier does not fit the challenge', true);
    }
  }
  grant.isRedeemed = true;
  const { token_parameters: needed } = provider.facts.refresh_needs;
  grant.isLasting &&= Object.entries(needed).every(([name, value]) => fields[name] === value);
  const kinds = Object.keys(grant.scopes) as TokenKind[];
  return kinds.reduce<object>(
    (body, kind) => withTokens(body, provider, { grant, kind, isFirst: true }),
    provider.facts.token_answer.others,
  );
}

function refreshTokens(provider: Provider, request: EngineRequest, fields: Fields): object {
  const { token_answer: answer, token_error: refusal } = provider.facts;
  if (answer.refresh_url !== undefined && !isSentTo(answer.refresh_url, request)) {
    throw new Refused('invalid_request', `refreshes go to ${answer.refresh_url}`);
  }
  const issuedToken = provider.refreshTokens.get(fields['refresh_token'] ?? '');
  if (issuedToken === undefined) {
    throw new Refused(refusal.used_refresh_token, 'unknown or used refresh token');
  }
  return withTokens(answer.others, provider, { ...issuedToken, isFirst: false });
}

/**
 * Issues tokens of one kind, and adds them to an answer at the place where this provider has them.
 */
function withTokens(
  body: object,
  provider: Provider,
  { grant, kind, isFirst }: { grant: Grant; kind: TokenKind; isFirst: boolean },
): object {
  const { token_answer: answer, bot: botFacts, granted_scopes_at: userScopesAt } = provider.facts;
  const bot = kind === 'bot' ? botFacts : undefined;
  const keepsRefreshToken = answer.refresh === 'kept';
  const tokens = issueTokens(provider, grant, { kind, keepsRefreshToken });
  const hasRefresh = isFirst || !keepsRefreshToken || answer.repeats_refresh_token;
  const { scope_separator: separator = provider.facts.scope_separator ?? ' ' } = answer;
  const scopes = [
    ...(grant.scopes[kind] ?? []).filter((scope) => !answer.never_named.includes(scope)),
    ...answer.always_granted,
  ].map((scope) => answer.reported_as[scope] ?? scope);
  const scopesAt = bot === undefined ? userScopesAt : bot.granted_scopes_at;
  // At providers where a parameter of the token request asks for a refresh token, only tokens that
  // can be refreshed expire.
  const mayAskForRefreshToken =
    Object.keys(provider.facts.refresh_needs.token_parameters).length > 0;
  const hasExpiry = grant.isLasting || !mayAskForRefreshToken;
  const members = {
    access_token: tokens.access,
    token_type: bot?.token_type ?? answer.token_type,
    ...(hasExpiry && { expires_in: answer.expires_in }),
    ...(tokens.refresh !== null && hasRefresh && { refresh_token: tokens.refresh }),
    ...(scopesAt !== undefined && {
      [scopesAt.split('.').at(-1) ?? '']:
        answer.scopes_as === 'list' ? scopes : scopes.join(separator),
    }),
    ...(answer.id_token && scopes.includes('openid') && { id_token: createIdToken(provider) }),
    ...bot?.others,
  };
  const containerName = bot === undefined ? answer.at : undefined;
  if (containerName === undefined) return { ...body, ...members };
  const container = (body as Record<string, object>)[containerName];
  return { ...body, [containerName]: { ...container, ...members } };
}

/** An ID token without a signature. The product reads no ID tokens. */
function createIdToken({ app }: Provider): string {
  const parts = [{ alg: 'none' }, { aud: app?.clientId, email: 'ann@example.com' }, ''];
  return parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
}

/** Writes an answer in the format that the provider uses. */
function writeAnswer(
  { facts }: Provider,
  { headers }: EngineRequest,
  { status, body }: { status: number; body: object },
): EngineAnswer {
  const isForm =
    facts.token_answer.form === 'form' && !headers.accept?.includes('application/json');
  if (!isForm) return { status, body };
  const fields = JSON.parse(JSON.stringify(body)) as Fields;
  return { status, body: new URLSearchParams(fields) };
}

const isSentTo = (address: string | undefined, { url }: EngineRequest) => address === url.href;
