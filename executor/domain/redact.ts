import type { AuditedRequest, ShownCredential } from '#contracts/audit';
import type { ShownRequest } from '#contracts/http/approvals';
import type { ToolPin } from '#contracts/mcp';
import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { bodyKindOf, encode, isRecord } from '#templates';
import { actionUrl } from './action-url.ts';
import { parseBaseUrl } from './base-url.ts';
import { rawWriting } from './build-http-request.ts';
import { headersOf, writingOf } from './build-request.ts';
import { toolHeaders } from './build-tool-request.ts';
import { isCredentialHeader } from './credential-headers.ts';
import { queryName } from './inject.ts';
import { fit } from './outline.ts';
import { redactInText } from './redact-text.ts';
import { shownBody } from './request-body.ts';
import type { BuiltRequest, Params, Projection } from './request.ts';
import { redactedText, shownHeaders } from './shown-headers.ts';

const shownBytesMax = 100 * 1024;

/** A built request, and what it was built of. */
export interface Showing {
  readonly request: Pick<BuiltRequest, 'projection'>;
  readonly action: CompiledAction | undefined;
  readonly baseUrl: string | null;
  readonly tool?: { readonly pin: ToolPin };
}

/**
 * The request as it is stored and shown: what the template's `redact` names is replaced wherever
 * it stands, in the params, the body, the headers and the URL that were made of them; what
 * credentials will replace is left out.
 */
export function showRequest(
  showing: Showing,
  { fromAction, credentials }: { fromAction: boolean; credentials: readonly ShownCredential[] },
): ShownRequest {
  const { request, action } = showing;
  const { projection } = request;
  const paths = redactedPaths(action, fromAction);
  let params: JsonValue = projection.params;
  let body = projection.body;
  for (const [root, ...steps] of paths) {
    if (root === 'params') params = redactAt(params, steps);
    if (root !== 'body') continue;
    // A verb call may bring its body as text.
    body =
      !fromAction && typeof body === 'string' && steps.length > 0
        ? redactInText(body, (value) => redactAt(value, steps))
        : redactAt(body, steps);
  }
  const url = showUrl(projection, { ...showing, fromAction, paths });
  const queryNames = replacedBy(credentials, 'query');
  const writing = fromAction && action !== undefined ? writingOf(action) : rawWriting;
  const isForm = isRecord(body) && bodyKindOf(projection.content_type ?? '') === 'form';
  const sent = shownBody(body, { ...writing, contentType: projection.content_type });
  return fit(
    {
      method: projection.method,
      url: withoutPairs(url, queryNames),
      params: fromAction ? params : without(params, queryNames),
      body: isForm && typeof sent === 'string' ? legible(sent) : sent,
      ...besideBody(projection, {
        headers: showHeaders(showing, { fromAction, params, paths }),
        credentials,
      }),
    },
    shownBytesMax,
  );
}

/** The same of what a call by method and path sends beside its address and its body. */
export function showBesideBody(
  showing: Showing,
  credentials: readonly ShownCredential[],
): AuditedRequest {
  const { action, request } = showing;
  const paths = redactedPaths(action, false);
  const headers = showHeaders(showing, { fromAction: false, params: {}, paths });
  return besideBody(request.projection, { headers, credentials });
}

function besideBody(
  { content_type }: Projection,
  {
    headers,
    credentials,
  }: { headers: Record<string, string>; credentials: readonly ShownCredential[] },
): AuditedRequest {
  const names = replacedBy(credentials, 'header');
  return {
    headers: without(headers, names) as Record<string, string>,
    content_type: names.has('content-type') ? null : content_type,
    credentials: [...credentials],
  };
}

function replacedBy(
  credentials: readonly ShownCredential[],
  place: ShownCredential['in'],
): Set<string> {
  return new Set(
    credentials.flatMap(({ in: at, key }) => (at === place ? [key.toLowerCase()] : [])),
  );
}

function redactedPaths(action: CompiledAction | undefined, fromAction: boolean): string[][] {
  const given = [...(action?.redact ?? []).map(parsePath), ...credentialParams(action)];
  const mirrored = given.flatMap((steps) => mirror(steps, action));
  return fromAction ? mirrored : mirrored.map((steps) => asSent(steps, action));
}

/** A parameter that is sent as a header for a credential is redacted, whether the template says so or not. */
function credentialParams(action: CompiledAction | undefined): string[][] {
  return (action?.params ?? []).flatMap(({ in: place, name, wireName }) =>
    place === 'header' && isCredentialHeader(wireName) ? [['params', name]] : [],
  );
}

/** Headers that are made of parameters are made again of those that may be shown. */
function showHeaders(
  { request, action, tool }: Showing,
  {
    fromAction,
    params,
    paths,
  }: { fromAction: boolean; params: JsonValue; paths: readonly string[][] },
): Record<string, string> {
  const { headers } = request.projection;
  if (action === undefined) return { ...headers };
  if (fromAction) {
    const isPlain = !isRecord(params);
    const made = isPlain ? [] : tool ? toolHeaders(tool.pin, params) : headersOf(action, params);
    const shown = shownHeaders(made);
    return Object.fromEntries(
      Object.keys(headers).map((name) => [name, shown[name] ?? redactedText]),
    );
  }
  const names = new Set(paths.flatMap(([root, name]) => (root === 'params' ? [name] : [])));
  const isHidden = (param: CompiledAction['params'][number]) =>
    param.in === 'header' && (names.has(param.name) || names.has('*') || names.has(undefined));
  const hidden = new Set(
    action.params.filter(isHidden).map(({ wireName }) => wireName.toLowerCase()),
  );
  return Object.fromEntries(
    Object.entries(headers).map(([name, text]) => [name, hidden.has(name) ? redactedText : text]),
  );
}

function without(value: JsonValue, names: ReadonlySet<string>): JsonValue {
  if (names.size === 0 || !isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => !names.has(name.toLowerCase())),
  );
}

/** A credential replaces the pairs of its name, in any casing. */
function withoutPairs(url: string, names: ReadonlySet<string>): string {
  const mark = url.indexOf('?');
  if (names.size === 0 || mark < 0) return url;
  const pairs = url
    .slice(mark + 1)
    .split('&')
    .filter((pair) => pair !== '' && !names.has(queryName(pair).toLowerCase()));
  return url.slice(0, mark) + (pairs.length === 0 ? '' : `?${pairs.join('&')}`);
}

/** The names of params of which nothing, or not everything, may be shown. */
export function redactedParams(action: CompiledAction): Set<string> {
  const given = [...action.redact.map(parsePath), ...credentialParams(action)];
  const paths = given.flatMap((steps) => mirror(steps, action));
  const all = action.params.map((param) => param.name);
  return new Set(
    paths.flatMap(([root, name]) =>
      root !== 'params' ? [] : name === undefined || name === '*' ? all : [name],
    ),
  );
}

/** `body.items[0].key` or `body.items.*.key`; a root that is none of the projection's is taken as a param's name. */
function parsePath(path: string): string[] {
  const steps = path
    .replace(/\[(\d*)\]/g, (_, index: string) => `.${index === '' ? '*' : index}`)
    .split('.')
    .filter((step) => step !== '');
  return ['method', 'url', 'params', 'body'].includes(steps[0] ?? '')
    ? steps
    : ['params', ...steps];
}

/** A body parameter stands in the params and in the body: naming one means both. */
function mirror(steps: string[], action: CompiledAction | undefined): string[][] {
  const [root, name, ...rest] = steps;
  if (!action?.body || (root !== 'params' && root !== 'body')) return [steps];
  if (root === 'body') {
    if (action.body.wholeBody) return [steps, ['params', ...steps]];
    const inBody = action.params.filter((param) => param.in === 'body');
    const meant = inBody.filter(({ wireName }) => name === wireName || (name ?? '*') === '*');
    return [steps, ...meant.map((param) => ['params', param.name, ...rest])];
  }
  if (name === undefined || name === '*') return [steps, ['body', ...rest]];
  const inBody = action.params.find((param) => param.in === 'body' && param.name === name);
  if (inBody === undefined) return [steps];
  return [steps, action.body.wholeBody ? ['body', ...rest] : ['body', inBody.wireName, ...rest]];
}

/** A verb call names its query as the request does. */
function asSent(
  [root = '', name = '', ...rest]: string[],
  action: CompiledAction | undefined,
): string[] {
  const inQuery = action?.params.find((param) => param.in === 'query' && param.name === name);
  if (root !== 'params' || inQuery === undefined) return [root, name, ...rest].filter(Boolean);
  return [root, inQuery.wireName, ...rest];
}

function redactAt(value: JsonValue, [step, ...rest]: readonly string[]): JsonValue {
  if (step === undefined) return redactedText;
  if (Array.isArray(value)) {
    const isIndex = /^\d+$/.test(step);
    // A path that says nothing of a list means every entry of it.
    return value.map((each, at) => {
      if (isIndex) return at === Number(step) ? redactAt(each, rest) : each;
      return redactAt(each, step === '*' ? rest : [step, ...rest]);
    });
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      step === '*' || step === key ? redactAt(each, rest) : each,
    ]),
  );
}

interface UrlParts extends Pick<Showing, 'action' | 'baseUrl'> {
  readonly fromAction: boolean;
  readonly paths: readonly string[][];
}

function showUrl(
  { url, params }: Projection,
  { action, baseUrl, fromAction, paths }: UrlParts,
): string {
  if (paths.some(([root]) => root === 'url')) return redactedText;
  const names = new Set(paths.filter(([root]) => root === 'params').map(([, name]) => name));
  if (names.size === 0) return url;
  const isHidden = (name: string) => names.has(name) || names.has('*') || names.has(undefined);
  const shown =
    fromAction && action && baseUrl !== null
      ? actionUrl(action, hide(params, isHidden), parseBaseUrl(baseUrl))
      : hideQuery(url, isHidden);
  return legible(shown);
}

/** Where values are percent-encoded, what stands for a redacted one stays readable. */
function legible(text: string): string {
  return text.replaceAll(encode(redactedText, ''), redactedText);
}

function hide(params: Params, isHidden: (name: string) => boolean): Params {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, isHidden(name) ? redactedText : value]),
  );
}

function hideQuery(url: string, isHidden: (name: string) => boolean): string {
  const [path = '', query] = url.split('?', 2);
  if (query === undefined) return url;
  const pairs = query.split('&').map((pair) => {
    return isHidden(queryName(pair)) ? `${pair.split('=')[0]}=${redactedText}` : pair;
  });
  return `${path}?${pairs.join('&')}`;
}
