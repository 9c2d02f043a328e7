import type { JsonValue } from '#contracts/vocabulary';

/** The value at a path with dots, such as `user.names.0`. Undefined when there is none. */
export function valueAt(value: JsonValue, path: string): JsonValue | undefined {
  let current: JsonValue | undefined = value;
  for (const step of path.split('.').filter((each) => each !== '')) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, step))
      return undefined;
    current = (current as Record<string, JsonValue>)[step];
  }
  return current;
}
