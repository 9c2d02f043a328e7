import type { ErrorCode } from '../contracts/errors.ts';

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
    this.details = shortenIssues(options.details ?? {});
  }

  /**
   * Turns any thrown value into an AppError. A lost database becomes `unavailable`, any other
   * unforeseen error `internal`; the original text stays in `cause`.
   */
  static from(error: unknown): AppError {
    if (error instanceof AppError) return error;
    if (isDatabaseLoss(error)) {
      return new AppError('unavailable', 'The database did not answer; try again shortly.', {
        cause: error,
      });
    }
    if (isUnstorable(error)) {
      return new AppError('invalid_request', 'Text must not contain the NUL character.', {
        cause: error,
      });
    }
    return new AppError(
      'internal',
      'Something went wrong on our side. Quote the request id when you report it.',
      { cause: error },
    );
  }
}

/**
 * The most characters of the path and of the message of an issue. They are cut because they may
 * repeat names that the caller chose.
 */
const issueCharactersMax = 200;

/** Cuts the path and the message of each of an error's `issues`. */
function shortenIssues(details: ErrorDetails): ErrorDetails {
  const { issues } = details;
  if (!Array.isArray(issues)) return details;
  return { ...details, issues: issues.map(shortenIssue) };
}

function shortenIssue(issue: JsonValue): JsonValue {
  if (typeof issue !== 'object' || issue === null) return issue;
  const fields = Object.entries(issue).map(([name, value]) => [
    name,
    (name === 'path' || name === 'message') && typeof value === 'string'
      ? shortenText(value)
      : value,
  ]);
  return Object.fromEntries(fields) as JsonValue;
}

/** Cuts a text that an error repeats, at the same length as paths and messages. */
export function shortenText(text: string): string {
  if (text.length <= issueCharactersMax) return text;
  return `${text.slice(0, issueCharactersMax - 1).toWellFormed()}…`;
}

/**
 * Error codes of the Postgres client and server for a server that is unreachable, starting,
 * stopping or full, or that lacks a resource such as disk space.
 */
const noDatabaseCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'CONNECT_TIMEOUT',
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  '25006',
  '53000',
  '53100',
  '53200',
  '53300',
  '57014',
  '57P01',
  '57P02',
  '57P03',
  '58030',
]);

/** Error codes for U+0000 in text or JSON, which Postgres cannot store. */
const unstorableCodes = new Set(['22021', '22P05']);

function isUnstorable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && unstorableCodes.has(String(error.code));
}

function isDatabaseLoss(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return noDatabaseCodes.has(String(error.code));
}
