import { deadlineIn } from '#bus';
import type { ErrorCode } from '#contracts/errors';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import type { Credential } from '../request/domain/inject.ts';
import type { OnRefused } from './derive-credential.ts';
import { loadCredentials } from './load-credentials.ts';
import type { InjectingPermit } from './load-credentials.ts';
import type { PreparedCall } from '../request/prepare-call.ts';

/** The status with which an upstream refuses a token (RFC 6750 §3.1). */
const refusedStatus = 401;
/** When less time than this is left for the call, no new token is requested. */
const leftMsMin = 500;
/**
 * Errors that only the owner of the connection can solve. The caller gets such an error instead of
 * the upstream's 401, because it says what the owner must do.
 */
const ownerOnlyCodes: ReadonlySet<ErrorCode> = new Set([
  'reauth_required',
  'needs_authentication',
  'missing_scopes',
  'credential_missing',
]);

interface RefusedAnswer {
  readonly permit: InjectingPermit;
  readonly prepared: {
    readonly action?: PreparedCall['action'];
    readonly template?: PreparedCall['template'];
    readonly request: { readonly url: string };
  };
  readonly credentials: readonly Credential[];
  readonly onRefused?: OnRefused | undefined;
}

/**
 * Gets newer access tokens after the upstream refused the current ones. Undefined when the answer
 * is not a refusal, or when there is no newer token. Throws for problems that only the owner of a
 * connection can solve.
 */
export async function renewCredentials(
  deps: Pick<Deps, 'vault' | 'openAccessToken' | 'authUrlOf' | 'derivedTokens' | 'logger'>,
  { permit, prepared, credentials, onRefused }: RefusedAnswer,
  { status, leftMs }: { status: number; leftMs: number },
): Promise<readonly Credential[] | undefined> {
  const tokens = credentials.filter(({ version }) => version !== undefined);
  if (status !== refusedStatus || tokens.length === 0 || leftMs < leftMsMin) return undefined;
  try {
    const { action, template, request } = prepared;
    const query = { permit, action, template, url: request.url, refused: tokens, onRefused };
    const renewedCredentials = await loadCredentials(deps, query, deadlineIn(leftMs));
    const isNew = renewedCredentials.some(
      ({ version }, at) => version !== credentials[at]?.version,
    );
    return isNew ? renewedCredentials : undefined;
  } catch (thrown) {
    const error = AppError.from(thrown);
    if (ownerOnlyCodes.has(error.code)) throw error;
    deps.logger.warn({ err: error, reason: 'token_refused' }, 'no other access token to be had');
    return undefined;
  }
}
