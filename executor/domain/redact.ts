import type { ShownRequest } from '#contracts/http/approvals';
import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { encode } from '#templates';
import { actionUrl } from './action-url.ts';
import { parseBaseUrl } from './base-url.ts';
import { queryName } from './inject.ts';
import type { Params, Projection } from './request.ts';

export const redactedText = '[REDACTED]';
const shownBytesMax = 100 * 1024;

/**
 * The request as it is stored and shown: what the template's `redact` names is replaced wherever
 * it stands, in the params, in the body and in the URL that was made of them.
 */
export function showRequest(
  projection: Projection,
  {
    action,
    baseUrl,
    fromAction,
  }: { action: CompiledAction | undefined; baseUrl: string | null; fromAction: boolean },
): ShownRequest {
  const mirrored = (action?.redact ?? []).flatMap((path) => mirror(parsePath(path), action));
  const paths = fromAction ? mirrored : mirrored.map((steps) => asSent(steps, action));
  let params: JsonValue = projection.params;
  let body = projection.body;
  for (const [root, ...steps] of paths) {
    if (root === 'params') params = redactAt(params, steps);
    // A verb call may bring its body as text, in which no path leads anywhere.
    const isText = !fromAction && typeof body === 'string';
    if (root === 'body') body = redactAt(body, isText ? [] : steps);
  }
  const shown = {
    method: projection.method,
    url: showUrl(projection, { action, baseUrl, fromAction, paths }),
    params,
    body,
  };
  if (Buffer.byteLength(JSON.stringify(shown)) <= shownBytesMax) return shown;
  return { too_large: true, method: shown.method, url: shown.url };
}

/** The names of params of which nothing, or not everything, may be shown. */
export function redactedParams(action: CompiledAction): Set<string> {
  const paths = action.redact.flatMap((path) => mirror(parsePath(path), action));
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

interface UrlParts {
  readonly action: CompiledAction | undefined;
  readonly baseUrl: string | null;
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
  return shown.replaceAll(encode(redactedText, ''), redactedText);
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
