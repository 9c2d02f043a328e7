import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from '../../document/domain/context.ts';

type ValueKind = 'string' | 'number' | 'boolean' | 'null' | 'array' | 'object';

const allKinds: readonly ValueKind[] = ['string', 'number', 'boolean', 'null', 'array', 'object'];

/**
 * Returns the reason why a parameter cannot be the last part of a permission key; undefined when it
 * can. Permission keys write all values as text. The text `1` and the number 1 would therefore give
 * the same permission key, and a rule for one would allow the other; likewise the text `{"a":1}`
 * and the object. A null counts as an absent value.
 */
export function scopeParamProblem(schema: JsonValue): string | undefined {
  const possibleKinds = acceptedKindsOf(schema);
  possibleKinds.delete('null');
  if (possibleKinds.size !== 1) {
    return 'may be several kinds of values, which one key could stand for. Choose a parameter of one type, or give it one';
  }
  return possibleKinds.has('object')
    ? 'is an object, which has no one spelling. Choose a parameter that is a single value'
    : undefined;
}

/** The kinds of values that a schema accepts, judged by its `type` keywords. */
function acceptedKindsOf(schema: JsonValue): Set<ValueKind> {
  if (!isObject(schema)) return new Set(allKinds);
  const { type, enum: listedValues, const: constant, anyOf, oneOf, allOf } = schema;
  const acceptedKinds: Set<ValueKind>[] = [];
  if (type !== undefined) acceptedKinds.push(new Set([type].flat().map(kindOfType)));
  if (Array.isArray(listedValues)) acceptedKinds.push(new Set(listedValues.map(kindOf)));
  if (constant !== undefined) acceptedKinds.push(new Set([kindOf(constant)]));
  for (const alternatives of [anyOf, oneOf]) {
    if (!Array.isArray(alternatives)) continue;
    acceptedKinds.push(new Set(alternatives.flatMap((each) => [...acceptedKindsOf(each)])));
  }
  if (Array.isArray(allOf)) acceptedKinds.push(...allOf.map(acceptedKindsOf));
  return acceptedKinds.reduce((all, each) => all.intersection(each), new Set(allKinds));
}

function kindOfType(type: JsonValue): ValueKind {
  return type === 'integer' ? 'number' : (allKinds.find((kind) => kind === type) ?? 'object');
}

function kindOf(value: JsonValue): ValueKind {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return isObject(value) ? 'object' : (typeof value as 'string' | 'number' | 'boolean');
}
