import { exampleIds, exampleTimes } from './example-call.ts';
import { memberValues } from './member-values.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

const depthMax = 12;
const referencePrefix = '#/components/schemas/';

/**
 * Makes an example of an answer from its schema in the OpenAPI document. The example has the
 * required members. `memberValues` contains the values of known members; for the others, the
 * simplest value that the schema allows is used.
 */
export function createAnswerExample(
  schema: JsonSchema,
  components: Readonly<Record<string, JsonSchema>>,
): unknown {
  return exampleOf(schema, { owner: '', components, depth: 0 });
}

interface Place {
  /** The name of the schema or member that contains the value. */
  readonly owner: string;
  readonly components: Readonly<Record<string, JsonSchema>>;
  readonly depth: number;
}

function exampleOf(schema: JsonSchema, place: Place): unknown {
  if (place.depth > depthMax) throw new Error(`The schema of ${place.owner} has no end.`);
  const { $ref: reference, const: constant, enum: allowedValues, anyOf, oneOf, type } = schema;
  if (typeof reference === 'string') {
    const name = reference.slice(referencePrefix.length);
    return exampleOf(place.components[name] ?? {}, placeBelow(place, name));
  }
  if (constant !== undefined) return constant;
  if (Array.isArray(allowedValues)) return allowedValues[0];
  const [choice] = (anyOf ?? oneOf ?? []) as JsonSchema[];
  if (choice !== undefined) return exampleOf(choice, place);
  switch (Array.isArray(type) ? type[0] : type) {
    case 'object':
      return exampleOfObject(schema, place);
    case 'array':
      return [exampleOf((schema['items'] ?? {}) as JsonSchema, place)];
    case 'string':
      return exampleOfString(schema);
    case 'integer':
    case 'number':
      return Math.max(Number(schema['minimum'] ?? 1), 1);
    case 'boolean':
      return false;
    default:
      return {};
  }
}

function exampleOfObject(schema: JsonSchema, place: Place): Record<string, unknown> {
  const members = membersOf(schema);
  const required = new Set(schema['required'] as string[] | undefined);
  const isShown = (name: string) => required.has(name) || `${place.owner}.${name}` in memberValues;
  return Object.fromEntries(
    Object.entries(members)
      .filter(([name]) => isShown(name))
      .map(([name, member]) => [name, exampleOfMember(name, member, place)]),
  );
}

/** The members with known names, including those of a map with a fixed set of keys. */
function membersOf({
  properties = {},
  propertyNames,
  additionalProperties,
}: JsonSchema): Record<string, JsonSchema> {
  const { enum: names = [] } = (propertyNames ?? {}) as { readonly enum?: readonly string[] };
  return {
    ...(properties as Record<string, JsonSchema>),
    ...Object.fromEntries(names.map((name) => [name, additionalProperties as JsonSchema])),
  };
}

function exampleOfMember(name: string, schema: JsonSchema, place: Place): unknown {
  const knownKey = [`${place.owner}.${name}`, name].find((key) => key in memberValues);
  const value = knownKey === undefined ? undefined : memberValues[knownKey];
  if (value !== undefined) return value;
  return exampleOf(schema, placeBelow(place, name === 'items' ? place.owner : name));
}

function exampleOfString({ format, minLength }: JsonSchema): string {
  switch (format) {
    case 'uuid':
      return exampleIds.other;
    case 'date-time':
      return exampleTimes.created;
    case 'uri':
      return 'https://api.example.com/v1';
    default:
      return 'text'.padEnd(Number(minLength ?? 0), '_');
  }
}

function placeBelow(place: Place, owner: string): Place {
  return { ...place, owner, depth: place.depth + 1 };
}
