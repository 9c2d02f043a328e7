import type { ErrorEnvelope } from '#contracts/http/errors';
import { noteServerTime } from './server-clock.ts';

/** A wrong field of a request: its path, such as `allowed_hosts.0`, and what its value must be. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

/**
 * The error that a request ended with. Its message is written for the person who made the request.
 */
export class ApiError extends Error {
  /** An error code of the API, or `unreachable` when no answer came. */
  readonly code: ErrorEnvelope['error'] | 'unreachable';
  /** The id of the request in the gateway's log; null when the gateway was not reached. */
  readonly requestId: string | null;
  /**
   * Distinguishes causes that have the same code, such as `template_changed`. Null if a code has
   * only one cause.
   */
  readonly reason: string | null;
  /** The wrong fields, if the gateway names them. */
  readonly issues: readonly Issue[];

  constructor(
    code: ApiError['code'],
    message: string,
    {
      requestId = null,
      reason = null,
      issues = [],
      cause,
    }: {
      requestId?: string | null;
      reason?: string | null;
      issues?: readonly Issue[];
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause });
    this.name = 'ApiError';
    this.code = code;
    this.requestId = requestId;
    this.reason = reason;
    this.issues = issues;
  }
}

interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/**
 * Sends a request to the gateway that served this page. The caller states the type of the answer.
 * The answer is not checked against this type, because page and gateway are built together from one
 * contract.
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

/**
 * Converts an error response. A proxy in front of the gateway may answer in a form other than the
 * gateway's error body.
 */
async function toError(response: Response): Promise<ApiError> {
  const requestId = response.headers.get('x-request-id');
  try {
    const envelope = (await response.json()) as Partial<ErrorEnvelope>;
    if (typeof envelope.error === 'string' && typeof envelope.message === 'string') {
      return new ApiError(envelope.error, envelope.message, {
        requestId: envelope.request_id ?? requestId,
        reason: typeof envelope['reason'] === 'string' ? envelope['reason'] : null,
        issues: issuesIn(envelope['issues']),
      });
    }
  } catch {
    // The body is not JSON, so only the status is known.
  }
  return new ApiError('internal', `The gateway answered ${response.status}; try again.`, {
    requestId,
  });
}

const issuesMax = 20;

function issuesIn(value: unknown): Issue[] {
  if (!Array.isArray(value)) return [];
  return value
    .slice(0, issuesMax)
    .filter(
      (each: Partial<Issue> | null): each is Issue =>
        typeof each?.path === 'string' && typeof each.message === 'string',
    );
}
