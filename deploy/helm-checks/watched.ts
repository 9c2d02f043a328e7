export interface Watched {
  /** The value to give to a validator. */
  readonly value: unknown;
  /**
   * Returns the paths, such as `/spec/replica`, of the fields that were never read, without the
   * fields below them. If no field of an object was read, all its fields are allowed.
   */
  findUnread(path?: string): string[];
}

/**
 * Records which fields of a JSON value a validator reads. The validators of `kubernetes-models` are
 * compiled schemas that accept unknown fields, and the package does not contain the schemas
 * themselves. But a validator reads every field that its schema defines, so a field that it never
 * reads is unknown.
 */
export function watch(value: unknown): Watched {
  if (typeof value !== 'object' || value === null) return { value, findUnread: () => [] };
  const readNames = new Set<string>();
  const fields = new Map<string, Watched>(
    Object.entries(value).map(([name, field]) => [name, watch(field)]),
  );
  const proxy = new Proxy(value, {
    get(target, name, receiver) {
      if (typeof name === 'string') readNames.add(name);
      const field = typeof name === 'string' ? fields.get(name) : undefined;
      return field ? field.value : Reflect.get(target, name, receiver);
    },
  });
  return {
    value: proxy,
    findUnread: (path = '') =>
      readNames.size === 0
        ? []
        : [...fields].flatMap(([name, field]) =>
            readNames.has(name) ? field.findUnread(`${path}/${name}`) : [`${path}/${name}`],
          ),
  };
}
