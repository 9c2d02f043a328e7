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
import { fit, pointerStep } from './outline.ts';
import { redactAt } from './redact-at.ts';
import type { Noted } from './redact-at.ts';
import { redactInText, unreadableText } from './redact-text.ts';
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
 * credentials will replace is left out. `redacted` says where, since a caller can write the same.
 */
export function showRequest(
  showing: Showing,
  {
    fromAction,
    credentials,
    hidesText = false,
  }: {
    fromAction: boolean;
    credentials: readonly ShownCredential[];
    /** A text of which a part would have to be hidden is hidden whole, and not refused. */
    hidesText?: boolean;
  },
): ShownRequest {
  const { request, action } = showing;
  const { projection } = request;
  const paths = redactedPaths(action, fromAction);
  const redacted = new Set<string>();
  const note = (at: string) => redacted.add(at);
  let params: JsonValue = projection.params;
  let body = projection.body;
  for (const [root, ...steps] of paths) {
    if (root === 'params') params = redactAt(params, steps, { at: '/params', note });
    if (root !== 'body') continue;
    const redact = (value: JsonValue) => redactAt(value, steps, { at: '/body', note });
    // A verb call may bring its body as text.
    if (fromAction || typeof body !== 'string' || steps.length === 0) body = redact(body);
    else {
      const text = redactInText(body, redact);
      if (text === undefined && !hidesText) throw unreadableText();
      if (text === undefined) note('/body');
      body = text ?? redactedText;
    }
  }
  const url = showUrl(projection, { ...showing, fromAction, paths, note });
  const queryNames = replacedBy(credentials, 'query');
  const writing = fromAction && action !== undefined ? writingOf(action) : rawWriting;
  const isForm = isRecord(body) && bodyKindOf(projection.content_type ?? '') === 'form';
  const sent = shownBody(body, { ...writing, contentType: projection.content_type });
  const headers = showHeaders(showing, { fromAction, params, paths });
  const beside = besideBody(projection, { headers, credentials });
  for (const [name, text] of Object.entries(beside.headers)) {
    const isReplaced = isCredentialHeader(name) || text !== projection.headers[name];
    if (isReplaced) note(`/headers/${pointerStep(name)}`);
  }
  return fit(
    {
      method: projection.method,
      url: withoutPairs(url, queryNames),
      params: fromAction ? params : without(params, queryNames),
      body: isForm && typeof sent === 'string' ? legible(sent) : sent,
      ...beside,
      redacted: outermost(redacted),
    },
    shownBytesMax,
  );
}

/** Without the places inside of others. */
function outermost(places: ReadonlySet<string>): string[] {
  const isInside = (at: string) => {
    for (let end = at.lastIndexOf('/'); end > 0; end = at.lastIndexOf('/', end - 1)) {
      if (places.has(at.slice(0, end))) return true;
    }
    return false;
  };
  return [...places].filter((at) => !isInside(at)).toSorted();
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

interface UrlParts extends Pick<Showing, 'action' | 'baseUrl'> {
  readonly fromAction: boolean;
  readonly paths: readonly string[][];
  readonly note: Noted['note'];
}

function showUrl(
  { url, params }: Projection,
  { action, baseUrl, fromAction, paths, note }: UrlParts,
): string {
  if (paths.some(([root]) => root === 'url')) {
    note('/url');
    return redactedText;
  }
  const names = new Set(paths.filter(([root]) => root === 'params').map(([, name]) => name));
  if (names.size === 0) return url;
  const isHidden = (name: string) => names.has(name) || names.has('*') || names.has(undefined);
  if (!fromAction || !action || baseUrl === null) return hideQuery(url, { isHidden, note });
  const isInUrl = (place: string) => place === 'path' || place === 'query';
  if (!action.params.some((param) => isInUrl(param.in) && isHidden(param.name))) return url;
  return legible(actionUrl(action, hide(params, isHidden), parseBaseUrl(baseUrl)));
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

function hideQuery(
  url: string,
  { isHidden, note }: { isHidden: (name: string) => boolean; note: Noted['note'] },
): string {
  const [path = '', query] = url.split('?', 2);
  if (query === undefined) return url;
  const pairs = query.split('&').map((pair) => {
    const name = queryName(pair);
    if (!isHidden(name)) return pair;
    note(`/url/${pointerStep(name)}`);
    return `${pair.split('=')[0]}=${redactedText}`;
  });
  return `${path}?${pairs.join('&')}`;
}
