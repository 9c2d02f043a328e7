import type { ActionCall, Call, CallOptions, HttpCall } from '#contracts/call';
import type { CallBody, ConnectionCallBody, ValidateBody } from '#contracts/http/actions';
import { params as paramsSchema } from '#contracts/call';
import { nameReference } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { measureJson } from '../../input/domain/json-size.ts';
import type { JsonLimits, JsonSize } from '../../input/domain/json-size.ts';
import { parseUntrustedText } from '../../input/domain/json.ts';
import { assertFewHeaders, tooManyQueryValuesError } from '../../input/domain/name-limits.ts';
import { nameMeantBy } from '../../input/domain/name-meant.ts';
import { invalidRequest } from '../../input/domain/validate.ts';
import type { Issue } from '../../input/domain/validate.ts';

/** A parsed request for a call: either a new call, or the resumption of a suspended one. */
export type ParsedCall =
  | { readonly kind: 'resume'; readonly approvalId: string }
  | { readonly kind: 'fresh'; readonly call: Call; readonly options: CallOptions };

export interface CallHeaders {
  readonly idempotencyKey: string | null;
  /** `Prefer: wait=N` in milliseconds, at most one minute; 0 if absent. */
  readonly waitMs: number;
}

/** The limits on a call: those on its JSON body, and further ones. */
export interface CallLimits extends JsonLimits {
  readonly queryValuesMax: number;
  /**
   * Called when params or a body were sent as JSON text: with the size of the text, before it is
   * parsed. May throw.
   */
  readonly onJsonText?: (size: JsonSize) => void;
}

const timeoutMsDefault = 30_000;
const waitSecondsMax = 60;
/**
 * The most characters of a query. Servers do not accept longer ones; longer values belong in a
 * body.
 */
const queryCharactersMax = 65_536;

/**
 * The fields of each kind of call besides `service`. A field that belongs to another kind of call
 * is reported as an issue.
 */
const httpCallFields = ['method', 'path', 'url', 'query', 'headers', 'body', 'secrets'] as const;
const actionFields = ['action', 'params'] as const;
const resumeFields = new Set(['approval_id', 'verbose']);

/**
 * Turns a validated body into a call. If the body has fields that exclude each other, the error
 * names them.
 */
export function parseCallBody(
  body: CallBody,
  headers: CallHeaders,
  limits: CallLimits,
): ParsedCall {
  if (body.approval_id !== undefined) {
    const otherFields = Object.keys(body).filter((field) => !resumeFields.has(field));
    refuseIssues(
      otherFields.map((path) => ({ path, message: 'does not go with approval_id; leave it out' })),
    );
    return { kind: 'resume', approvalId: body.approval_id };
  }
  const call = parseCall(body, limits);
  return { kind: 'fresh', call, options: parseOptions(body, headers) };
}

/**
 * Parses the body of `POST /v1/actions/http`: a call to a full URL with the access token of a
 * connection.
 */
export function parseConnectionCall(
  body: ConnectionCallBody,
  headers: CallHeaders,
  limits: CallLimits,
): ParsedCall {
  return {
    kind: 'fresh',
    call: parseConnectionHttp(body, limits),
    options: parseOptions(body, headers),
  };
}

/** Parses a dry run, which accepts the bodies of both call routes. */
export function parseDryRun({ connection, ...body }: ValidateBody, limits: CallLimits): Call {
  if (connection === undefined) return parseCall(body, limits);
  const extraFields = (['service', ...actionFields, 'path', 'secrets'] as const).filter(
    (field) => body[field] !== undefined,
  );
  refuseIssues(
    extraFields.map((path) => ({
      path,
      message: 'does not go with connection; use method and url',
    })),
  );
  return parseConnectionHttp({ ...body, connection }, limits);
}

function parseConnectionHttp(
  { connection, ...body }: Omit<CallBody, 'service'> & { connection: string },
  limits: CallLimits,
): HttpCall {
  return { ...parseFullUrlCall(body, limits), connection };
}

export function parseOptions(
  body: Pick<CallBody, 'timeout_ms' | 'max_risk'>,
  { idempotencyKey }: Pick<CallHeaders, 'idempotencyKey'>,
): CallOptions {
  return {
    timeoutMs: body.timeout_ms ?? timeoutMsDefault,
    maxRisk: body.max_risk ?? null,
    idempotencyKey,
  };
}

/**
 * Parses the fields that calls and dry runs have in common: an action, or a call by HTTP method and
 * path. With the service `http`, the caller gives a full URL instead of a path.
 */
function parseCall(body: Omit<CallBody, 'approval_id' | 'verbose'>, limits: CallLimits): Call {
  const service = parseService(body.service);
  const isHttpCall = httpCallFields.some((field) => body[field] !== undefined);
  const isAction = actionFields.some((field) => body[field] !== undefined);
  if (service === 'http') return parseFullUrlCall(body, limits);
  if (isHttpCall && isAction) {
    const [keptField, extraFields] =
      body.action === undefined
        ? (['method', actionFields] as const)
        : (['action', httpCallFields] as const);
    refuseIssues(
      extraFields
        .filter((field) => body[field] !== undefined)
        .map((path) => ({ path, message: `does not go with ${keptField}; leave one of them out` })),
    );
  }
  return isHttpCall ? parseHttpCall(body, service, limits) : parseAction(body, service, limits);
}

function parseService(service: string | undefined): string {
  if (service === undefined) {
    throw fieldError(
      'service',
      'is required: the name of a connected service, or http for a full URL',
    );
  }
  if (service === 'http' || nameReference.safeParse(service).success) return service;
  const suggestedName = nameMeantBy(service);
  throw invalidRequest('The call cannot be made as it stands; see issues.', [
    {
      path: 'service',
      message: 'is not a service name: lower-case letters, digits, "_" and "-"',
      ...(suggestedName === undefined ? {} : { did_you_mean: suggestedName }),
    },
  ]);
}

function parseAction(body: CallBody, service: string, limits: CallLimits): ActionCall {
  if (body.action === undefined || body.action === '') {
    throw fieldError(
      'action',
      'is required: the action to call, or method and path for a verb call',
    );
  }
  return {
    kind: 'action',
    service,
    action: body.action,
    params: parseParams(body.params, limits),
    filter: body.filter ?? null,
  };
}

/**
 * Params may be an object, a JSON text that contains an object, or null for no params. Agents often
 * send the last two.
 */
function parseParams(params: CallBody['params'], limits: CallLimits): ActionCall['params'] {
  if (params === undefined || params === null) return {};
  if (typeof params !== 'string') return params;
  let value: unknown;
  try {
    value = parseUntrustedText(params, limits, limits.onJsonText);
  } catch (error) {
    if (['too_large', 'rate_limited'].includes(AppError.from(error).code)) throw error;
    throw fieldError(
      'params',
      'is a string that does not hold acceptable JSON; send an object',
      error,
    );
  }
  if (value === null) return {};
  const parseResult = paramsSchema.safeParse(value);
  if (!parseResult.success) throw fieldError('params', 'must be an object');
  return parseResult.data;
}

function parseHttpCall(body: CallBody, service: string, limits: CallLimits): HttpCall {
  const issues: Issue[] = [];
  if (body.url !== undefined) {
    issues.push({ path: 'url', message: 'is for the service http alone; use path' });
  }
  if (body.method === undefined) issues.push({ path: 'method', message: 'is required with path' });
  if (body.path === undefined) {
    if (body.url === undefined) issues.push({ path: 'path', message: 'is required with method' });
  } else if (!body.path.startsWith('/')) {
    issues.push({
      path: 'path',
      message: 'must begin with /',
      expected: '/path/below/the/service',
    });
  }
  refuseIssues(issues);
  return buildHttpCall(body, { service, target: body.path ?? '' }, limits);
}

/** Parses a call by full URL (docs/reference/templates.md#raw-http). */
function parseFullUrlCall(body: CallBody, limits: CallLimits): HttpCall {
  const issues: Issue[] = actionFields
    .filter((field) => body[field] !== undefined)
    .map((path) => ({ path, message: 'does not go with service http; use method and url' }));
  if (body.method === undefined) issues.push({ path: 'method', message: 'is required' });
  if (body.path !== undefined && body.url !== undefined) {
    issues.push({ path: 'path', message: 'means the same as url; send one of them' });
  }
  const target = body.url ?? body.path;
  if (target === undefined) {
    issues.push({ path: 'url', message: 'is required: the full URL to call' });
  } else if (!/^https?:\/\/[^/]/i.test(target)) {
    issues.push({
      path: body.url === undefined ? 'path' : 'url',
      message: 'must be a full URL for the service http',
      expected: 'https://host/path',
    });
  }
  refuseIssues(issues);
  return buildHttpCall(body, { service: 'http', target: target ?? '' }, limits);
}

function buildHttpCall(
  body: CallBody,
  target: Pick<HttpCall, 'service' | 'target'>,
  limits: CallLimits,
): HttpCall {
  const { queryValuesMax } = limits;
  measureTextBody(body.body, limits);
  let valueCount = 0;
  let characterCount = 0;
  for (const [name, given] of Object.entries(body.query ?? {})) {
    for (const value of [given].flat()) {
      valueCount += 1;
      characterCount += name.length + value.length;
    }
  }
  if (valueCount > queryValuesMax) throw tooManyQueryValuesError(queryValuesMax);
  if (characterCount > queryCharactersMax) throw queryTooLongError();
  assertFewHeaders(body.headers);
  return {
    kind: 'http',
    ...target,
    method: body.method ?? 'GET',
    query: body.query ?? {},
    headers: body.headers ?? {},
    body: body.body ?? null,
    secrets: body.secrets ?? [],
    filter: body.filter ?? null,
  };
}

/** A text body that begins like JSON counts as JSON, because policy and executor parse it. */
function measureTextBody(body: CallBody['body'], limits: CallLimits): void {
  if (typeof body !== 'string' || !/^[\s\uFEFF]*[[{]/.test(body)) return;
  const size = measureJson(Buffer.from(body, 'utf8'), limits);
  limits.onJsonText?.(size);
}

/** Parses `Idempotency-Key` and `Prefer`. Invalid preferences are ignored, as RFC 7240 requires. */
export function parseCallHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): CallHeaders {
  const key = headers['idempotency-key'];
  if (key !== undefined && (typeof key !== 'string' || !/^[\x21-\x7e]{1,200}$/.test(key))) {
    throw fieldError(
      'Idempotency-Key',
      'must be 1 to 200 printable ASCII characters without spaces',
    );
  }
  const prefer = headers['prefer'];
  const preferences = (Array.isArray(prefer) ? prefer.join(',') : (prefer ?? '')).split(/[,;]/);
  const waitTexts = preferences.map((each) => /^\s*wait\s*=\s*"?(\d{1,9})"?\s*$/i.exec(each)?.[1]);
  const seconds = Number(waitTexts.find((each) => each !== undefined) ?? 0);
  return { idempotencyKey: key ?? null, waitMs: Math.min(seconds, waitSecondsMax) * 1000 };
}

function refuseIssues(issues: readonly Issue[]): void {
  if (issues.length > 0) {
    throw invalidRequest('The call cannot be made as it stands; see issues.', issues);
  }
}

function fieldError(path: string, message: string, cause?: unknown): AppError {
  return new AppError('invalid_request', `${path} ${message}.`, {
    details: { issues: [{ path, message }] },
    cause,
  });
}

function queryTooLongError(): AppError {
  const max = queryCharactersMax;
  return new AppError(
    'too_large',
    `The query has more than ${max.toLocaleString('en')} characters; send long values in a body.`,
    { details: { limit: 'query_characters', max } },
  );
}
