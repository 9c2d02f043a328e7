export interface Watched {
  /** The value to give to a validator. */
  readonly value: unknown;
  /**
   * The paths, such as `/spec/replica`, of the fields that nobody has asked for, without those below
   * them. An object of which no field was asked for may have any fields.
   */
  findUnread(path?: string): string[];
}

/**
 * Watches which fields of a JSON value a validator asks for. The validators of `kubernetes-models`
 * are compiled schemas that accept unknown fields, and the package does not bring the schemas
 * themselves. But a validator asks for every field that its schema knows, so a field that it never
 * asks for is unknown.
 */
export function watch(value: unknown): Watched {
  if (typeof value !== 'object' || value === null) return { value, findUnread: () => [] };
  const asked = new Set<string>();
  const fields = new Map<string, Watched>(
    Object.entries(value).map(([name, field]) => [name, watch(field)]),
  );
  const seen = new Proxy(value, {
    get(target, name, receiver) {
      if (typeof name === 'string') asked.add(name);
      const field = typeof name === 'string' ? fields.get(name) : undefined;
      return field ? field.value : Reflect.get(target, name, receiver);
    },
  });
  return {
    value: seen,
    findUnread: (path = '') =>
      asked.size === 0
        ? []
        : [...fields].flatMap(([name, field]) =>
            asked.has(name) ? field.findUnread(`${path}/${name}`) : [`${path}/${name}`],
          ),
  };
}
