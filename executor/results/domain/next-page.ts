import type { CompiledParam, ParameterStyle } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import type { Params } from '../../request/domain/built-request.ts';

/** One entry of a Link header (RFC 8288 §3). */
const linkEntry =
  /<([^<>]{1,4096})>((?:\s*;\s*[a-z*]{1,40}\s*=\s*(?:"[^"]{0,500}"|[^\s",;]{1,500}))*)/gi;

/**
 * The params for the next page, when the upstream sends `Link: rel=next`: the params of this call,
 * updated with the query parameters of the link. The link's path is ignored, because many APIs have
 * another path for the same resource there.
 */
export function nextPageParamsOf(
  link: string | undefined,
  { params, given, url }: { params: readonly CompiledParam[]; given: Params; url: string },
): Params | undefined {
  const target = link === undefined ? undefined : findNext(link.slice(0, 8192));
  const nextUrl = target === undefined ? null : URL.parse(target, url);
  if (nextUrl === null || nextUrl.host !== new URL(url).host) return undefined;
  const changed: [string, JsonValue][] = [];
  for (const param of params) {
    if (param.in !== 'query') continue;
    const texts = nextUrl.searchParams.getAll(param.wireName);
    if (texts.length > 0) changed.push([param.name, parseParam(param, texts)]);
  }
  return changed.length === 0 ? undefined : { ...given, ...Object.fromEntries(changed) };
}

function findNext(link: string): string | undefined {
  for (const [, target, attributes = ''] of link.matchAll(linkEntry)) {
    const rel = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s",;]+))/i.exec(attributes);
    const relationNames = (rel?.[1] ?? rel?.[2] ?? '').toLowerCase().split(/\s+/);
    if (relationNames.includes('next')) return target;
  }
  return undefined;
}

const delimiters: Partial<Record<ParameterStyle, string>> = {
  spaceDelimited: ' ',
  pipeDelimited: '|',
};

function parseParam(
  { schema, explode, style }: CompiledParam,
  texts: readonly string[],
): JsonValue {
  const types = [schema['type']].flat();
  if (types.includes('array')) {
    return explode ? [...texts] : (texts[0] ?? '').split(delimiters[style] ?? ',');
  }
  const text = texts[0] ?? '';
  const number = Number(text);
  const isNumeric = types.includes('integer') || types.includes('number');
  if (isNumeric && text !== '' && Number.isSafeInteger(number)) return number;
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}
