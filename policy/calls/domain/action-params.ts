import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';

export type Params = Readonly<Record<string, JsonValue>>;

/** The parameters as they are sent. Only the defaults are added. */
export function withDefaults(action: CompiledAction, params: Params): Params {
  const defaultParams = action.params.flatMap((param) => {
    const value = param.schema['default'];
    return Object.hasOwn(params, param.name) || value === undefined
      ? []
      : [[param.name, value] as const];
  });
  return defaultParams.length === 0 ? params : { ...params, ...Object.fromEntries(defaultParams) };
}

/**
 * Converts a value to the `arg` of a permission key: a string is used unchanged, any other value as
 * JSON.
 */
export function toArgumentText(value: JsonValue, toJson: (value: JsonValue) => string): string {
  return typeof value === 'string' ? value : toJson(value);
}
