import { isObject } from '../../registry/document/domain/context.ts';
import {
  alternativesOf,
  asSchema,
  choicesOf,
  fitsExample,
  isOfType,
  allowsUnlistedNames,
  propertiesOf,
  requiredNamesOf,
  typesOf,
} from './schema-shape.ts';
import type { Schema } from './schema-shape.ts';

type Json = unknown;

/** Several values for one place in an action's arguments. Each value makes a different call. */
export interface Probe {
  /**
   * The place, such as `fields.labels[]`; `*` stands for a property name that the schema does not
   * list.
   */
  readonly at: string;
  readonly values: readonly Json[];
}

/**
 * The other arguments of a probed call: all that can be given together (`full`), or only the
 * required ones (`bare`).
 */
export type Surroundings = 'full' | 'bare';

interface Place {
  readonly schema: Schema;
  /** The value that the catalogue's example call has at this place, if it has one. */
  readonly example: Json;
  readonly at: string;
}

const annotationKeywords = ['description', 'title', 'examples', 'default', 'deprecated', '$schema'];
const sizeKeywords = [
  'minLength',
  'maxLength',
  'pattern',
  'format',
  'contentEncoding',
  'propertyNames',
];
const boundKeywords = [
  'minimum',
  'maximum',
  'maxItems',
  'minItems',
  'minProperties',
  'maxProperties',
];
const shapeKeywords = [
  'type',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'anyOf',
  'oneOf',
];
const knownKeywords = new Set([
  ...annotationKeywords,
  ...sizeKeywords,
  ...boundKeywords,
  ...shapeKeywords,
  'const',
  'enum',
]);

/**
 * Lists every place of a schema at which a caller chooses a value. Each place has several different
 * values.
 */
export function probesOf(place: Place, surroundings: Surroundings): Probe[] {
  const schema = refuseUnknownKeywords(place);
  return alternativesOf(schema).flatMap((alternative) =>
    probesOfAlternative({ ...place, schema: alternative }, surroundings),
  );
}

function probesOfAlternative(place: Place, surroundings: Surroundings): Probe[] {
  const { schema, at } = place;
  const choices = choicesOf(schema);
  if (choices !== undefined) return choices.length > 1 ? [{ at, values: choices }] : [];
  const types = typesOf(schema);
  // A schema without a type accepts any JSON; the probes are objects.
  if (types.length === 0) return [{ at, values: anyTypeValues }];
  const probes = types.flatMap((type) => {
    if (type === 'object') return objectProbesOf(place, surroundings);
    if (type === 'array') return arrayProbesOf(place, surroundings);
    return [{ at, values: scalarValuesOf(type, place) }];
  });
  // If a value may be null or of another type, null empties the field. So the card must show a
  // difference between null and any other value.
  if (!types.includes('null') || types.length === 1) return probes;
  return [...probes, { at, values: [null, sampleValueOf(place, surroundings)] }];
}

const anyTypeValues = [{ deep: ['probe one'] }, { deep: ['probe two'] }, { other: ['probe one'] }];

function objectProbesOf(place: Place, surroundings: Surroundings): Probe[] {
  const { schema, example, at } = place;
  const baseObject = sampleObject(place, surroundings);
  const namedProbes = Object.entries(propertiesOf(schema)).flatMap(([name, property]) => {
    const innerPlace = {
      schema: property,
      example: memberOf(example, name),
      at: memberPathOf(at, name),
    };
    const probes = probesOf(innerPlace, surroundings).map((probe) => ({
      at: probe.at,
      values: probe.values.map((value) => withMember(schema, baseObject, [name, value])),
    }));
    if (requiredNamesOf(schema).includes(name)) return probes;
    const withoutProperty = { ...baseObject };
    delete withoutProperty[name];
    const emptyValues = emptyValuesOf(property);
    return [
      ...probes,
      ...emptyValues.map((value) => ({
        at: `${innerPlace.at} = ${JSON.stringify(value)}`,
        values: [withoutProperty, withMember(schema, withoutProperty, [name, value])],
      })),
    ];
  });
  if (!allowsUnlistedNames(schema)) return namedProbes;
  const unlistedNameProbes = probesOf(placeOfUnlistedName(place), surroundings);
  return [
    ...namedProbes,
    ...unlistedNameProbes.map((probe) => ({
      at: probe.at,
      values: [
        ...probe.values.map((value) => withMember(schema, baseObject, ['probe_a', value])),
        ...probe.values
          .slice(0, 1)
          .map((value) => withMember(schema, baseObject, ['probe_b', value])),
      ],
    })),
  ];
}

/**
 * Values of an optional property that look empty, but do not have the same effect as leaving the
 * property out.
 */
function emptyValuesOf(schema: Schema): Json[] {
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

function arrayProbesOf(place: Place, surroundings: Surroundings): Probe[] {
  const { schema, example, at } = place;
  const items = asSchema(schema['items'] ?? true);
  const innerPlace = { schema: items, example: memberOf(example, 0), at: `${at}[]` };
  const firstItem = sampleValueOf(innerPlace, surroundings);
  const countMin = Number(schema['minItems'] ?? 0);
  const canHoldPair = Number(schema['maxItems'] ?? 2) >= 2;
  return probesOf(innerPlace, surroundings).flatMap(({ at: innerAt, values }) => {
    const soleItemProbe = { at: innerAt, values: values.map((value) => [value]) };
    const secondItemProbe = { at: innerAt, values: values.map((value) => [firstItem, value]) };
    // The card must also differ for two lists with the same items in another order.
    const [one, other] = values;
    const swappedItemsProbe = {
      at: innerAt,
      values: [
        [one, other],
        [other, one],
      ],
    };
    return [
      ...(countMin < 2 ? [soleItemProbe] : []),
      ...(canHoldPair ? [secondItemProbe, swappedItemsProbe] : []),
    ];
  });
}

function scalarValuesOf(type: string, { schema, example, at }: Place): Json[] {
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
  // The texts differ only at their end, so that a filter that shows only the beginning fails the
  // check. The four added characters decode to whole bytes if the text is base64.
  const spareLength =
    Math.min(Number(schema['maxLength'] ?? textLengthMax), textLengthMax) - base.length - 4;
  const canBePadded = schema['pattern'] === undefined && spareLength > base.length;
  const paddingText = canBePadded ? ' probe'.repeat(Math.floor(spareLength / ' probe'.length)) : '';
  return [`${base}${paddingText}ZZZ1`, `${base}${paddingText}ZZZ2`];
}

const textLengthMax = 600;

/** Returns one valid value of a schema, with all optional parts or with only the required parts. */
export function sampleValueOf(place: Place, surroundings: Surroundings): Json {
  const alternatives = alternativesOf(refuseUnknownKeywords(place));
  const fittingAlternative = alternatives.find((alternative) =>
    fitsExample(alternative, place.example),
  );
  const schema = fittingAlternative ?? alternatives[0] ?? {};
  const choices = choicesOf(schema);
  if (choices !== undefined) return choices.includes(place.example) ? place.example : choices[0];
  const type = typesOf(schema).find((name) => isOfType(name, place.example)) ?? typesOf(schema)[0];
  const innerPlace = { ...place, schema };
  if (type === undefined) return place.example ?? 'probe';
  if (type === 'object') return sampleObject(innerPlace, surroundings);
  if (type === 'array') {
    const countMin = surroundings === 'full' ? 1 : Number(schema['minItems'] ?? 0);
    return Array.from({ length: Math.max(countMin, Number(schema['minItems'] ?? 0)) }, (_, index) =>
      sampleValueOf(
        {
          schema: asSchema(schema['items'] ?? true),
          example: memberOf(place.example, index),
          at: `${place.at}[]`,
        },
        surroundings,
      ),
    );
  }
  return place.example ?? scalarValuesOf(type, innerPlace)[0];
}

function sampleObject(place: Place, surroundings: Surroundings): Record<string, Json> {
  const { schema, example, at } = place;
  const properties = Object.entries(propertiesOf(schema));
  const required = requiredNamesOf(schema);
  const chosenProperties = properties.filter(
    ([name]) => surroundings === 'full' || required.includes(name),
  );
  const countMin = Number(schema['minProperties'] ?? 0);
  const others = properties.filter(
    ([name]) => !chosenProperties.some(([chosenName]) => chosenName === name),
  );
  chosenProperties.push(...others.slice(0, Math.max(0, countMin - chosenProperties.length)));
  const propertiesMax = Number(schema['maxProperties'] ?? Infinity);
  if (chosenProperties.length > propertiesMax) chosenProperties.splice(propertiesMax);
  const namedEntries = chosenProperties.map(([name, property]) => [
    name,
    sampleValueOf(
      { schema: property, example: memberOf(example, name), at: memberPathOf(at, name) },
      surroundings,
    ),
  ]);
  const needsAddedProperties =
    namedEntries.length < countMin || (surroundings === 'full' && allowsUnlistedNames(schema));
  const addedProbes = needsAddedProperties
    ? [['probe_0', sampleValueOf(placeOfUnlistedName(place), surroundings)]]
    : [];
  return Object.fromEntries([...namedEntries, ...addedProbes]) as Record<string, Json>;
}

/**
 * Adds one property to an object. Removes optional properties if the schema limits the number of
 * properties.
 */
function withMember(
  schema: Schema,
  baseObject: Readonly<Record<string, Json>>,
  [name, value]: [name: string, value: Json],
): Record<string, Json> {
  const required = requiredNamesOf(schema);
  const propertiesMax = Number(schema['maxProperties'] ?? Infinity);
  const others = Object.keys(baseObject).filter((other) => other !== name);
  const droppedNames = others
    .toSorted((one, other) => Number(required.includes(other)) - Number(required.includes(one)))
    .slice(propertiesMax - 1);
  const keptEntries = Object.entries(baseObject).filter(([other]) => !droppedNames.includes(other));
  return { ...Object.fromEntries(keptEntries), [name]: value };
}

/** Returns the place of a property whose name is allowed by the schema but not listed in it. */
function placeOfUnlistedName({ schema, example, at }: Place): Place {
  const names = Object.keys(propertiesOf(schema));
  const exampleEntries = isObject(example) ? Object.entries(example) : [];
  return {
    schema: asSchema(schema['additionalProperties'] ?? {}),
    example: exampleEntries.find(([name]) => !names.includes(name))?.[1],
    at: `${at}.*`,
  };
}

function refuseUnknownKeywords({ schema, at }: Place): Schema {
  const unknownKeywords = Object.keys(schema).filter((keyword) => !knownKeywords.has(keyword));
  if (unknownKeywords.length > 0)
    throw new Error(`Teach the probes what ${unknownKeywords.join(', ')} means (${at})`);
  return schema;
}

function memberOf(value: Json, name: string | number): Json {
  if (Array.isArray(value)) return typeof name === 'number' ? value[name] : undefined;
  return isObject(value) ? value[String(name)] : undefined;
}

function memberPathOf(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`;
}
