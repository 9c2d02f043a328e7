import type { OauthProvider } from '#contracts/oauth-provider';
import { isPassingStatus, weighRefusal } from './refusal-weight.ts';
import type { RefusalWeight } from './refusal-weight.ts';

/** The tokens that a provider granted. */
export interface GrantedTokens {
  readonly accessToken: string;
  /** Null when the provider sent no refresh token. */
  readonly refreshToken: string | null;
  readonly expiresInSeconds: number | null;
  /**
   * Null when the answer lists no scopes. In that case the provider granted the requested ones (RFC
   * 6749 §5.1).
   */
  readonly scopes: string[] | null;
}

export type TokenAnswer =
  | { readonly kind: 'granted'; readonly tokens: GrantedTokens; readonly body: unknown }
  /** `weight` is what the answer means for the refresh token that was sent. */
  | { readonly kind: 'refused'; readonly error: string; readonly weight: RefusalWeight }
  /** The answer contains neither a token nor an error code. */
  | { readonly kind: 'unusable'; readonly problem: string; readonly weight: RefusalWeight };

type TokenAnswerRow = Pick<OauthProvider, 'token_answer' | 'dead_grant_errors'>;

const tokenShape = /^[\x21-\x7e]([\x20-\x7e]{0,16382}[\x21-\x7e])?$/;
const errorShape = /^[\x20-\x7e]{1,100}$/;
const secondsMax = 10 * 365 * 86_400;

/**
 * Parses an answer of a token endpoint (RFC 6749 §5.1, §5.2), with the deviations that the
 * provider's definition names.
 */
export function readTokenAnswer(
  row: TokenAnswerRow,
  { status, text }: { status: number; text: string },
): TokenAnswer {
  const { token_answer: answerPlaces } = row;
  // With these statuses the answer is not a refusal, whatever its body contains: an outage of the
  // provider must not end a connection.
  if (isPassingStatus(status)) {
    return { kind: 'unusable', problem: `answered with status ${status}`, weight: 'none' };
  }
  const body = parseBody(text);
  const errorValues = [readMemberAt(body, answerPlaces.error), readMemberAt(body, 'error')];
  const weighAnswer = () => weighRefusal(row, { status, body: body ?? text, errors: errorValues });
  const unusable = (problem: string) =>
    ({ kind: 'unusable', problem, weight: weighAnswer() }) as const;
  if (body === undefined) return unusable('answered with neither JSON nor a form');
  const [refusal] = errorValues;
  if (status >= 400 || isText(refusal, errorShape)) {
    const error = errorValues.find((each) => isText(each, errorShape));
    return error === undefined
      ? unusable(`answered with status ${status} and no reason`)
      : { kind: 'refused', error: shownErrorOf(error, status), weight: weighAnswer() };
  }
  const tokenObject =
    answerPlaces.at === undefined ? body : (readMemberAt(body, answerPlaces.at) ?? body);
  const accessToken = readMemberAt(tokenObject, 'access_token');
  if (!isText(accessToken, tokenShape)) return unusable('answered without an access token');
  const refreshToken = readMemberAt(tokenObject, 'refresh_token');
  const tokens = {
    accessToken,
    refreshToken: isText(refreshToken, tokenShape) ? refreshToken : null,
    expiresInSeconds:
      readSeconds(readMemberAt(tokenObject, 'expires_in')) ?? answerPlaces.expires_in ?? null,
    scopes: readScopes(readMemberAt(tokenObject, answerPlaces.scope)),
  };
  return { kind: 'granted', tokens, body };
}

/**
 * The provider's error code if it is a plain word, such as `invalid_client`, otherwise the status. It
 * becomes part of the gateway's messages, into which the provider must not write text.
 */
export function shownErrorOf(error: unknown, status: number): string {
  return isText(error, /^[a-z0-9_.-]{1,60}$/) ? error : `status ${status}`;
}

/**
 * Parses the body as JSON or as a form. Some providers answer with a form even when JSON was asked
 * for.
 */
function parseBody(text: string): object | undefined {
  try {
    const parsedForm: unknown = JSON.parse(text);
    return typeof parsedForm === 'object' && parsedForm !== null ? parsedForm : undefined;
  } catch {
    const form = new URLSearchParams(text);
    const isForm = form.has('access_token') || form.has('error');
    return isForm ? Object.fromEntries(form) : undefined;
  }
}

/**
 * The member at a path with dots, such as `authed_user.access_token`. Inherited members do not
 * count.
 */
export function readMemberAt(value: unknown, dottedPath: string): unknown {
  return dottedPath.split('.').reduce<unknown>((current, name) => {
    const hasMember =
      typeof current === 'object' && current !== null && Object.hasOwn(current, name);
    return hasMember ? (current as Record<string, unknown>)[name] : undefined;
  }, value);
}

function isText(value: unknown, shape: RegExp): value is string {
  return typeof value === 'string' && shape.test(value);
}

/** A number of seconds, given as a number or as digits. Null when no positive number is given. */
function readSeconds(value: unknown): number | null {
  const seconds = typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : value;
  if (typeof seconds !== 'number' || !Number.isFinite(seconds) || seconds <= 0) return null;
  return Math.min(Math.floor(seconds), secondsMax);
}

/** Reads scopes from a list, or from a text with spaces (as in RFC 6749) or commas between them. */
function readScopes(value: unknown): string[] | null {
  const texts = Array.isArray(value) ? value : [value];
  const parts = texts.flatMap((each) => (typeof each === 'string' ? each.split(/[\s,]+/) : []));
  const scopes = parts.filter((each) => isText(each, /^[\x21-\x7e]{1,300}$/));
  return scopes.length === 0 ? null : [...new Set<string>(scopes)].slice(0, 200);
}

/** The host of the account, if the answer contains one and it belongs to the provider. */
export function hostsOfAnswer(
  { host_of_answer: hostPlace }: Pick<OauthProvider, 'host_of_answer'>,
  body: unknown,
): string[] {
  const namedHost = hostPlace && readMemberAt(body, hostPlace.at);
  if (hostPlace === undefined || typeof namedHost !== 'string') return [];
  const url = URL.parse(namedHost.includes('://') ? namedHost : `https://${namedHost}`);
  const isProviderHost =
    url?.protocol === 'https:' &&
    hostPlace.suffixes.some((suffix) => url.hostname.endsWith(`.${suffix}`));
  return isProviderHost ? [url.host] : [];
}
