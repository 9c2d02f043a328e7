import { failureMessageCharactersMax, retryAfterSecondsMax } from '#contracts/failure';
import type { CallFailure, FailureKind } from '#contracts/failure';
import type { JsonValue } from '#contracts/vocabulary';
import { awsRefusalOf } from './aws-refusal.ts';
import { findMissingScopes, refusesScopes } from './missing-scopes.ts';
import { findProviderWords } from './provider-words.ts';
import { isLimitUsedUp, readResetSeconds } from './rate-limit-headers.ts';
import { readRetryAfterMs } from './retry-after.ts';

/** An upstream's answer after shaping, without the credentials that the upstream repeated. */
export interface ShapedAnswer {
  readonly status: number;
  /** Header names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonValue;
  /** Whether the request carried a credential that the upstream could refuse. */
  readonly hadCredential: boolean;
  /** Whether the request was signed by AWS Signature Version 4. */
  readonly isAwsSigned?: boolean;
  readonly nowMs: number;
}

const kindOfStatus: Readonly<Record<number, FailureKind>> = {
  400: 'invalid',
  401: 'credential_refused',
  403: 'forbidden',
  404: 'not_found',
  405: 'invalid',
  406: 'invalid',
  408: 'unavailable',
  409: 'conflict',
  410: 'not_found',
  411: 'invalid',
  412: 'conflict',
  413: 'invalid',
  414: 'invalid',
  415: 'invalid',
  422: 'invalid',
  423: 'conflict',
  429: 'rate_limited',
  451: 'forbidden',
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
};

/** Derives the failure from the status of an answer; undefined for a status below 400. */
export function failureByStatus(answer: ShapedAnswer): CallFailure | undefined {
  if (answer.status < 400) return undefined;
  const awsRefusal = answer.isAwsSigned === true ? awsRefusalOf(answer) : undefined;
  if (awsRefusal !== undefined) {
    const { kind, problem } = awsRefusal;
    const failure = describeFailure(answer, kind);
    const message = [problem, failure.message].filter((text) => text !== undefined).join(' ');
    // AWS checks the signature before it does anything.
    return {
      ...failure,
      message: message.slice(0, failureMessageCharactersMax),
      nothing_done: true,
    };
  }
  return describeFailure(answer, failureKindOf(answer));
}

/** Describes the failure of an answer that is known to have failed, with the provider's message. */
export function describeFailure(
  answer: ShapedAnswer,
  kind: FailureKind,
  words?: string,
): CallFailure {
  const { status, headers, body } = answer;
  const retryAfter = retryAfterOf(answer, kind);
  const missingScopes = kind === 'forbidden' ? findMissingScopes(headers, body) : undefined;
  return {
    kind,
    message:
      words ?? findProviderWords(body, headers['content-type'] ?? '') ?? toStatusText(status),
    ...(retryAfter === undefined ? {} : { retry_after: retryAfter }),
    ...(missingScopes === undefined ? {} : { missing_scopes: missingScopes }),
    // RFC 6585 §4: a request that exceeds a rate limit was not processed.
    ...(status === 429 ? { nothing_done: true as const } : {}),
  };
}

function failureKindOf({ status, headers, body, hadCredential }: ShapedAnswer): FailureKind {
  if (status === 401 && !hadCredential) return 'forbidden';
  // The credential itself is valid: no person has to store it again.
  if ((status === 400 || status === 401) && refusesScopes(headers, body)) return 'forbidden';
  // GitHub and others answer 403 when a rate limit is exceeded.
  if (status === 403 && (headers['retry-after'] !== undefined || isLimitUsedUp(headers)))
    return 'rate_limited';
  // Cloudflare answers 520 to 530 when the origin server does not answer.
  const isUnreachable = status >= 520 && status <= 530;
  return kindOfStatus[status] ?? (isUnreachable ? 'unavailable' : 'failed');
}

function retryAfterOf({ headers, nowMs }: ShapedAnswer, kind: FailureKind): number | undefined {
  const askedMs = readRetryAfterMs(headers['retry-after'], nowMs);
  if (askedMs !== undefined) return toSeconds(askedMs);
  if (kind !== 'rate_limited') return undefined;
  const resetSeconds = readResetSeconds(headers, nowMs);
  return resetSeconds === undefined ? undefined : toSeconds(resetSeconds * 1000);
}

function toSeconds(ms: number): number {
  return Math.min(retryAfterSecondsMax, Math.ceil(ms / 1000));
}

function toStatusText(status: number): string {
  return `The service answered with status ${status} and did not say why.`;
}
