import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';

export type Params = Readonly<Record<string, JsonValue>>;

/** The params as they are sent: defaults filled in, nothing else changed. */
export function withDefaults(action: CompiledAction, params: Params): Params {
  const missing = action.params.flatMap((param) => {
    const value = param.schema['default'];
    return Object.hasOwn(params, param.name) || value === undefined
      ? []
      : [[param.name, value] as const];
  });
  return missing.length === 0 ? params : { ...params, ...Object.fromEntries(missing) };
}

/** A value as the `arg` of a permission key: strings raw, other types as JSON. */
export function argumentText(value: JsonValue, toJson: (value: JsonValue) => string): string {
  return typeof value === 'string' ? value : toJson(value);
}
