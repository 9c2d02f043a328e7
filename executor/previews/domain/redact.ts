import type { AuditedRequest, ShownCredential } from '#contracts/audit';
import { replacedNamesOf } from '#contracts/credential-place';
import type { ShownRequest } from '#contracts/http/approvals';
import type { ToolPin } from '#contracts/mcp';
import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { bodyKindOf, encode, isRecord } from '#templates';
import { actionUrlOf } from '../../request/domain/action-url.ts';
import { parseBaseUrl } from '../../request/domain/base-url.ts';
import { rawFormEncoding } from '../../request/domain/build-http-request.ts';
import { headersOf, formEncodingOf } from '../../request/domain/build-action-request.ts';
import { toolHeadersOf } from '../../request/domain/build-tool-request.ts';
import { isCredentialHeader } from '../../request/domain/credential-headers.ts';
import { queryNameOf } from '../../request/domain/inject.ts';
import { fitOutline, pointerStep } from './outline.ts';
import { redactAt } from './redact-at.ts';
import type { RedactionWalk } from './redact-at.ts';
import { redactInText, unreadableTextError } from './redact-text.ts';
import { toShownBody } from '../../request/domain/request-body.ts';
import type { BuiltRequest, Params, Projection } from '../../request/domain/built-request.ts';
import { redactionMarker, toShownHeaders } from '../../request/domain/shown-headers.ts';

const shownBytesMax = 100 * 1024;

/**
 * What a shown request is made from: the built request, and the action, tool and base URL from
 * which it was built.
 */
export interface RequestToShow {
  readonly request: Pick<BuiltRequest, 'projection'>;
  readonly action: CompiledAction | undefined;
  readonly baseUrl: string | null;
  readonly tool?: { readonly pin: ToolPin };
}

/**
 * The request in the form that is stored and shown. Values at the template's `redact` paths are
 * replaced wherever they occur: in the params, the body, the headers and the URL. Values that
 * credentials will replace are left out. `redacted` lists where values were replaced, because the
 * marker alone proves nothing: a caller could have written it.
 */
export function showRequest(
  requestToShow: RequestToShow,
  {
    fromAction,
    credentials,
    hidesText = false,
  }: {
    fromAction: boolean;
    credentials: readonly ShownCredential[];
    /**
     * Set when a text with a part that must be hidden is to be hidden as a whole. Otherwise such a
     * call is refused.
     */
    hidesText?: boolean;
  },
): ShownRequest {
  const { request, action } = requestToShow;
  const { projection } = request;
  const paths = redactedPathsOf(action, fromAction);
  const redacted = new Set<string>();
  const note = (at: string) => redacted.add(at);
  let params: JsonValue = projection.params;
  let body = projection.body;
  for (const [root, ...steps] of paths) {
    if (root === 'params') params = redactAt(params, steps, { at: '/params', note });
    if (root !== 'body') continue;
    const redactValue = (value: JsonValue) => redactAt(value, steps, { at: '/body', note });
    // The body of a call by HTTP method and path may be a text.
    if (fromAction || typeof body !== 'string' || steps.length === 0) body = redactValue(body);
    else {
      const text = redactInText(body, redactValue);
      if (text === undefined && !hidesText) throw unreadableTextError();
      if (text === undefined) note('/body');
      body = text ?? redactionMarker;
    }
  }
  const url = showUrl(projection, { ...requestToShow, fromAction, paths, note });
  const queryNames = replacedNamesOf(credentials, 'query');
  const formEncoding =
    fromAction && action !== undefined ? formEncodingOf(action) : rawFormEncoding;
  const isForm = isRecord(body) && bodyKindOf(projection.content_type ?? '') === 'form';
  const shownBodyOfRequest = toShownBody(body, {
    ...formEncoding,
    contentType: projection.content_type,
  });
  const headers = showHeaders(requestToShow, { fromAction, params, paths });
  const bodySources = showBesideBody(projection, { headers, credentials });
  for (const [name, text] of Object.entries(bodySources.headers)) {
    const isReplaced = isCredentialHeader(name) || text !== projection.headers[name];
    if (isReplaced) note(`/headers/${pointerStep(name)}`);
  }
  return fitOutline(
    {
      method: projection.method,
      url: removePairs(url, queryNames),
      params: fromAction ? params : removeMembers(params, queryNames),
      body:
        isForm && typeof shownBodyOfRequest === 'string'
          ? decodeMarkers(shownBodyOfRequest)
          : shownBodyOfRequest,
      ...bodySources,
      redacted: outermostOf(redacted),
    },
    shownBytesMax,
  );
}

/**
 * Keeps only the outermost JSON pointers: leaves out pointers to values inside a value that is in
 * the set too.
 */
function outermostOf(paths: ReadonlySet<string>): string[] {
  const isInside = (path: string) => {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      if (paths.has(path.slice(0, end))) return true;
    }
    return false;
  };
  return [...paths].filter((at) => !isInside(at)).toSorted();
}

/**
 * Redacts params and headers like `showRequest`, for a call by HTTP method and path, and leaves out
 * the URL and the body.
 */
export function showWithoutBody(
  requestToShow: RequestToShow,
  credentials: readonly ShownCredential[],
): AuditedRequest {
  const { action, request } = requestToShow;
  const paths = redactedPathsOf(action, false);
  const headers = showHeaders(requestToShow, { fromAction: false, params: {}, paths });
  return showBesideBody(request.projection, { headers, credentials });
}

function showBesideBody(
  { content_type }: Projection,
  {
    headers,
    credentials,
  }: { headers: Record<string, string>; credentials: readonly ShownCredential[] },
): AuditedRequest {
  const credentialNames = replacedNamesOf(credentials, 'header');
  return {
    headers: removeMembers(headers, credentialNames) as Record<string, string>,
    content_type: credentialNames.has('content-type') ? null : content_type,
    credentials: [...credentials],
  };
}

function redactedPathsOf(action: CompiledAction | undefined, fromAction: boolean): string[][] {
  const pathsToRedact = [
    ...(action?.redact ?? []).map(parsePath),
    ...credentialParamPathsOf(action),
  ];
  const mirroredPaths = pathsToRedact.flatMap((steps) => mirrorBodyPath(steps, action));
  return fromAction ? mirroredPaths : mirroredPaths.map((steps) => toWirePath(steps, action));
}

/**
 * The header parameters that carry a credential. They are redacted even when the template does not
 * name them.
 */
function credentialParamPathsOf(action: CompiledAction | undefined): string[][] {
  return (action?.params ?? []).flatMap(({ in: location, name, wireName }) =>
    location === 'header' && isCredentialHeader(wireName) ? [['params', name]] : [],
  );
}

/**
 * The headers as they are shown. Headers that come from parameters are built again from the
 * redacted parameters.
 */
function showHeaders(
  { request, action, tool }: RequestToShow,
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
    const unshownHeaders = isPlain
      ? []
      : tool
        ? toolHeadersOf(tool.pin, params)
        : headersOf(action, params);
    const headersToShow = toShownHeaders(unshownHeaders);
    return Object.fromEntries(
      Object.keys(headers).map((name) => [name, headersToShow[name] ?? redactionMarker]),
    );
  }
  const paramNames = new Set(paths.flatMap(([root, name]) => (root === 'params' ? [name] : [])));
  const isHidden = (param: CompiledAction['params'][number]) =>
    param.in === 'header' &&
    (paramNames.has(param.name) || paramNames.has('*') || paramNames.has(undefined));
  const hiddenNames = new Set(
    action.params.filter(isHidden).map(({ wireName }) => wireName.toLowerCase()),
  );
  return Object.fromEntries(
    Object.entries(headers).map(([name, text]) => [
      name,
      hiddenNames.has(name) ? redactionMarker : text,
    ]),
  );
}

function removeMembers(value: JsonValue, names: ReadonlySet<string>): JsonValue {
  if (names.size === 0 || !isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => !names.has(name.toLowerCase())),
  );
}

/** Removes the query parameters that a credential replaces. Ignores letter case in names. */
function removePairs(url: string, names: ReadonlySet<string>): string {
  const queryIndex = url.indexOf('?');
  if (names.size === 0 || queryIndex < 0) return url;
  const pairs = url
    .slice(queryIndex + 1)
    .split('&')
    .filter((pair) => pair !== '' && !names.has(queryNameOf(pair).toLowerCase()));
  return url.slice(0, queryIndex) + (pairs.length === 0 ? '' : `?${pairs.join('&')}`);
}

/** The names of the params that are redacted completely or in part. */
export function redactedParamsOf(action: CompiledAction): Set<string> {
  const pathsToRedact = [...action.redact.map(parsePath), ...credentialParamPathsOf(action)];
  const paths = pathsToRedact.flatMap((steps) => mirrorBodyPath(steps, action));
  const all = action.params.map((param) => param.name);
  return new Set(
    paths.flatMap(([root, name]) =>
      root !== 'params' ? [] : name === undefined || name === '*' ? all : [name],
    ),
  );
}

/**
 * Parses a path of the template's `redact`, such as `body.items[0].key` or `body.items.*.key`. When
 * the path does not begin with a part of the request (such as `body`), it begins with the name of a
 * param.
 */
function parsePath(path: string): string[] {
  const steps = path
    .replace(/\[(\d*)\]/g, (_, index: string) => `.${index === '' ? '*' : index}`)
    .split('.')
    .filter((step) => step !== '');
  return ['method', 'url', 'params', 'body'].includes(steps[0] ?? '')
    ? steps
    : ['params', ...steps];
}

/**
 * A body parameter occurs both in the params and in the body, so a path to one of them redacts
 * both.
 */
function mirrorBodyPath(steps: string[], action: CompiledAction | undefined): string[][] {
  const [root, name, ...rest] = steps;
  if (!action?.body || (root !== 'params' && root !== 'body')) return [steps];
  if (root === 'body') {
    if (action.body.wholeBody) return [steps, ['params', ...steps]];
    const inBody = action.params.filter((param) => param.in === 'body');
    const matchingParams = inBody.filter(
      ({ wireName }) => name === wireName || (name ?? '*') === '*',
    );
    return [steps, ...matchingParams.map((param) => ['params', param.name, ...rest])];
  }
  if (name === undefined || name === '*') return [steps, ['body', ...rest]];
  const inBody = action.params.find((param) => param.in === 'body' && param.name === name);
  if (inBody === undefined) return [steps];
  return [steps, action.body.wholeBody ? ['body', ...rest] : ['body', inBody.wireName, ...rest]];
}

/**
 * Converts a path to the form of a call by HTTP method and path. Such a call has the query
 * parameters under the names in the URL, not under the action's names.
 */
function toWirePath(
  [root = '', name = '', ...rest]: string[],
  action: CompiledAction | undefined,
): string[] {
  const queryParam = action?.params.find((param) => param.in === 'query' && param.name === name);
  if (root !== 'params' || queryParam === undefined) return [root, name, ...rest].filter(Boolean);
  return [root, queryParam.wireName, ...rest];
}

interface UrlParts extends Pick<RequestToShow, 'action' | 'baseUrl'> {
  readonly fromAction: boolean;
  readonly paths: readonly string[][];
  readonly note: RedactionWalk['note'];
}

function showUrl(
  { url, params }: Projection,
  { action, baseUrl, fromAction, paths, note }: UrlParts,
): string {
  if (paths.some(([root]) => root === 'url')) {
    note('/url');
    return redactionMarker;
  }
  const paramNames = new Set(paths.filter(([root]) => root === 'params').map(([, name]) => name));
  if (paramNames.size === 0) return url;
  const isHidden = (name: string) =>
    paramNames.has(name) || paramNames.has('*') || paramNames.has(undefined);
  if (!fromAction || !action || baseUrl === null) return hideQuery(url, { isHidden, note });
  const isInUrl = (place: string) => place === 'path' || place === 'query';
  if (!action.params.some((param) => isInUrl(param.in) && isHidden(param.name))) return url;
  return decodeMarkers(actionUrlOf(action, hideParams(params, isHidden), parseBaseUrl(baseUrl)));
}

/** Undoes the percent-encoding of the redaction marker, so that the marker is readable in URLs. */
function decodeMarkers(text: string): string {
  return text.replaceAll(encode(redactionMarker, ''), redactionMarker);
}

function hideParams(params: Params, isHidden: (name: string) => boolean): Params {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, isHidden(name) ? redactionMarker : value]),
  );
}

function hideQuery(
  url: string,
  { isHidden, note }: { isHidden: (name: string) => boolean; note: RedactionWalk['note'] },
): string {
  const [path = '', query] = url.split('?', 2);
  if (query === undefined) return url;
  const pairs = query.split('&').map((pair) => {
    const name = queryNameOf(pair);
    if (!isHidden(name)) return pair;
    note(`/url/${pointerStep(name)}`);
    return `${pair.split('=')[0]}=${redactionMarker}`;
  });
  return `${path}?${pairs.join('&')}`;
}
