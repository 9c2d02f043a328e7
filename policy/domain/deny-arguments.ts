import type { CompiledParam } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import type { FoundOperation } from '#templates';
import type { Neighbour, SentRequest } from './deny-names.ts';
import { membersOf } from './deny-values.ts';
import type { ReadValue } from './deny-values.ts';

interface Given {
  readonly request: SentRequest;
  readonly fits: Neighbour['fits'];
  readonly readValue: ReadValue;
  /** The same operation was found in the literal path: these are its values to servers that read otherwise. */
  readonly isOtherReading?: boolean;
}

/**
 * What the scope parameter of an operation holds. Undefined, and so any value, where it
 * is absent, where it is no value that the parameter can have, and where servers differ too much.
 */
export function argumentsOf(
  operation: FoundOperation,
  { request, fits, readValue, isOtherReading = false }: Given,
): readonly string[] | undefined {
  const param = operation.action.params.find(({ name }) => name === operation.action.scopeParam);
  if (param === undefined) return undefined;
  const given = valuesOf(param, operation, request);
  const elsewhere = otherValuesOf(param, operation, request);
  if (given === undefined || elsewhere === undefined || given.length === 0) return undefined;
  const values = [...given, ...elsewhere, ...betweenBlanks(param, given)];
  if (values.length > valuesMax) return undefined;
  const read = values.map((value) => readValue(value));
  if (read.some(({ args }) => args === undefined)) return undefined;
  const isPossible = read
    .slice(0, given.length)
    .every(({ readings }) => readings.some((reading) => fits(param, reading)));
  if (!isPossible && !isOtherReading) return undefined;
  const [only, ...others] = read.map(({ args }) => args ?? []);
  return others.length === 0 ? only : [...new Set([...(only ?? []), ...others.flat()])];
}

/** Members of a body that servers may take for one parameter; more than that are unknown. */
const valuesMax = 10;

/** The values at the place where the parameter belongs. */
function valuesOf(
  { name, wireName, in: place }: CompiledParam,
  { action, pathValues }: FoundOperation,
  { query, body }: SentRequest,
): readonly JsonValue[] | undefined {
  if (place === 'path') return Object.hasOwn(pathValues, name) ? [pathValues[name] ?? ''] : [];
  if (place === 'query') return membersOf(query, wireName);
  if (place !== 'body') return [];
  if (action.body?.wholeBody !== true) return membersOf(body, wireName);
  return body === undefined || body === null ? [] : [body];
}

/** What some servers read instead: a `+` as a blank, a query split at `;`, a body's parameter in the query. */
function otherValuesOf(
  { name, wireName, in: place }: CompiledParam,
  { action, pathValues }: FoundOperation,
  { query, otherQuery, body }: SentRequest,
): readonly JsonValue[] | undefined {
  if (place === 'path') {
    const value = Object.hasOwn(pathValues, name) ? pathValues[name] : undefined;
    return value?.includes('+') === true ? [value.replaceAll('+', ' ')] : [];
  }
  if (action.body?.wholeBody === true && place === 'body') return [];
  const elsewhere = membersOf(place === 'query' ? body : query, wireName);
  const others = membersOf(otherQuery, wireName);
  return elsewhere && others && [...elsewhere, ...others];
}

/** The items of lists that are written with blanks between them. */
function betweenBlanks({ style }: CompiledParam, values: readonly JsonValue[]): JsonValue[] {
  if (style !== 'spaceDelimited') return [];
  const items = values.flat().flatMap((each) => (typeof each === 'string' ? each.split(' ') : []));
  return items.length === 0 ? [] : [items];
}
