import { isObject } from '../../registry/document/domain/context.ts';

/** The JSON Schema of an action's parameters or of a part of them. */
export type Schema = Readonly<Record<string, unknown>>;

/**
 * The members of a union. Each is merged with the keywords beside the union, but without properties
 * that only the other members require.
 */
export function alternativesOf(schema: Schema): Schema[] {
  const keyword = ['anyOf', 'oneOf'].find((name) => schema[name] !== undefined);
  if (keyword === undefined) return [schema];
  const members = (schema[keyword] as unknown[]).map(asSchema);
  const { [keyword]: _, ...beside } = schema;
  return members.flatMap((member) => {
    const ownRequired = [...requiredNamesOf(beside), ...requiredNamesOf(member)];
    const foreignRequiredNames =
      keyword === 'oneOf'
        ? members.flatMap(requiredNamesOf).filter((name) => !ownRequired.includes(name))
        : [];
    const properties = { ...propertiesOf(beside), ...propertiesOf(member) };
    for (const name of foreignRequiredNames) delete properties[name];
    const isObjectLike = Object.keys(properties).length > 0 || ownRequired.length > 0;
    return alternativesOf({
      ...beside,
      ...member,
      ...(isObjectLike ? { properties, required: ownRequired } : {}),
    });
  });
}

export function allowsUnlistedNames(schema: Schema): boolean {
  return (schema['additionalProperties'] ?? true) !== false;
}

export function choicesOf(schema: Schema): unknown[] | undefined {
  if ('const' in schema) return [schema['const']];
  return Array.isArray(schema['enum']) ? schema['enum'] : undefined;
}

export function typesOf(schema: Schema): string[] {
  const { type } = schema;
  if (Array.isArray(type)) return type.map(String);
  if (typeof type === 'string') return [type];
  return schema['properties'] === undefined ? [] : ['object'];
}

export function propertiesOf(schema: Schema): Record<string, Schema> {
  const { properties } = schema;
  return isObject(properties)
    ? Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, asSchema(each)]))
    : {};
}

export function requiredNamesOf(schema: Schema): string[] {
  return Array.isArray(schema['required']) ? schema['required'].map(String) : [];
}

export function asSchema(value: unknown): Schema {
  return isObject(value) ? value : {};
}

export function fitsExample(schema: Schema, example: unknown): boolean {
  const choices = choicesOf(schema);
  if (choices !== undefined) return choices.includes(example);
  const isRightType = typesOf(schema).some((type) => isOfType(type, example));
  if (!isRightType || !isObject(example)) return isRightType;
  const properties = propertiesOf(schema);
  return (
    requiredNamesOf(schema).every((name) => name in example) &&
    Object.entries(properties).every(
      ([name, property]) =>
        !(name in example) || !('const' in property) || property['const'] === example[name],
    )
  );
}

export function isOfType(type: string, value: unknown): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isObject(value);
  if (type === 'integer' || type === 'number') return typeof value === 'number';
  return typeof value === type;
}
