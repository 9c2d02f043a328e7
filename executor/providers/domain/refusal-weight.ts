import type { OauthProvider } from '#contracts/oauth-provider';

/**
 * What an answer without a token says about the refresh token that was sent:
 *
 * - `final`: the provider says that the token is dead;
 * - `definite`: it refuses without a reason. A token that is refused like this for hours is dead;
 * - `of_client`: it refuses the gateway's client, which an admin sets up;
 * - `none`: it says nothing about the token, as in an outage.
 */
export type RefusalWeight = 'final' | 'definite' | 'of_client' | 'none';

/** Codes with which providers say that a grant has ended (RFC 6749 §5.2, RFC 6750 §3.1). */
const finalCodes = ['invalid_grant', 'invalid_token', 'access_denied'];
/**
 * Codes for a client that is unknown or has a wrong secret. The last three are GitHub's and
 * Slack's.
 */
const clientCodes = [
  'invalid_client',
  'unauthorized_client',
  'invalid_client_credentials',
  'invalid_client_secret',
  'incorrect_client_credentials',
  'bad_client_secret',
  'invalid_client_id',
];
/** Codes of temporary errors, with any status (RFC 6749 §4.1.2.1, RFC 8628 §3.5). */
const passingCodes = [
  'temporarily_unavailable',
  'slow_down',
  'server_error',
  'internal_error',
  'fatal_error',
  'service_unavailable',
  'request_timeout',
  'ratelimited',
  'rate_limited',
  'rate_limit_exceeded',
  'too_many_requests',
];
const codeWeights = [
  ...finalCodes.map(weightedAs('final')),
  ...clientCodes.map(weightedAs('of_client')),
  ...passingCodes.map(weightedAs('none')),
];
const passingWords = /rate.?limit|too many requests|temporarily unavailable/i;
/**
 * With these statuses the provider has not decided about the request (RFC 9110 §15.5.9, RFC 8470
 * §5.2, RFC 6585 §4).
 */
const passingStatuses = [408, 425, 429];

/**
 * The limits for reading an answer: how many values, how deep, and how many characters of each
 * text.
 */
const valuesMax = 1_000;
const depthMax = 8;
const charactersMax = 1_000;

interface NoToken {
  readonly status: number;
  /** The parsed body, or its text if it is neither JSON nor a form. */
  readonly body: unknown;
  /**
   * The values in the members for error codes: the member that the provider's definition names,
   * then `error`.
   */
  readonly errors: readonly unknown[];
}

/**
 * Whether the provider has not decided about the request, judged by the status. Then the body does
 * not count as a refusal.
 */
export function isPassingStatus(status: number): boolean {
  return status >= 500 || passingStatuses.includes(status);
}

/**
 * Weighs an answer of a token endpoint that contains no token. An error code may be anywhere in it:
 * in lists, in nested members, at the beginning of a sentence, or as the name of a member. The code
 * in its proper member counts first. Among the others, the code of a temporary error counts first.
 * For a page (HTML, XML) only the status counts, because proxies in front of a provider also answer
 * with pages.
 */
export function weighRefusal(
  { dead_grant_errors: deadErrors }: Pick<OauthProvider, 'dead_grant_errors'>,
  { status, body, errors }: NoToken,
): RefusalWeight {
  if (isPassingStatus(status)) return 'none';
  const weights = new Map([...codeWeights, ...deadErrors.map(weightedAs('final'))]);
  const weighText = (text: string) =>
    deadErrors.includes(text) ? 'final' : firstWeight(weights, text.slice(0, charactersMax));
  for (const error of errors) {
    const weight = typeof error === 'string' ? weighText(error) : undefined;
    if (weight !== undefined) return weight;
  }
  const texts = listTexts(body);
  const foundWeights = texts.map(weighText).filter((each) => each !== undefined);
  const isPassing = foundWeights.includes('none') || texts.some((text) => passingWords.test(text));
  if (isPassing) return 'none';
  const isRefusal = status >= 400 || errors.some(Boolean);
  return foundWeights[0] ?? (isRefusal ? 'definite' : 'none');
}

/**
 * The weight of the first code in a text. A code must be a whole word, as in `invalid_grant: gone`.
 */
function firstWeight(
  weights: ReadonlyMap<string, RefusalWeight>,
  text: string,
): RefusalWeight | undefined {
  for (const word of text.match(/[a-z0-9_-]+/gi) ?? []) {
    const weight = weights.get(toComparable(word));
    if (weight !== undefined) return weight;
  }
  return undefined;
}

/** Gives the same text for `invalid_grant`, `INVALID-GRANT` and `InvalidGrant`. */
function toComparable(code: string): string {
  return code.toLowerCase().replaceAll(/[_-]/g, '');
}

function weightedAs(weight: RefusalWeight) {
  return (code: string): [string, RefusalWeight] => [toComparable(code), weight];
}

/** The names of members and the texts in an answer, level by level. Leaves out URLs and pages. */
function listTexts(body: unknown): string[] {
  const texts: string[] = [];
  let level: unknown[] = [body];
  let valuesLeft = valuesMax;
  for (let depth = 0; depth <= depthMax && level.length > 0; depth += 1) {
    const nextLevel: unknown[] = [];
    for (const value of level.slice(0, valuesLeft)) {
      valuesLeft -= 1;
      if (typeof value === 'string') texts.push(value.slice(0, charactersMax));
      else if (typeof value === 'object' && value !== null) {
        const names = Array.isArray(value) ? [] : Object.keys(value).slice(0, valuesMax);
        texts.push(...names.map((name) => name.slice(0, charactersMax)));
        nextLevel.push(...Object.values(value).slice(0, valuesMax));
      }
    }
    level = nextLevel;
  }
  return texts.filter((text) => !/^\s*(<|https?:)/i.test(text));
}
