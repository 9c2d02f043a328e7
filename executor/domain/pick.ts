import type { JsonValue } from '#contracts/vocabulary';

/** The value at a dot-path such as `user.names.0`; undefined when there is none. */
export function pick(value: JsonValue, path: string): JsonValue | undefined {
  let found: JsonValue | undefined = value;
  for (const step of path.split('.').filter((each) => each !== '')) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step))
      return undefined;
    found = (found as Record<string, JsonValue>)[step];
  }
  return found;
}
