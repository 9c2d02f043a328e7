import { isObject } from '../../registry/domain/context.ts';
import {
  alternativesOf,
  asSchema,
  choicesOf,
  fits,
  isOfType,
  isOpen,
  propertiesOf,
  requiredOf,
  typesOf,
} from './schema-shape.ts';
import type { Schema } from './schema-shape.ts';

type Json = unknown;

/** Values for one place of the arguments, of which any two are different calls. */
export interface Probe {
  /** `fields.labels[]`; `*` stands for a property that the schema does not name. */
  readonly at: string;
  readonly values: readonly Json[];
}

/** What surrounds the place that is probed: everything that can be given with it, or no more than has to be. */
export type Surroundings = 'full' | 'bare';

interface Place {
  readonly schema: Schema;
  /** From the example call of the catalogue, where it has this place. */
  readonly example: Json;
  readonly at: string;
}

const annotations = ['description', 'title', 'examples', 'default', 'deprecated', '$schema'];
const sizes = ['minLength', 'maxLength', 'pattern', 'format', 'contentEncoding', 'propertyNames'];
const bounds = ['minimum', 'maximum', 'maxItems', 'minItems', 'minProperties', 'maxProperties'];
const shapes = [
  'type',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'anyOf',
  'oneOf',
];
const known = new Set([...annotations, ...sizes, ...bounds, ...shapes, 'const', 'enum']);

/** Every place of a schema at which callers choose something, each with values to tell apart. */
export function probesOf(place: Place, surroundings: Surroundings): Probe[] {
  const schema = readable(place);
  return alternativesOf(schema).flatMap((alternative) =>
    probesOfAlternative({ ...place, schema: alternative }, surroundings),
  );
}

function probesOfAlternative(place: Place, surroundings: Surroundings): Probe[] {
  const { schema, at } = place;
  const choices = choicesOf(schema);
  if (choices !== undefined) return choices.length > 1 ? [{ at, values: choices }] : [];
  const types = typesOf(schema);
  // Whatever JSON is: an object stands for all of it.
  if (types.length === 0) return [{ at, values: openValues }];
  const probes = types.flatMap((type) => {
    if (type === 'object') return objectProbes(place, surroundings);
    if (type === 'array') return arrayProbes(place, surroundings);
    return [{ at, values: scalars(type, place) }];
  });
  // Of several types each has to be told from null, which empties a field.
  if (!types.includes('null') || types.length === 1) return probes;
  return [...probes, { at, values: [null, sample(place, surroundings)] }];
}

const openValues = [{ deep: ['probe one'] }, { deep: ['probe two'] }, { other: ['probe one'] }];

function objectProbes(place: Place, surroundings: Surroundings): Probe[] {
  const { schema, example, at } = place;
  const around = sampleObject(place, surroundings);
  const named = Object.entries(propertiesOf(schema)).flatMap(([name, property]) => {
    const inner = { schema: property, example: memberOf(example, name), at: join(at, name) };
    const probes = probesOf(inner, surroundings).map((probe) => ({
      at: probe.at,
      values: probe.values.map((value) => withMember(schema, around, [name, value])),
    }));
    if (requiredOf(schema).includes(name)) return probes;
    const without = { ...around };
    delete without[name];
    const telling = tellingPresence(property);
    return [
      ...probes,
      ...telling.map((value) => ({
        at: `${inner.at} = ${JSON.stringify(value)}`,
        values: [without, withMember(schema, without, [name, value])],
      })),
    ];
  });
  if (!isOpen(schema)) return named;
  const extra = probesOf(openMember(place), surroundings);
  return [
    ...named,
    ...extra.map((probe) => ({
      at: probe.at,
      values: [
        ...probe.values.map((value) => withMember(schema, around, ['probe_a', value])),
        ...probe.values.slice(0, 1).map((value) => withMember(schema, around, ['probe_b', value])),
      ],
    })),
  ];
}

/** Values of an optional property that change something although they look like nothing. */
function tellingPresence(schema: Schema): Json[] {
  if (schema['default'] !== undefined) return [];
  const choices = choicesOf(schema);
  if (choices?.length === 1) return choices;
  const types = typesOf(schema);
  const values: Json[] = [];
  if (choices !== undefined) return choices.filter((choice) => choice === null || choice === '');
  if (types.includes('null')) values.push(null);
  if (types.includes('string') && mayBeEmpty(schema)) values.push('');
  if (types.includes('array') && Number(schema['minItems'] ?? 0) === 0) values.push([]);
  return values;
}

function mayBeEmpty(schema: Schema): boolean {
  return Number(schema['minLength'] ?? 0) === 0 && schema['pattern'] === undefined;
}

function arrayProbes(place: Place, surroundings: Surroundings): Probe[] {
  const { schema, example, at } = place;
  const items = asSchema(schema['items'] ?? true);
  const inner = { schema: items, example: memberOf(example, 0), at: `${at}[]` };
  const first = sample(inner, surroundings);
  const least = Number(schema['minItems'] ?? 0);
  const isPair = Number(schema['maxItems'] ?? 2) >= 2;
  return probesOf(inner, surroundings).flatMap(({ at: deep, values }) => {
    const alone = { at: deep, values: values.map((value) => [value]) };
    const second = { at: deep, values: values.map((value) => [first, value]) };
    // The order of a list counts too.
    const [one, other] = values;
    const swapped = {
      at: deep,
      values: [
        [one, other],
        [other, one],
      ],
    };
    return [...(least < 2 ? [alone] : []), ...(isPair ? [second, swapped] : [])];
  });
}

function scalars(type: string, { schema, example, at }: Place): Json[] {
  if (type === 'boolean') return [true, false];
  if (type === 'null') return [null];
  if (type === 'integer' || type === 'number') {
    const base = typeof example === 'number' ? example : Number(schema['minimum'] ?? 1);
    const next = base + 1 <= Number(schema['maximum'] ?? Infinity) ? base + 1 : base - 1;
    return type === 'number' ? [base, next, (base + next) / 2] : [base, next];
  }
  if (schema['contentEncoding'] === 'base64') return ['UFJPQkUx', 'UFJPQkUy'];
  const base = typeof example === 'string' && example !== '' ? example : at.replaceAll(/\W/g, '');
  if (schema['pattern'] !== undefined && /^\d+$/.test(base)) {
    return [base, base.replace(/\d$/, (digit) => (digit === '1' ? '2' : '1'))];
  }
  // They differ at their end only, where a filter that shows a beginning does not look; four
  // characters more are whole bytes more where the text is base64.
  const room = Math.min(Number(schema['maxLength'] ?? longText), longText) - base.length - 4;
  const isFree = schema['pattern'] === undefined && room > base.length;
  const filling = isFree ? ' probe'.repeat(Math.floor(room / ' probe'.length)) : '';
  return [`${base}${filling}ZZZ1`, `${base}${filling}ZZZ2`];
}

const longText = 600;

/** One value that fits, with everything in it or with what it has to have. */
export function sample(place: Place, surroundings: Surroundings): Json {
  const alternatives = alternativesOf(readable(place));
  const fitting = alternatives.find((alternative) => fits(alternative, place.example));
  const schema = fitting ?? alternatives[0] ?? {};
  const choices = choicesOf(schema);
  if (choices !== undefined) return choices.includes(place.example) ? place.example : choices[0];
  const type = typesOf(schema).find((name) => isOfType(name, place.example)) ?? typesOf(schema)[0];
  const inner = { ...place, schema };
  if (type === undefined) return place.example ?? 'probe';
  if (type === 'object') return sampleObject(inner, surroundings);
  if (type === 'array') {
    const least = surroundings === 'full' ? 1 : Number(schema['minItems'] ?? 0);
    return Array.from({ length: Math.max(least, Number(schema['minItems'] ?? 0)) }, (_, index) =>
      sample(
        {
          schema: asSchema(schema['items'] ?? true),
          example: memberOf(place.example, index),
          at: `${place.at}[]`,
        },
        surroundings,
      ),
    );
  }
  return place.example ?? scalars(type, inner)[0];
}

function sampleObject(place: Place, surroundings: Surroundings): Record<string, Json> {
  const { schema, example, at } = place;
  const properties = Object.entries(propertiesOf(schema));
  const required = requiredOf(schema);
  const chosen = properties.filter(([name]) => surroundings === 'full' || required.includes(name));
  const least = Number(schema['minProperties'] ?? 0);
  const others = properties.filter(([name]) => !chosen.some(([known]) => known === name));
  chosen.push(...others.slice(0, Math.max(0, least - chosen.length)));
  const most = Number(schema['maxProperties'] ?? Infinity);
  if (chosen.length > most) chosen.splice(most);
  const named = chosen.map(([name, property]) => [
    name,
    sample(
      { schema: property, example: memberOf(example, name), at: join(at, name) },
      surroundings,
    ),
  ]);
  const isTooFew = named.length < least || (surroundings === 'full' && isOpen(schema));
  const more = isTooFew ? [['probe_0', sample(openMember(place), surroundings)]] : [];
  return Object.fromEntries([...named, ...more]) as Record<string, Json>;
}

/** With one more property; of the optional ones, as many give way to it as the schema has no room for. */
function withMember(
  schema: Schema,
  around: Readonly<Record<string, Json>>,
  [name, value]: [name: string, value: Json],
): Record<string, Json> {
  const required = requiredOf(schema);
  const most = Number(schema['maxProperties'] ?? Infinity);
  const others = Object.keys(around).filter((other) => other !== name);
  const dropped = others
    .toSorted((one, other) => Number(required.includes(other)) - Number(required.includes(one)))
    .slice(most - 1);
  const kept = Object.entries(around).filter(([other]) => !dropped.includes(other));
  return { ...Object.fromEntries(kept), [name]: value };
}

/** A property that the schema allows without naming it. */
function openMember({ schema, example, at }: Place): Place {
  const names = Object.keys(propertiesOf(schema));
  const given = isObject(example) ? Object.entries(example) : [];
  return {
    schema: asSchema(schema['additionalProperties'] ?? {}),
    example: given.find(([name]) => !names.includes(name))?.[1],
    at: `${at}.*`,
  };
}

function readable({ schema, at }: Place): Schema {
  const strange = Object.keys(schema).filter((keyword) => !known.has(keyword));
  if (strange.length > 0)
    throw new Error(`Teach the probes what ${strange.join(', ')} means (${at})`);
  return schema;
}

function memberOf(value: Json, name: string | number): Json {
  if (Array.isArray(value)) return typeof name === 'number' ? value[name] : undefined;
  return isObject(value) ? value[String(name)] : undefined;
}

function join(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`;
}
