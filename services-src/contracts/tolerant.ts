import { z } from 'zod';

/**
 * Components of two releases work together during an upgrade, so a reader accepts what a later
 * release adds (docs/reference/upgrades.md). `pass` also accepts an unknown value of an enum, for
 * readers that only pass the value on; a reader that decides by the value uses `refuse`.
 */
export type UnknownValues = 'pass' | 'refuse';

/** The most characters of a value that a later release added to an enum. */
const unknownValueCharactersMax = 100;
const unknownValue = z.string().min(1).max(unknownValueCharactersMax);

const derivedSchemas = {
  pass: new WeakMap<z.core.$ZodType, z.core.$ZodType>(),
  refuse: new WeakMap<z.core.$ZodType, z.core.$ZodType>(),
};

/**
 * Derives the schema by which a component reads what a component of another release may have sent:
 * unknown members of objects are dropped at every depth. It accepts everything that `schema`
 * accepts. An unknown variant of a discriminated union stays an error.
 */
export function deriveTolerantSchema<S extends z.core.$ZodType>(
  schema: S,
  unknownValues: UnknownValues,
): S {
  const knownSchema = derivedSchemas[unknownValues].get(schema);
  if (knownSchema !== undefined) return knownSchema as S;
  const derived = buildTolerantSchema(schema, unknownValues);
  derivedSchemas[unknownValues].set(schema, derived);
  return derived as S;
}

type Definition = z.core.$ZodTypes['_zod']['def'];

function buildTolerantSchema(
  schema: z.core.$ZodType,
  unknownValues: UnknownValues,
): z.core.$ZodType {
  const deriveInside = <S extends z.core.$ZodType>(part: S) =>
    deriveTolerantSchema(part, unknownValues);
  const definition = schema._zod.def as Definition;
  switch (definition.type) {
    case 'object': {
      const shape = Object.fromEntries(
        Object.entries(definition.shape).map(([name, member]) => [name, deriveInside(member)]),
      );
      const { catchall } = definition;
      const isStrict = catchall?._zod.def.type === 'never';
      return cloneWithParts(schema, { shape, catchall: isStrict ? undefined : catchall });
    }
    case 'array':
      return cloneWithParts(schema, { element: deriveInside(definition.element) });
    case 'record':
      return cloneWithParts(schema, { valueType: deriveInside(definition.valueType) });
    case 'union':
      return cloneWithParts(schema, {
        options: definition.options.map((option) =>
          'discriminator' in definition
            ? deriveVariant(option, String(definition.discriminator), unknownValues)
            : deriveInside(option),
        ),
      });
    case 'optional':
    case 'nullable':
    case 'default':
      return cloneWithParts(schema, { innerType: deriveInside(definition.innerType) });
    case 'enum':
      return unknownValues === 'pass' ? unknownValue : schema;
    default:
      return schema;
  }
}

/**
 * The tolerant form of one variant of a discriminated union. Its discriminator still accepts only
 * the known values.
 */
function deriveVariant(
  option: z.core.$ZodType,
  discriminator: string,
  unknownValues: UnknownValues,
): z.core.$ZodType {
  const derived = deriveTolerantSchema(option, unknownValues);
  const [before, after] = [option._zod.def, derived._zod.def] as [Definition, Definition];
  if (before.type !== 'object' || after.type !== 'object') return derived;
  const shape = { ...after.shape, [discriminator]: before.shape[discriminator] };
  return cloneWithParts(derived, { shape });
}

/**
 * A copy of the schema that keeps its checks and has other parts, such as members, items or
 * options.
 */
function cloneWithParts(schema: z.core.$ZodType, parts: object): z.core.$ZodType {
  return z.core.clone(schema, { ...schema._zod.def, ...parts });
}

type ReadResult<T> =
  | { readonly success: true; readonly data: T; readonly isOfOtherRelease: boolean }
  | { readonly success: false; readonly error: z.core.$ZodError };

/**
 * Parses what another component sent, or what a replica stored: by the schema itself, and when that
 * fails by the tolerant schema. So tolerance costs nothing while all components are of one release,
 * and data that the schema accepts is read as the schema says.
 */
export function readTolerantly<S extends z.ZodType>(
  schema: S,
  value: unknown,
  unknownValues: UnknownValues = 'refuse',
): ReadResult<z.output<S>> {
  const strictResult = schema.safeParse(value);
  if (strictResult.success)
    return { success: true, data: strictResult.data, isOfOtherRelease: false };
  const tolerantResult = deriveTolerantSchema(schema, unknownValues).safeParse(value);
  if (!tolerantResult.success) return { success: false, error: tolerantResult.error };
  return { success: true, data: tolerantResult.data, isOfOtherRelease: true };
}
