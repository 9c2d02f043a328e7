export type Schema = Readonly<Record<string, unknown>>;
export type Components = Readonly<Record<string, Schema>>;

const referencePrefix = '#/components/schemas/';

/** Returns the schema that `$ref` refers to, or the schema itself if it has no `$ref`. */
export function resolve(schema: Schema, components: Components): Schema {
  const { $ref: reference } = schema;
  if (typeof reference !== 'string') return schema;
  return components[reference.slice(referencePrefix.length)] ?? {};
}

/** Describes in a few words of Markdown which values a schema allows. */
export function typeWords(schema: Schema, components: Components, depth = 0): string {
  const {
    $ref: reference,
    const: constant,
    enum: allowedValues,
    anyOf,
    oneOf,
    type,
    format,
  } = schema;
  if (typeof reference === 'string') {
    if (depth > 2) return 'object';
    return typeWords(resolve(schema, components), components, depth + 1);
  }
  if (constant !== undefined) return codeOf(JSON.stringify(constant));
  if (Array.isArray(allowedValues))
    return listWords(allowedValues.map((value) => codeOf(String(value))));
  const choices = (anyOf ?? oneOf) as readonly Schema[] | undefined;
  if (choices !== undefined)
    return listWords([...new Set(choices.map((each) => typeWords(each, components, depth + 1)))]);
  if (Array.isArray(type)) return listWords(type.map(String));
  if (type === 'array') {
    return `list of ${typeWords((schema['items'] ?? {}) as Schema, components, depth + 1)}`;
  }
  if (typeof type !== 'string') return 'any JSON';
  return typeof format === 'string' ? `${type} (${format})` : type;
}

/** Describes the limits on a value, such as "at most 100 characters". */
export function boundWords(schema: Schema): string {
  const { minimum, maximum, maxLength, minItems, maxItems } = schema;
  const isBound = (bound: unknown) =>
    typeof bound === 'number' && Math.abs(bound) < Number.MAX_SAFE_INTEGER;
  return [
    isBound(minimum) && `at least ${String(minimum)}`,
    isBound(maximum) && `at most ${String(maximum)}`,
    isBound(maxLength) && `at most ${String(maxLength)} characters`,
    isBound(minItems) && `at least ${String(minItems)}`,
    isBound(maxItems) && `at most ${String(maxItems)}`,
    schema['default'] !== undefined && `by default ${codeOf(JSON.stringify(schema['default']))}`,
  ]
    .filter((words) => words !== false)
    .join(', ');
}

const listedMax = 12;

function listWords(words: readonly string[]): string {
  const shownWords = words.length > listedMax ? [...words.slice(0, listedMax), '…'] : words;
  return shownWords.join(' or ');
}

/** Formats a text as code in a table cell. */
export function codeOf(text: string): string {
  return `\`${text.replaceAll('|', '\\|')}\``;
}
