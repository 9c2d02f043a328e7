import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { invalidParam } from './invalid-call.ts';

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

/**
 * The path of an action's request below the base URL, for finding the same operation in other
 * templates. Refuses the values that would make it the path of another operation.
 */
export function actionPath(action: CompiledAction, params: Params): string {
  return action.path.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const param = action.params.find((each) => each.in === 'path' && each.name === name);
    const value = params[name];
    if (param === undefined || value === undefined || value === null) {
      throw invalidParam(name, 'is required: it is part of the path');
    }
    const values = Array.isArray(value) ? value : [value];
    return values.map((each) => encodeValue(textOf(each), param)).join(',');
  });
}

/** A value as the `arg` of a permission key: strings raw, other types as JSON. */
export function argumentText(value: JsonValue, toJson: (value: JsonValue) => string): string {
  return typeof value === 'string' ? value : toJson(value);
}

function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function encodeValue(
  text: string,
  { name, allowReserved }: { name: string; allowReserved: boolean },
): string {
  if (text === '') throw invalidParam(name, 'must not be empty: it is part of the path');
  if (text.split(/[\\/]/).some((segment) => segment === '.' || segment === '..')) {
    throw invalidParam(name, 'must not hold "." or ".." as a part of a path');
  }
  return allowReserved
    ? text.split('/').map(encodeURIComponent).join('/')
    : encodeURIComponent(text);
}
