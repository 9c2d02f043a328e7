import type { CompiledAction, CompiledParam } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { exactUrl } from './base-url.ts';
import type { BaseUrl } from './base-url.ts';
import { encode, encodeExcept, invalidParam, textOf } from './encode.ts';
import { refuseMethodOverride } from './request-headers.ts';
import type { Params } from './request.ts';

/** Reserved characters that keep their meaning inside a path or a query where a parameter says `allowReserved`. */
const reservedInPath = '/:@!$&+,;=';
const reservedInQuery = '/:@!$,;?';

/** The URL of an action: path parameters filled in, query appended in the template's order. */
export function actionUrl(
  action: CompiledAction,
  params: Params,
  { origin, prefix }: BaseUrl,
): string {
  const path = prefix + fillPath(action, params);
  const query = action.params
    .filter((param) => param.in === 'query')
    .flatMap((param) => queryPairs(param, params[param.name]))
    .join('&');
  const url = exactUrl(origin + path + (query === '' ? '' : `?${query}`));
  requireTemplatePath(action, url.pathname.slice(prefix.length));
  return url.href;
}

function fillPath(action: CompiledAction, params: Params): string {
  const byName = new Map(
    action.params.filter((param) => param.in === 'path').map((param) => [param.name, param]),
  );
  return action.path.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const param = byName.get(name);
    const value = params[name];
    if (param === undefined || value === undefined || value === null) {
      throw invalidParam(name, 'is missing and part of the path');
    }
    const values = Array.isArray(value) ? value : [value];
    return values.map((each) => pathText(textOf(each, name), param)).join(',');
  });
}

/** Reads the finished path back against its template: as many segments, and the fixed ones in their places. */
function requireTemplatePath(action: CompiledAction, path: string): void {
  if (action.params.some((param) => param.in === 'path' && param.allowReserved)) return;
  const expected = action.path.split('/');
  const found = path.split('/');
  const fits =
    expected.length === found.length &&
    expected.every((segment, at) => segment.includes('{') || segment === found[at]);
  if (!fits) throw invalidParam('params', 'would change the path of the request');
}

/** `/` is data like any other unless the template says otherwise; a dot segment never passes, in any spelling of `/`. */
function pathText(text: string, { name, allowReserved }: CompiledParam): string {
  if (text === '') throw invalidParam(name, 'must not be empty');
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(text))
    throw invalidParam(name, 'must not hold control characters');
  const segments = text.split(/[\\/]/);
  // Some servers drop `;…` before they resolve dot segments.
  if (segments.some((segment) => /^\.\.?(;|$)/.test(segment))) {
    throw invalidParam(name, 'must not hold "." or ".." as a part of a path');
  }
  if (!allowReserved) return encode(text, name);
  if (segments.includes(''))
    throw invalidParam(name, 'must not begin or end with "/" or hold "//"');
  return encodeExcept(text, name, reservedInPath);
}

/** OpenAPI's style `form`: arrays repeated or comma-joined, properties of objects as parameters of their own. */
function queryPairs(param: CompiledParam, value: JsonValue | undefined): string[] {
  if (value === undefined || value === null) return [];
  const { name, explode } = param;
  refuseMethodOverride(name);
  const text = (each: JsonValue) =>
    param.allowReserved
      ? encodeExcept(textOf(each, name), name, reservedInQuery)
      : encode(textOf(each, name), name);
  if (Array.isArray(value)) {
    if (explode) return value.map((each) => `${encode(name, name)}=${text(each)}`);
    return value.length === 0 ? [] : [`${encode(name, name)}=${value.map(text).join(',')}`];
  }
  if (typeof value !== 'object') return [`${encode(name, name)}=${text(value)}`];
  const entries = Object.entries(value);
  if (!explode) {
    const joined = entries.map(([key, each]) => `${encode(key, name)},${text(each)}`).join(',');
    return [`${encode(name, name)}=${joined}`];
  }
  return entries.map(([key, each]) => {
    refuseMethodOverride(key);
    return `${encode(key, name)}=${text(each)}`;
  });
}
