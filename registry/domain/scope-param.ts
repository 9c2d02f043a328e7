import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from './context.ts';

type Kind = 'string' | 'number' | 'boolean' | 'null' | 'array' | 'object';

const kinds: readonly Kind[] = ['string', 'number', 'boolean', 'null', 'array', 'object'];

/**
 * Why a parameter cannot be the last part of a permission key; undefined when it can. A key shows
 * every kind of value as text: a text `{"a":1}` and that object, `1` and `"1"` would have one key, so that
 * a rule for the one would allow the other. Null is as if it were not given.
 */
export function unsuitedScope(schema: JsonValue): string | undefined {
  const possible = kindsOf(schema);
  possible.delete('null');
  if (possible.size !== 1) {
    return 'may be several kinds of values, which one key could stand for. Choose a parameter of one type, or give it one';
  }
  return possible.has('object')
    ? 'is an object, which has no one spelling. Choose a parameter that is a single value'
    : undefined;
}

/** Which kinds of values satisfy a schema, as far as its types say. */
function kindsOf(schema: JsonValue): Set<Kind> {
  if (!isObject(schema)) return new Set(kinds);
  const { type, enum: listed, const: constant, anyOf, oneOf, allOf } = schema;
  const said: Set<Kind>[] = [];
  if (type !== undefined) said.push(new Set([type].flat().map(kindOfType)));
  if (Array.isArray(listed)) said.push(new Set(listed.map(kindOf)));
  if (constant !== undefined) said.push(new Set([kindOf(constant)]));
  for (const alternatives of [anyOf, oneOf]) {
    if (!Array.isArray(alternatives)) continue;
    said.push(new Set(alternatives.flatMap((each) => [...kindsOf(each)])));
  }
  if (Array.isArray(allOf)) said.push(...allOf.map(kindsOf));
  return said.reduce((all, each) => all.intersection(each), new Set(kinds));
}

function kindOfType(type: JsonValue): Kind {
  return type === 'integer' ? 'number' : (kinds.find((kind) => kind === type) ?? 'object');
}

function kindOf(value: JsonValue): Kind {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return isObject(value) ? 'object' : (typeof value as 'string' | 'number' | 'boolean');
}
