import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import type { Params } from './arguments.ts';
import { choose } from './random.ts';
import type { Random } from './random.ts';

type Schema = Readonly<Record<string, unknown>>;
type Path = readonly (string | number)[];

export interface Malformed {
  readonly what: 'missing' | 'type' | 'enum' | 'extra';
  readonly params: Params;
}

/** A value of each type, for places that take none of it. */
const samples: readonly (readonly [type: string, value: JsonValue])[] = [
  ['string', 'text'],
  ['number', 7.5],
  ['boolean', true],
  ['array', [{ a: 1 }]],
  ['object', { a: 1 }],
  ['null', null],
];

/** One argument set of each kind of mistake that the action leaves room for. */
export function malformed(action: CompiledAction, params: Params, random: Random): Malformed[] {
  const places = placesOf(action.paramsSchema, params, []);
  const missing = choose(places.flatMap(removals), random);
  const mistyped = choose(places.flatMap(mistypings), random);
  const chosen = choose(
    places.filter(({ schema }) => Array.isArray(schema['enum'])),
    random,
  );
  return [
    ...(missing ? [{ what: 'missing' as const, params: without(params, missing) }] : []),
    ...(mistyped ? [{ what: 'type' as const, params: replaced(params, mistyped) }] : []),
    ...(chosen
      ? [
          {
            what: 'enum' as const,
            params: replaced(params, { ...chosen, value: 'no such choice' }),
          },
        ]
      : []),
    { what: 'extra', params: { ...params, no_such_parameter: 'x' } },
  ];
}

interface Place {
  readonly path: Path;
  readonly schema: Schema;
  readonly value: JsonValue;
}

/** Every value with the schema that certainly holds for it: alternatives are left alone. */
function placesOf(schema: unknown, value: JsonValue, path: Path): Place[] {
  if (!isSchema(schema)) return [];
  const own = { path, schema, value };
  if (Array.isArray(value)) {
    const { items } = schema;
    return [own, ...value.flatMap((item, at) => placesOf(items, item as JsonValue, [...path, at]))];
  }
  if (value === null || typeof value !== 'object') return [own];
  const properties = isSchema(schema['properties']) ? schema['properties'] : {};
  return [
    own,
    ...Object.entries(value).flatMap(([key, member]) =>
      Object.hasOwn(properties, key) ? placesOf(properties[key], member, [...path, key]) : [],
    ),
  ];
}

function removals({ schema, value, path }: Place): Path[] {
  const { required } = schema;
  if (!Array.isArray(required) || value === null || typeof value !== 'object') return [];
  return required
    .filter((name: string) => Object.hasOwn(value, name))
    .map((name: string) => [...path, name]);
}

function mistypings({ schema, path }: Place): { path: Path; value: JsonValue }[] {
  if (path.length === 0 || schema['type'] === undefined) return [];
  const types = [schema['type']].flat() as string[];
  const isTaken = (type: string) =>
    types.includes(type) || (type === 'number' && types.includes('integer'));
  return samples.filter(([type]) => !isTaken(type)).map(([, value]) => ({ path, value }));
}

function replaced(params: Params, { path, value }: { path: Path; value: JsonValue }): Params {
  const copy = structuredClone(params);
  const [owner, last] = ownerOf(copy, path);
  owner[last] = value;
  return copy;
}

function without(params: Params, path: Path): Params {
  const copy = structuredClone(params);
  const [owner, last] = ownerOf(copy, path);
  Reflect.deleteProperty(owner, last);
  return copy;
}

function ownerOf(params: Params, path: Path): [owner: Record<string, unknown>, last: string] {
  const steps = path.map(String);
  const owner = steps
    .slice(0, -1)
    .reduce<Record<string, unknown>>(
      (value, step) => value[step] as Record<string, unknown>,
      params,
    );
  return [owner, steps.at(-1) ?? ''];
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
