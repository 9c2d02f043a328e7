import type { CompiledParam } from '../contracts/template.ts';
import type { JsonValue } from '../contracts/vocabulary.ts';
import { AppError } from '../errors/index.ts';
import { toRawNumbers } from '../exact-json/index.ts';
import { refuseMethodOverride } from './method-override.ts';
import { percentEncode, invalidParam, isRecord, presentEntriesOf, textOf } from './text.ts';

/**
 * The properties of a parameter that decide how its value is written (OpenAPI 3.1.0 §4.8.12.2, RFC
 * 6570 §3.2).
 */
export type StyledParam = Pick<CompiledParam, 'name' | 'wireName' | 'style' | 'explode'> & {
  /**
   * The schema shows where a value that is written as JSON has numbers; absent when it is not
   * known.
   */
  readonly schema?: CompiledParam['schema'] | undefined;
  /** Adds up the size of the written text; absent when another limit bounds that size. */
  readonly size?: SentSize | undefined;
};

/** Adds up what a request will send, before it is built. */
export interface SentSize {
  /** Adds bytes; throws `too_large` when there are too many. */
  add(bytes: number): void;
}

/**
 * Limits the size of the text that is made from a value. A name that appears once in the JSON of a
 * call may be written for each item of a list in a form.
 */
export function limitSentSize(bytesMax: number, description: string): SentSize {
  let bytesLeft = bytesMax;
  return {
    add(bytes) {
      bytesLeft -= bytes;
      if (bytesLeft >= 0) return;
      throw new AppError(
        'too_large',
        `The ${description} would be longer than ${bytesMax.toLocaleString('en')} bytes; send less, or in several calls.`,
        { details: { limit: `sent_${description}_bytes`, max: bytesMax } },
      );
    },
  };
}

/** Encodes a text for the part of the request into which it is written. */
export type PartEncoder = (text: string) => string;

/** The argument of that name if the caller gave it, and not a member that every object inherits. */
export function givenValueOf(
  params: Readonly<Record<string, JsonValue>>,
  name: string,
): JsonValue | undefined {
  return Object.hasOwn(params, name) ? params[name] : undefined;
}

/** Null, an empty list and an empty object count as not given (RFC 6570 §2.3). */
export function isAbsent(value: JsonValue | undefined): value is null | undefined {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isRecord(value) && presentEntriesOf(value).length === 0;
}

/** A value as one text, for a path or a header: styles `simple`, `label`, `matrix` and `json`. */
export function toJoinedText(value: JsonValue, param: StyledParam, write: PartEncoder): string {
  const { name, wireName, style, explode, schema } = param;
  if (style === 'json') return write(JSON.stringify(toRawNumbers(value, schema)));
  const leadCharacter = style === 'label' ? '.' : style === 'matrix' ? ';' : '';
  const key = style === 'matrix' ? `${write(wireName)}=` : '';
  if (typeof value !== 'object' || value === null)
    return leadCharacter + key + write(textOf(value, name));
  const members = memberTextsOf(value, param, write);
  if (!explode || leadCharacter === '')
    return leadCharacter + key + requireNoDelimiter(members, ',', name).join(',');
  const start = isRecord(value) ? leadCharacter : leadCharacter + key;
  return requireNoDelimiter(members, leadCharacter, name)
    .map((member) => start + member)
    .join('');
}

const delimiters = { form: ',', spaceDelimited: '%20', pipeDelimited: '%7C' } as const;

/** A value as the pairs of a query or form: styles `form`, `…Delimited`, `deepObject` and `json`. */
export function toPairTexts(value: JsonValue, param: StyledParam, write: PartEncoder): string[] {
  const { name, wireName, style, explode, size, schema } = param;
  const toPair = (key: string, text: string) => {
    size?.add(key.length + text.length + 2);
    refuseMethodOverride(key);
    return `${percentEncode(key, name)}=${text}`;
  };
  if (style === 'json')
    return [toPair(wireName, write(JSON.stringify(toRawNumbers(value, schema))))];
  if (typeof value !== 'object' || value === null)
    return [toPair(wireName, write(textOf(value, name)))];
  if (style === 'deepObject') {
    return deepEntriesOf(value, wireName).map(([key, member]) =>
      toPair(key, write(textOf(member, name))),
    );
  }
  if (!explode) {
    const delimiter = delimiters[style as keyof typeof delimiters];
    return [
      toPair(
        wireName,
        requireNoDelimiter(memberTextsOf(value, param, write), delimiter, name).join(delimiter),
      ),
    ];
  }
  if (isRecord(value)) {
    // RFC 6570 does not define how to write a list in an object. It is written like a separate
    // list.
    return presentEntriesOf(value).flatMap(([key, member]) =>
      (Array.isArray(member) ? member : [member]).map((each) =>
        toPair(key, write(textOf(each, name))),
      ),
    );
  }
  const start = toPair(wireName, '');
  return value.map((member) => {
    const pair = start + write(textOf(member, name));
    size?.add(pair.length + 1);
    return pair;
  });
}

/**
 * In some styles the members of the value become names in the query or form. Returns such a name
 * that is also in `names`, the names of other parameters; undefined when there is none.
 */
export function takenNameOf(
  value: JsonValue,
  { wireName, style, explode }: StyledParam,
  names: ReadonlySet<string>,
): string | undefined {
  if (!isRecord(value) || style === 'json') return undefined;
  if (style !== 'deepObject') {
    return explode ? presentEntriesOf(value).find(([key]) => names.has(key))?.[0] : undefined;
  }
  if (!hasNameWith(`${wireName}[`, names)) return undefined;
  return deepEntriesOf(value, wireName).find(([name]) => names.has(name))?.[0];
}

/** The names in order, computed once, because each field of a form is compared with all others. */
const sortedNames = new WeakMap<ReadonlySet<string>, readonly string[]>();

/** Whether one of the names begins with this text. */
function hasNameWith(start: string, names: ReadonlySet<string>): boolean {
  let sorted = sortedNames.get(names);
  if (sorted === undefined) sortedNames.set(names, (sorted = [...names].toSorted()));
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((sorted[middle] ?? '') < start) from = middle + 1;
    else to = middle;
  }
  return sorted[from]?.startsWith(start) === true;
}

function memberTextsOf(
  value: object & JsonValue,
  param: StyledParam,
  write: PartEncoder,
): string[] {
  const { name, explode } = param;
  if (Array.isArray(value)) return value.map((each) => write(textOf(each, name)));
  return presentEntriesOf(value).flatMap(([key, member]) => {
    const text = write(textOf(member, name));
    return explode
      ? [`${requireNoDelimiter([write(key)], '=', name).join()}=${text}`]
      : [write(key), text];
  });
}

/**
 * Refuses members that contain the delimiter where it cannot be encoded: a server would read such a
 * member as two.
 */
function requireNoDelimiter(
  members: readonly string[],
  delimiter: string,
  name: string,
): readonly string[] {
  if (members.some((member) => member.includes(delimiter))) {
    const shownDelimiter = decodeURIComponent(delimiter);
    throw invalidParam(name, `holds "${shownDelimiter}", which separates its values`);
  }
  return members;
}

/**
 * Names nested values `a[b]=1`, `a[b][0]=2`: each list item has its index, so that all servers
 * group the values alike.
 */
function deepEntriesOf(value: JsonValue, prefix: string): [string, JsonValue][] {
  if (typeof value !== 'object' || value === null) return [[prefix, value]];
  const members = isRecord(value)
    ? presentEntriesOf(value)
    : value.map((item, at): [string, JsonValue] => [String(at), item]);
  return members.flatMap(([key, member]) => deepEntriesOf(member, `${prefix}[${key}]`));
}
