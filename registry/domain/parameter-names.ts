import { isObject } from './context.ts';
import type { Context, JsonObject, Place } from './context.ts';
import type { DeclaredParam } from './parameters.ts';

export interface NamedParams {
  readonly params: DeclaredParam[];
  /** The path with the names of its placeholders as callers know them. */
  readonly path: string;
  readonly conditions: JsonObject;
}

interface Unnamed {
  readonly params: readonly DeclaredParam[];
  readonly path: Place<string>;
  /** The whole body is always called `body`. */
  readonly wholeBody: boolean;
  /** Conditions on properties of the body. */
  readonly conditions: JsonObject;
}

/** Who keeps a name that several places use. */
const precedence = ['path', 'query', 'header', 'body'];

/**
 * Callers name parameters without their place, so each needs a name of its own. Of several with one
 * name the first place keeps it, and the others are called after theirs: `query_id`, `body_id`.
 */
export function nameParams(
  context: Context,
  { params, path, wholeBody, conditions }: Unnamed,
): NamedParams {
  const rank = ({ in: place }: DeclaredParam) =>
    wholeBody && place === 'body' ? -1 : precedence.indexOf(place);
  const names = new Map<string, string>();
  const wireNames = new Set(params.map((param) => param.wireName));
  const taken = new Set<string>();
  for (const param of params.toSorted((left, right) => rank(left) - rank(right))) {
    const { in: place, wireName, at } = param;
    const isTaken = (name: string) => taken.has(name) || wireNames.has(name);
    const name = taken.has(wireName) ? freeName(`${place}_${wireName}`, isTaken) : wireName;
    taken.add(name);
    names.set(`${place} ${wireName}`, name);
    if (name === wireName) continue;
    const message = `Another place has a parameter "${wireName}" too; callers know this one as "${name}".`;
    context.findings.warn('parameter_renamed', at.path, message);
  }
  const nameIn = (place: string, wireName: string) => names.get(`${place} ${wireName}`) ?? wireName;
  return {
    params: params.map((param) => ({ ...param, name: nameIn(param.in, param.wireName) })),
    path: path.value.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => `{${nameIn('path', name)}}`),
    conditions: renameRequired(conditions, (name) => nameIn('body', name)),
  };
}

function freeName(wanted: string, isTaken: (name: string) => boolean): string {
  let name = wanted;
  for (let count = 2; isTaken(name); count += 1) name = `${wanted}_${count}`;
  return name;
}

/** Conditions hold names and nothing else: in `required` lists, and as keys of `dependentRequired`. */
function renameRequired(conditions: JsonObject, rename: (name: string) => string): JsonObject {
  return Object.fromEntries(
    Object.entries(conditions).map(([keyword, value]) => {
      if (keyword !== 'dependentRequired') return [keyword, renameNames(value, rename)];
      const entries = Object.entries(isObject(value) ? value : {});
      const renamed = entries.map(([name, needed]) => [rename(name), renameNames(needed, rename)]);
      return [keyword, Object.fromEntries(renamed)];
    }),
  );
}

function renameNames(value: Place['value'], rename: (name: string) => string): Place['value'] {
  if (typeof value === 'string') return rename(value);
  if (Array.isArray(value)) return value.map((item) => renameNames(item, rename));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, renameNames(item, rename)]),
  );
}
