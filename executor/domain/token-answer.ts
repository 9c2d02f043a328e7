import type { OauthProvider } from '#contracts/oauth-provider';

/** What a provider granted. */
export interface GrantedTokens {
  readonly accessToken: string;
  /** Null: none came along. */
  readonly refreshToken: string | null;
  readonly expiresInSeconds: number | null;
  /** Null: the answer does not say, so it is what was asked for (RFC 6749 §5.1). */
  readonly scopes: string[] | null;
}

export type TokenAnswer =
  | { readonly kind: 'granted'; readonly tokens: GrantedTokens; readonly body: unknown }
  /** `isDead`: of a refresh token, it will never work again. */
  | { readonly kind: 'refused'; readonly error: string; readonly isDead: boolean }
  /** Nothing that settles anything: try again later. */
  | { readonly kind: 'unusable'; readonly problem: string };

type Row = Pick<OauthProvider, 'token_answer' | 'dead_grant_errors'>;

const tokenShape = /^[\x21-\x7e]([\x20-\x7e]{0,16382}[\x21-\x7e])?$/;
const errorShape = /^[\x20-\x7e]{1,100}$/;
const secondsMax = 10 * 365 * 86_400;

/** Reads an answer of a token endpoint as the provider's row says (RFC 6749 §5.1, §5.2). Pure. */
export function readTokenAnswer(
  row: Row,
  { status, text }: { status: number; text: string },
): TokenAnswer {
  const { token_answer: places, dead_grant_errors: deadErrors } = row;
  // Whatever it says: a provider in trouble must not cost anybody a connection.
  if (status >= 500 || status === 429 || status === 408) {
    return { kind: 'unusable', problem: `answered with status ${status}` };
  }
  const body = parseBody(text);
  if (body === undefined)
    return { kind: 'unusable', problem: 'answered with neither JSON nor a form' };
  const refusal = readPlace(body, places.error);
  if (status >= 400 || isText(refusal, errorShape)) {
    const error = [refusal, readPlace(body, 'error')].find((each) => isText(each, errorShape));
    if (error === undefined) {
      return { kind: 'unusable', problem: `answered with status ${status} and no reason` };
    }
    return { kind: 'refused', error, isDead: ['invalid_grant', ...deadErrors].includes(error) };
  }
  const at = places.at === undefined ? body : (readPlace(body, places.at) ?? body);
  const accessToken = readPlace(at, 'access_token');
  if (!isText(accessToken, tokenShape)) {
    return { kind: 'unusable', problem: 'answered without an access token' };
  }
  const refreshToken = readPlace(at, 'refresh_token');
  const tokens = {
    accessToken,
    refreshToken: isText(refreshToken, tokenShape) ? refreshToken : null,
    expiresInSeconds: readSeconds(readPlace(at, 'expires_in')) ?? places.expires_in ?? null,
    scopes: readScopes(readPlace(at, places.scope)),
  };
  return { kind: 'granted', tokens, body };
}

/** JSON, or the form that some providers answer with whatever they were asked for. */
function parseBody(text: string): object | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined;
  } catch {
    const form = new URLSearchParams(text);
    const isForm = form.has('access_token') || form.has('error');
    return isForm ? Object.fromEntries(form) : undefined;
  }
}

/** The member that `place` names, dots between the levels; own members alone. */
export function readPlace(value: unknown, place: string): unknown {
  return place.split('.').reduce<unknown>((at, name) => {
    const has = typeof at === 'object' && at !== null && Object.hasOwn(at, name);
    return has ? (at as Record<string, unknown>)[name] : undefined;
  }, value);
}

function isText(value: unknown, shape: RegExp): value is string {
  return typeof value === 'string' && shape.test(value);
}

/** A number, or one written as text; an end that is no end is none. */
function readSeconds(value: unknown): number | null {
  const seconds = typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : value;
  if (typeof seconds !== 'number' || !Number.isFinite(seconds) || seconds <= 0) return null;
  return Math.min(Math.floor(seconds), secondsMax);
}

/** Space-separated as the RFC has it, comma-separated, or a list. */
function readScopes(value: unknown): string[] | null {
  const parts = typeof value === 'string' ? value.split(/[\s,]+/) : value;
  if (!Array.isArray(parts)) return null;
  const scopes = parts.filter((each) => isText(each, /^[\x21-\x7e]{1,300}$/));
  return scopes.length === 0 ? null : [...new Set<string>(scopes)].slice(0, 200);
}

/** The further host that an answer names for its account, when it is one of the provider's. */
export function hostsOfAnswer(
  { host_of_answer: place }: Pick<OauthProvider, 'host_of_answer'>,
  body: unknown,
): string[] {
  const named = place && readPlace(body, place.at);
  if (place === undefined || typeof named !== 'string') return [];
  const url = URL.parse(named.includes('://') ? named : `https://${named}`);
  const isOwn =
    url?.protocol === 'https:' &&
    place.suffixes.some((suffix) => url.hostname.endsWith(`.${suffix}`));
  return isOwn ? [url.host] : [];
}
