import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import type { Params } from './arguments.ts';
import { chooseItem } from './random.ts';
import type { Random } from './random.ts';

type Schema = Readonly<Record<string, unknown>>;
type Path = readonly (string | number)[];

export interface MalformedParams {
  readonly what: 'missing' | 'type' | 'enum' | 'extra';
  readonly params: Params;
}

/**
 * One value of each JSON type. At a place where the schema does not allow the type, the value is a
 * mistake.
 */
const valuesOfEachType: readonly (readonly [type: string, value: JsonValue])[] = [
  ['string', 'text'],
  ['number', 7.5],
  ['boolean', true],
  ['array', [{ a: 1 }]],
  ['object', { a: 1 }],
  ['null', null],
];

/**
 * Makes one malformed set of arguments for each kind of mistake that the action's schema can
 * detect.
 */
export function generateMalformed(
  action: CompiledAction,
  params: Params,
  random: Random,
): MalformedParams[] {
  const places = placesOf(action.paramsSchema, params, []);
  const removablePath = chooseItem(places.flatMap(removablePathsIn), random);
  const wrongTypePlace = chooseItem(places.flatMap(wrongTypesIn), random);
  const enumPlace = chooseItem(
    places.filter(({ schema }) => Array.isArray(schema['enum'])),
    random,
  );
  return [
    ...(removablePath
      ? [{ what: 'missing' as const, params: removeAt(params, removablePath) }]
      : []),
    ...(wrongTypePlace
      ? [{ what: 'type' as const, params: replaceAt(params, wrongTypePlace) }]
      : []),
    ...(enumPlace
      ? [
          {
            what: 'enum' as const,
            params: replaceAt(params, { ...enumPlace, value: 'no such choice' }),
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

/**
 * Lists every value in the arguments with the schema that applies to it. Values within `anyOf` or
 * `oneOf` are left out, because several schemas could apply.
 */
function placesOf(schema: unknown, value: JsonValue, path: Path): Place[] {
  if (!isSchema(schema)) return [];
  const ownPlace = { path, schema, value };
  if (Array.isArray(value)) {
    const { items } = schema;
    return [
      ownPlace,
      ...value.flatMap((item, at) => placesOf(items, item as JsonValue, [...path, at])),
    ];
  }
  if (value === null || typeof value !== 'object') return [ownPlace];
  const properties = isSchema(schema['properties']) ? schema['properties'] : {};
  return [
    ownPlace,
    ...Object.entries(value).flatMap(([key, member]) =>
      Object.hasOwn(properties, key) ? placesOf(properties[key], member, [...path, key]) : [],
    ),
  ];
}

function removablePathsIn({ schema, value, path }: Place): Path[] {
  const { required } = schema;
  if (!Array.isArray(required) || value === null || typeof value !== 'object') return [];
  return required
    .filter((name: string) => Object.hasOwn(value, name))
    .map((name: string) => [...path, name]);
}

function wrongTypesIn({ schema, path }: Place): { path: Path; value: JsonValue }[] {
  if (path.length === 0 || schema['type'] === undefined) return [];
  const types = [schema['type']].flat() as string[];
  const isAllowedType = (type: string) =>
    types.includes(type) || (type === 'number' && types.includes('integer'));
  return valuesOfEachType
    .filter(([type]) => !isAllowedType(type))
    .map(([, value]) => ({ path, value }));
}

function replaceAt(params: Params, { path, value }: { path: Path; value: JsonValue }): Params {
  const copy = structuredClone(params);
  const [owner, last] = ownerOf(copy, path);
  owner[last] = value;
  return copy;
}

function removeAt(params: Params, path: Path): Params {
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
