import type { CompiledParam } from '../contracts/template.ts';
import type { JsonValue } from '../contracts/vocabulary.ts';
import { refuseMethodOverride } from './method-override.ts';
import { encode, invalidParam, isRecord, presentEntries, textOf } from './text.ts';

/** What decides how a value is written (OpenAPI 3.1.0 §4.8.12.2, RFC 6570 §3.2). */
export type Styled = Pick<CompiledParam, 'name' | 'wireName' | 'style' | 'explode'>;

/** Encodes one plain text for the place it is written to. */
export type Write = (text: string) => string;

/** The argument of that name; params come from callers, and every object inherits some members. */
export function givenValue(
  params: Readonly<Record<string, JsonValue>>,
  name: string,
): JsonValue | undefined {
  return Object.hasOwn(params, name) ? params[name] : undefined;
}

/** Null, and a list or object of nothing, are as if the parameter were not given (RFC 6570 §2.3). */
export function isAbsent(value: JsonValue | undefined): value is null | undefined {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isRecord(value) && presentEntries(value).length === 0;
}

/** A value as one text, for a path or a header: styles `simple`, `label`, `matrix` and `json`. */
export function joinedText(value: JsonValue, param: Styled, write: Write): string {
  const { name, wireName, style, explode } = param;
  if (style === 'json') return write(JSON.stringify(value));
  const lead = style === 'label' ? '.' : style === 'matrix' ? ';' : '';
  const key = style === 'matrix' ? `${write(wireName)}=` : '';
  if (typeof value !== 'object' || value === null) return lead + key + write(textOf(value, name));
  const members = memberTexts(value, param, write);
  if (!explode || lead === '') return lead + key + apart(members, ',', name).join(',');
  const start = isRecord(value) ? lead : lead + key;
  return apart(members, lead, name)
    .map((member) => start + member)
    .join('');
}

/** Of the names of a nested value; a request body is smaller. */
const deepCharactersMax = 4_000_000;

const delimiters = { form: ',', spaceDelimited: '%20', pipeDelimited: '%7C' } as const;

/** A value as the pairs of a query or form: styles `form`, `…Delimited`, `deepObject` and `json`. */
export function pairTexts(value: JsonValue, param: Styled, write: Write): string[] {
  const { name, wireName, style, explode } = param;
  const pair = (key: string, text: string) => {
    refuseMethodOverride(key);
    return `${encode(key, name)}=${text}`;
  };
  if (style === 'json') return [pair(wireName, write(JSON.stringify(value)))];
  if (typeof value !== 'object' || value === null)
    return [pair(wireName, write(textOf(value, name)))];
  if (style === 'deepObject') {
    // Each value is written with the names of all that it is inside of.
    let left = deepCharactersMax;
    return deepEntries(value, wireName).map(([key, member]) => {
      left -= key.length;
      if (left < 0)
        throw invalidParam(
          name,
          'holds too many values under long names; send fewer, or shorter names',
        );
      return pair(key, write(textOf(member, name)));
    });
  }
  if (!explode) {
    const delimiter = delimiters[style as keyof typeof delimiters];
    return [
      pair(wireName, apart(memberTexts(value, param, write), delimiter, name).join(delimiter)),
    ];
  }
  if (isRecord(value)) {
    return presentEntries(value).map(([key, member]) => pair(key, write(textOf(member, name))));
  }
  const start = pair(wireName, '');
  return value.map((member) => start + write(textOf(member, name)));
}

/** The pairs' names that come from the value and not from the template, where the style has such. */
export function ownNames(value: JsonValue, { style, explode }: Styled): string[] {
  const isSpread = explode && style !== 'json' && style !== 'deepObject' && isRecord(value);
  return isSpread ? presentEntries(value).map(([key]) => key) : [];
}

function memberTexts(value: object & JsonValue, param: Styled, write: Write): string[] {
  const { name, explode } = param;
  if (Array.isArray(value)) return value.map((each) => write(textOf(each, name)));
  return presentEntries(value).flatMap(([key, member]) => {
    const text = write(textOf(member, name));
    return explode ? [`${apart([write(key)], '=', name).join()}=${text}`] : [write(key), text];
  });
}

/** Where the place has no way to encode the delimiter, a member that holds it would be read as two. */
function apart(members: readonly string[], delimiter: string, name: string): readonly string[] {
  if (members.some((member) => member.includes(delimiter))) {
    const shown = decodeURIComponent(delimiter);
    throw invalidParam(name, `holds "${shown}", which separates its values`);
  }
  return members;
}

/** `a[b]=1`, `a[b][0]=2`: with the place of each item, so that no two readings group them differently. */
function deepEntries(value: JsonValue, prefix: string): [string, JsonValue][] {
  if (typeof value !== 'object' || value === null) return [[prefix, value]];
  const members = isRecord(value)
    ? presentEntries(value)
    : value.map((item, at): [string, JsonValue] => [String(at), item]);
  return members.flatMap(([key, member]) => deepEntries(member, `${prefix}[${key}]`));
}
