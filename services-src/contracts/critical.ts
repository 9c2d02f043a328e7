import { z } from 'zod';

type Definition = z.core.$ZodTypes['_zod']['def'];
type Path = readonly string[];

const narrowingSchemas = new WeakSet<z.core.$ZodType>();

/**
 * Marks the schema of a member that was added to a request or a signed statement after the release
 * 0.1.0 and that narrows what may happen, such as a limit. A reader that ignored the member would
 * allow too much, so senders name it in the list `crit`, and a reader that does not know a name in
 * that list refuses (docs/reference/upgrades.md#critical-members).
 *
 *     options: z.strictObject({ max_bytes: narrowing(z.int()).optional() })
 */
export function narrowing<S extends z.ZodType>(schema: S): S {
  // A copy is marked, because other members may use the same schema.
  const copy = schema.clone(undefined, { parent: true });
  narrowingSchemas.add(copy);
  return copy;
}

/** The list is a member of the request or of the signed statement. */
const criticalList = z.object({ crit: z.array(z.string().max(200)).max(50) });

const narrowingPathsOf = new WeakMap<z.core.$ZodType, readonly Path[]>();

/**
 * Adds the list `crit` to a request or statement that has a member which narrows what may happen.
 */
export function withCritical(schema: z.core.$ZodType, value: unknown): unknown {
  const paths = narrowingPathsOf.get(schema) ?? findNarrowing(schema);
  narrowingPathsOf.set(schema, paths);
  if (paths.length === 0 || !isObject(value)) return value;
  const crit = paths.filter((path) => isPresent(value, path)).map((path) => path.join('.'));
  return crit.length === 0 ? value : { ...value, crit };
}

/**
 * Removes the list `crit` from a request or statement. `unknown` lists the names in it that
 * `schema` does not declare; when there are any, the reader must refuse the request or statement.
 */
export function takeCritical(
  schema: z.core.$ZodType,
  value: unknown,
): { readonly unknown: readonly string[]; readonly rest: unknown } {
  if (!isObject(value) || !('crit' in value)) return { unknown: [], rest: value };
  const { crit: _, ...rest } = value;
  const parsedList = criticalList.safeParse(value);
  // A list in another form comes from a release whose lists this release cannot read, so the whole
  // list counts as one unknown name.
  const names = parsedList.success ? parsedList.data.crit : ['crit'];
  return { unknown: names.filter((name) => !declaresPath(schema, name.split('.'))), rest };
}

function findNarrowing(schema: z.core.$ZodType): Path[] {
  const pathsBelow = membersOf(schema).flatMap(([name, member]) =>
    findNarrowing(member).map((path) => [name, ...path]),
  );
  const isMarked =
    narrowingSchemas.has(schema) || innerOf(schema).some((s) => narrowingSchemas.has(s));
  return isMarked ? [[], ...pathsBelow] : pathsBelow;
}

function declaresPath(schema: z.core.$ZodType, [name, ...rest]: Path): boolean {
  if (name === undefined) return true;
  return membersOf(schema).some(([member, inner]) => member === name && declaresPath(inner, rest));
}

/** The members of an object, or of the objects inside of lists, unions and optional members. */
function membersOf(schema: z.core.$ZodType): [name: string, member: z.core.$ZodType][] {
  const definition = schema._zod.def as Definition;
  if (definition.type === 'object') return Object.entries(definition.shape);
  return innerOf(schema).flatMap(membersOf);
}

function innerOf(schema: z.core.$ZodType): readonly z.core.$ZodType[] {
  const definition = schema._zod.def as Definition;
  switch (definition.type) {
    case 'optional':
    case 'nullable':
    case 'default':
      return [definition.innerType];
    case 'array':
      return [definition.element];
    case 'record':
      return [definition.valueType];
    case 'union':
      return definition.options;
    default:
      return [];
  }
}

/** Whether some value has the member at this path; null stands for an absent member. */
function isPresent(value: unknown, path: Path): boolean {
  if (value === undefined || value === null) return false;
  if (Array.isArray(value)) return value.some((item) => isPresent(item, path));
  const [name, ...rest] = path;
  if (name === undefined) return true;
  return isObject(value) && isPresent(value[name], rest);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
