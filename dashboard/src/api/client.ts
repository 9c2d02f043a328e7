import type { ErrorEnvelope } from '#contracts/http/errors';
import { noteServerTime } from './server-clock.ts';

/** What a request failed with, in words for the person who made it. */
export class ApiError extends Error {
  /** A code of the API, or `unreachable` when no answer came. */
  readonly code: ErrorEnvelope['error'] | 'unreachable';
  /** Finds the request in the gateway's log; null when the gateway was not reached. */
  readonly requestId: string | null;

  constructor(
    code: ApiError['code'],
    message: string,
    { requestId = null, cause }: { requestId?: string | null; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.name = 'ApiError';
    this.code = code;
    this.requestId = requestId;
  }
}

interface RequestOptions {
  readonly method?: 'GET' | 'POST';
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/**
 * Asks the gateway that served this page. The answer has the type that the caller names: both
 * come from one contract, and were built together.
 */
export async function request<Answer>(
  path: `/v1/${string}`,
  { method = 'GET', body, signal }: RequestOptions = {},
): Promise<Answer> {
  const response = await send(path, {
    method,
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  noteServerTime(response.headers.get('date'));
  if (!response.ok) throw await toError(response);
  if (response.status === 204) return undefined as Answer;
  return (await response.json()) as Answer;
}

export function isApiError(error: unknown, code?: ApiError['code']): error is ApiError {
  return error instanceof ApiError && (code === undefined || error.code === code);
}

async function send(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { ...init, credentials: 'same-origin', redirect: 'error' });
  } catch (cause) {
    if (init.signal?.aborted === true) throw cause;
    throw new ApiError('unreachable', 'The gateway cannot be reached; check that it is running.', {
      cause,
    });
  }
}

/** Somebody between us and the gateway may answer without its envelope. */
async function toError(response: Response): Promise<ApiError> {
  const requestId = response.headers.get('x-request-id');
  try {
    const envelope = (await response.json()) as Partial<ErrorEnvelope>;
    if (typeof envelope.error === 'string' && typeof envelope.message === 'string') {
      return new ApiError(envelope.error, envelope.message, {
        requestId: envelope.request_id ?? requestId,
      });
    }
  } catch {
    // Not JSON: the status is all that is known.
  }
  return new ApiError('internal', `The gateway answered ${response.status}; try again.`, {
    requestId,
  });
}
