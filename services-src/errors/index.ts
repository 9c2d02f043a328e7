import { errorCodes, isErrorCode } from '../contracts/errors.ts';
import type { ErrorCode } from '../contracts/errors.ts';

export { nearestName } from './nearest.ts';
export { errorCodes, isErrorCode };
export type { ErrorCode };

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue | undefined };

export type ErrorDetails = Readonly<Record<string, JsonValue | undefined>>;

/** A foreseen failure. `message` and `details` are shown to the caller; `cause` is only logged. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(
    code: ErrorCode,
    message: string,
    options: { details?: ErrorDetails; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.details = options.details ?? {};
  }

  /**
   * Turns whatever was thrown into an AppError. A lost database becomes `unavailable`, an
   * unforeseen error `internal`; the original text stays in `cause`.
   */
  static from(thrown: unknown): AppError {
    if (thrown instanceof AppError) return thrown;
    if (isConnectionLoss(thrown)) {
      return new AppError('unavailable', 'The database did not answer; try again shortly.', {
        cause: thrown,
      });
    }
    if (isUnstorable(thrown)) {
      return new AppError('invalid_request', 'Text must not contain the NUL character.', {
        cause: thrown,
      });
    }
    return new AppError(
      'internal',
      'Something went wrong on our side. Quote the request id when you report it.',
      { cause: thrown },
    );
  }
}

/** What the Postgres client and server say when the server is gone, starting, stopping or full. */
const connectionLossCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'CONNECT_TIMEOUT',
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
  '53300',
  '57014',
  '57P01',
  '57P02',
  '57P03',
]);

/** U+0000 in text or JSON, which Postgres cannot store. */
const unstorableCodes = new Set(['22021', '22P05']);

function isUnstorable(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && unstorableCodes.has(String(thrown.code));
}

function isConnectionLoss(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || !('code' in thrown)) return false;
  return connectionLossCodes.has(String(thrown.code));
}
