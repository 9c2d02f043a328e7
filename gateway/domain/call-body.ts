import type { ActionCall, Call, CallOptions, HttpCall } from '#contracts/call';
import type { CallBody, ConnectionCallBody, ValidateBody } from '#contracts/http/actions';
import { params as paramsSchema } from '#contracts/call';
import { nameReference } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { JsonLimits, JsonSize } from './json-size.ts';
import { parseUntrustedText } from './json.ts';
import { invalidRequest } from './validate.ts';
import type { Issue } from './validate.ts';

/** A call as it was asked for: fresh, or the resume of a suspended one. */
export type AskedCall =
  | { readonly kind: 'resume'; readonly approvalId: string }
  | { readonly kind: 'fresh'; readonly call: Call; readonly options: CallOptions };

export interface CallHeaders {
  readonly idempotencyKey: string | null;
  /** `Prefer: wait=N` in milliseconds, at most a minute; 0 when not asked for. */
  readonly waitMs: number;
}

/** What a call may hold beside what its body may. */
export interface CallLimits extends JsonLimits {
  readonly queryValuesMax: number;
  /** Told how much params that came as JSON text hold, before they are parsed; may throw. */
  readonly onTextParams?: (size: JsonSize) => void;
}

const timeoutMsDefault = 30_000;
const waitSecondsMax = 60;
/** Servers take a hundred or so. */
const headersMax = 200;
/** Beyond what servers take in a URL; more belongs into a body. */
const queryCharactersMax = 65_536;
/** Addresses of services and providers have a few. */
const variablesMax = 200;

/** Fields of each shape beside `service`; whatever stands outside its shape is named in an issue. */
const verbFields = ['method', 'path', 'url', 'query', 'headers', 'body', 'secrets'] as const;
const actionFields = ['action', 'params'] as const;
const resumeFields = new Set(['approval_id', 'verbose']);

/** Turns a body whose fields are each valid into the one call it describes, or says which fields do not go together. */
export function parseCallBody(body: CallBody, headers: CallHeaders, limits: CallLimits): AskedCall {
  if (body.approval_id !== undefined) {
    const others = Object.keys(body).filter((field) => !resumeFields.has(field));
    refuse(others.map((path) => ({ path, message: 'does not go with approval_id; leave it out' })));
    return { kind: 'resume', approvalId: body.approval_id };
  }
  const call = parseCall(body, limits);
  return { kind: 'fresh', call, options: parseOptions(body, headers) };
}

/** `POST /v1/actions/http`: raw HTTP with the access token of a connection. */
export function parseConnectionCall(
  body: ConnectionCallBody,
  headers: CallHeaders,
  limits: CallLimits,
): AskedCall {
  return { kind: 'fresh', call: rawThrough(body, limits), options: parseOptions(body, headers) };
}

/** A dry run takes what either way of calling takes. */
export function parseTriedCall({ connection, ...body }: ValidateBody, limits: CallLimits): Call {
  if (connection === undefined) return parseCall(body, limits);
  const extra = (['service', ...actionFields, 'path', 'secrets'] as const).filter(
    (field) => body[field] !== undefined,
  );
  refuse(
    extra.map((path) => ({ path, message: 'does not go with connection; use method and url' })),
  );
  return rawThrough({ ...body, connection }, limits);
}

function rawThrough(
  { connection, ...body }: Omit<CallBody, 'service'> & { connection: string },
  limits: CallLimits,
): HttpCall {
  return { ...parseRaw(body, limits), connection };
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

/** What a call and a dry run share: exactly one of the two shapes, `http` with a full URL. */
function parseCall(body: Omit<CallBody, 'approval_id' | 'verbose'>, limits: CallLimits): Call {
  const service = parseService(body.service);
  const isVerb = verbFields.some((field) => body[field] !== undefined);
  const isAction = actionFields.some((field) => body[field] !== undefined);
  if (service === 'http') return parseRaw(body, limits);
  if (isVerb && isAction) {
    const [kept, extra] =
      body.action === undefined
        ? (['method', actionFields] as const)
        : (['action', verbFields] as const);
    refuse(
      extra
        .filter((field) => body[field] !== undefined)
        .map((path) => ({ path, message: `does not go with ${kept}; leave one of them out` })),
    );
  }
  return isVerb ? parseVerb(body, service, limits) : parseAction(body, service, limits);
}

function parseService(service: string | undefined): string {
  if (service === undefined) {
    throw one('service', 'is required: the name of a connected service, or http for a full URL');
  }
  if (service === 'http' || nameReference.safeParse(service).success) return service;
  const lower = service.toLowerCase();
  throw invalidRequest('The call cannot be made as it stands; see issues.', [
    {
      path: 'service',
      message: 'is not a service name: lower-case letters, digits, "_" and "-"',
      ...(nameReference.safeParse(lower).success ? { did_you_mean: lower } : {}),
    },
  ]);
}

function parseAction(body: CallBody, service: string, limits: CallLimits): ActionCall {
  if (body.action === undefined || body.action === '') {
    throw one('action', 'is required: the action to call, or method and path for a verb call');
  }
  return {
    kind: 'action',
    service,
    action: body.action,
    params: parseParams(body.params, limits),
    filter: body.filter ?? null,
  };
}

/** Agents send odd JSON: a JSON string of an object counts as the object, null as `{}`. */
function parseParams(given: CallBody['params'], limits: CallLimits): ActionCall['params'] {
  if (given === undefined || given === null) return {};
  if (typeof given !== 'string') return given;
  let value: unknown;
  try {
    value = parseUntrustedText(given, limits, limits.onTextParams);
  } catch (thrown) {
    if (['too_large', 'rate_limited'].includes(AppError.from(thrown).code)) throw thrown;
    throw one('params', 'is a string that does not hold acceptable JSON; send an object', thrown);
  }
  if (value === null) return {};
  const parsed = paramsSchema.safeParse(value);
  if (!parsed.success) throw one('params', 'must be an object');
  return parsed.data;
}

function parseVerb(body: CallBody, service: string, limits: CallLimits): HttpCall {
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
  refuse(issues);
  return httpCall(body, { service, target: body.path ?? '' }, limits);
}

/** Reads raw HTTP, for which the caller brings the full URL (docs/reference/templates.md#raw-http). */
function parseRaw(body: CallBody, limits: CallLimits): HttpCall {
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
  refuse(issues);
  return httpCall(body, { service: 'http', target: target ?? '' }, limits);
}

function httpCall(
  body: CallBody,
  to: Pick<HttpCall, 'service' | 'target'>,
  { queryValuesMax }: CallLimits,
): HttpCall {
  let values = 0;
  let characters = 0;
  for (const [name, given] of Object.entries(body.query ?? {})) {
    for (const value of [given].flat()) {
      values += 1;
      characters += name.length + value.length;
    }
  }
  if (values > queryValuesMax) throw tooManyValues(queryValuesMax);
  if (characters > queryCharactersMax) throw queryTooLong();
  if (Object.keys(body.headers ?? {}).length > headersMax) throw tooManyHeaders();
  return {
    kind: 'http',
    ...to,
    method: body.method ?? 'GET',
    query: body.query ?? {},
    headers: body.headers ?? {},
    body: body.body ?? null,
    secrets: body.secrets ?? [],
    filter: body.filter ?? null,
  };
}

/** `Idempotency-Key` and `Prefer` (RFC 7240). A preference that makes no sense is ignored, as the RFC asks. */
export function parseCallHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): CallHeaders {
  const key = headers['idempotency-key'];
  if (key !== undefined && (typeof key !== 'string' || !/^[\x21-\x7e]{1,200}$/.test(key))) {
    throw one('Idempotency-Key', 'must be 1 to 200 printable ASCII characters without spaces');
  }
  const prefer = headers['prefer'];
  const preferences = (Array.isArray(prefer) ? prefer.join(',') : (prefer ?? '')).split(/[,;]/);
  const wait = preferences.map((each) => /^\s*wait\s*=\s*"?(\d{1,9})"?\s*$/i.exec(each)?.[1]);
  const seconds = Number(wait.find((each) => each !== undefined) ?? 0);
  return { idempotencyKey: key ?? null, waitMs: Math.min(seconds, waitSecondsMax) * 1000 };
}

function refuse(issues: readonly Issue[]): void {
  if (issues.length > 0) {
    throw invalidRequest('The call cannot be made as it stands; see issues.', issues);
  }
}

function one(path: string, message: string, cause?: unknown): AppError {
  return new AppError('invalid_request', `${path} ${message}.`, {
    details: { issues: [{ path, message }] },
    cause,
  });
}

/**
 * Counts the names in the query and the headers, or in the variables of a service, of a body that is not
 * yet validated: of ten thousand members each wrong one would be described before the first twenty are told.
 */
export function refuseManyNames(body: unknown, { queryValuesMax }: CallLimits): void {
  const { query, headers, variables } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (countNames(query) > queryValuesMax) throw tooManyValues(queryValuesMax);
  if (countNames(headers) > headersMax) throw tooManyHeaders();
  if (countNames(variables) > variablesMax) {
    throw new AppError('too_large', `There are more than ${variablesMax} variables; send fewer.`, {
      details: { limit: 'variables', max: variablesMax },
    });
  }
}

function countNames(value: unknown): number {
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
}

function tooManyValues(max: number): AppError {
  return new AppError(
    'too_large',
    `The query has more than ${max.toLocaleString('en')} values; send fewer.`,
    { details: { limit: 'query_values', max } },
  );
}

function queryTooLong(): AppError {
  const max = queryCharactersMax;
  return new AppError(
    'too_large',
    `The query has more than ${max.toLocaleString('en')} characters; send long values in a body.`,
    { details: { limit: 'query_characters', max } },
  );
}

function tooManyHeaders(): AppError {
  return new AppError('too_large', `There are more than ${headersMax} headers; send fewer.`, {
    details: { limit: 'headers', max: headersMax },
  });
}
