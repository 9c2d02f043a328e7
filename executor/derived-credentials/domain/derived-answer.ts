import type { TokenDerivation } from '#contracts/credential-derivation';
import { readTokenAnswer, shownErrorOf } from '../../providers/domain/token-answer.ts';

/** The answer to a request for a token that is derived from a secret. */
export type DerivedAnswer =
  | { readonly kind: 'granted'; readonly token: string; readonly expiresInSeconds: number | null }
  /**
   * The provider refused the secret, or what was requested with it. Only a person can change that.
   * `isOfSecret` is true when it refused the secret itself.
   */
  | { readonly kind: 'refused'; readonly error: string; readonly isOfSecret: boolean }
  /** The request may be tried again later. */
  | { readonly kind: 'unusable'; readonly problem: string };

/** These refusals say nothing about the secret (RFC 6749 §4.1.2.1). */
const passingErrors = ['temporarily_unavailable', 'server_error', 'slow_down'];
/**
 * These errors refuse the client or its assertion (RFC 6749 §5.2). Other errors refuse scopes and
 * the like.
 */
const errorsOfSecret = ['invalid_client', 'invalid_grant', 'unauthorized_client'];

interface ProviderAnswer {
  readonly status: number;
  readonly text: string;
  readonly nowMs: number;
}

export function readDerivedAnswer(
  kind: TokenDerivation['kind'],
  { status, text, nowMs }: ProviderAnswer,
): DerivedAnswer {
  if (kind === 'github_app') return readInstallationAnswer({ status, text, nowMs });
  const row = { token_answer: { scope: 'scope', error: 'error' }, dead_grant_errors: [] };
  const answer = readTokenAnswer(row, { status, text });
  if (answer.kind === 'unusable') return answer;
  if (answer.kind === 'refused') {
    return passingErrors.includes(answer.error)
      ? { kind: 'unusable', problem: answer.error }
      : {
          kind: 'refused',
          error: answer.error,
          isOfSecret: status === 401 || errorsOfSecret.includes(answer.error),
        };
  }
  const { accessToken: token, expiresInSeconds } = answer.tokens;
  return { kind: 'granted', token, expiresInSeconds };
}

/**
 * GitHub answers with these statuses for a wrong key or app, a suspended installation, and a
 * deleted installation. The request contains nothing else that they could mean; for permissions
 * that the installation lacks, GitHub answers 422.
 */
const refusingStatuses = [401, 403, 404];

/** Reads GitHub's answer, `{token, expires_at}`, or `{message}` for an error. */
function readInstallationAnswer({ status, text, nowMs }: ProviderAnswer): DerivedAnswer {
  if (status >= 500 || status === 429 || status === 408) {
    return { kind: 'unusable', problem: `answered with status ${status}` };
  }
  const body = parseRecord(text);
  if (status >= 400) {
    const message = body?.['message'];
    // GitHub also answers 403 when a rate limit is used up.
    if (typeof message === 'string' && /rate limit/i.test(message.slice(0, 200)))
      return { kind: 'unusable', problem: 'its rate limit is used up' };
    const isOfSecret = refusingStatuses.includes(status);
    return { kind: 'refused', error: shownErrorOf(message, status), isOfSecret };
  }
  const token = body?.['token'];
  const expiresAt = body?.['expires_at'];
  if (typeof token !== 'string' || !/^[\x21-\x7e]{4,2000}$/.test(token)) {
    return { kind: 'unusable', problem: 'answered without a token' };
  }
  const endMs = typeof expiresAt === 'string' ? Date.parse(expiresAt) : Number.NaN;
  const seconds = Math.floor((endMs - nowMs) / 1_000);
  return { kind: 'granted', token, expiresInSeconds: seconds > 0 ? seconds : null };
}

function parseRecord(text: string): Record<string, unknown> | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null
      ? (body as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
