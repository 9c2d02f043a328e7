import { deadlineIn } from '#bus';
import type { ErrorCode } from '#contracts/errors';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import type { Credential } from '../domain/inject.ts';
import { loadCredentials } from './credentials.ts';
import type { Injecting } from './credentials.ts';
import type { PreparedCall } from './prepare.ts';

/** What an upstream answers to a token that it does not take any more (RFC 6750 §3.1). */
const refusedStatus = 401;
/** With less time than this nothing is begun. */
const leftMsMin = 500;
/** Only the owner can help: to say so is worth more than the upstream's 401. */
const forTheOwner: ReadonlySet<ErrorCode> = new Set([
  'reauth_required',
  'needs_authentication',
  'missing_scopes',
  'credential_missing',
]);

interface Refused {
  readonly facts: Injecting;
  readonly prepared: {
    readonly action?: PreparedCall['action'];
    readonly request: { readonly url: string };
  };
  readonly credentials: readonly Credential[];
}

/**
 * The credentials of a call whose answer says that its access token is refused, with the next token
 * of each connection; undefined when the answer says no such thing, or no other token is to be had.
 * Throws what only the owner of a connection can mend.
 */
export async function renewRefused(
  deps: Pick<Deps, 'vault' | 'openAccessToken' | 'authUrlOf' | 'logger'>,
  { facts, prepared, credentials }: Refused,
  { status, leftMs }: { status: number; leftMs: number },
): Promise<readonly Credential[] | undefined> {
  const tokens = credentials.filter(({ version }) => version !== undefined);
  if (status !== refusedStatus || tokens.length === 0 || leftMs < leftMsMin) return undefined;
  try {
    const { action, request } = prepared;
    const wanted = { facts, action, url: request.url, refused: tokens };
    const renewed = await loadCredentials(deps, wanted, deadlineIn(leftMs));
    const isNew = renewed.some(({ version }, at) => version !== credentials[at]?.version);
    return isNew ? renewed : undefined;
  } catch (thrown) {
    const error = AppError.from(thrown);
    if (forTheOwner.has(error.code)) throw error;
    deps.logger.warn({ err: error, reason: 'token_refused' }, 'no other access token to be had');
    return undefined;
  }
}
