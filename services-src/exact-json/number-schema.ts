export type Schema = Readonly<Record<string, unknown>>;

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What a schema requires of numbers. */
export interface NumberSchema {
  /**
   * The schema that declares the items and properties of the value. If the schema is an alternative
   * of null and one other schema, it is that other schema.
   */
  readonly schema: Schema;
  /** The kind of numbers, if the schema accepts nothing but numbers and null. */
  readonly takes: 'integer' | 'number' | undefined;
}

const numberTypes = new Set<unknown>(['integer', 'number', 'null']);
const isNull = ({ type }: Schema): boolean => type === 'null';

/** Computed once for each schema, because all items of a list have the same schema. */
const knownSchemas = new WeakMap<Schema, NumberSchema>();

export function readNumberSchema(schema: Schema): NumberSchema {
  let known = knownSchemas.get(schema);
  if (known === undefined) {
    const [branch, ...others] = branchesOf(schema).filter((each) => !isNull(each));
    const isOnlyForm = schema['type'] === undefined && branch !== undefined && others.length === 0;
    known = {
      schema: isOnlyForm ? readNumberSchema(branch).schema : schema,
      takes: takenNumbers(schema),
    };
    knownSchemas.set(schema, known);
  }
  return known;
}

/** The alternatives of a schema; empty when it has none. */
export function branchesOf({ anyOf, oneOf }: Schema): readonly Schema[] {
  const branches = anyOf ?? oneOf;
  return Array.isArray(branches) && branches.every(isSchema) ? branches : [];
}

function takenNumbers(schema: Schema): NumberSchema['takes'] {
  const { type } = schema;
  if (type === undefined) {
    const branches = branchesOf(schema);
    const taken = branches.filter((each) => !isNull(each)).map(takenNumbers);
    if (taken.length === 0 || taken.includes(undefined)) return undefined;
    return taken.includes('number') ? 'number' : 'integer';
  }
  const types = [type].flat();
  if (!types.every((each) => numberTypes.has(each))) return undefined;
  if (types.includes('number')) return 'number';
  return types.includes('integer') ? 'integer' : undefined;
}
