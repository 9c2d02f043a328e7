import { isObject } from '../../document/domain/context.ts';
import type { CompileContext, JsonObject, DocumentNode } from '../../document/domain/context.ts';
import type { DeclaredParam } from './parameters.ts';

export interface NamedParams {
  readonly params: DeclaredParam[];
  /** The path of the operation, with each placeholder renamed to the name that callers use. */
  readonly path: string;
  readonly conditions: JsonObject;
}

interface ParamsToName {
  readonly params: readonly DeclaredParam[];
  readonly path: DocumentNode<string>;
  /** True when the body is one parameter, which is then always called `body`. */
  readonly wholeBody: boolean;
  /** JSON Schema keywords that say which body properties must be given together. */
  readonly conditions: JsonObject;
}

/**
 * When several parameters have the same name, the one whose location comes first in this list keeps
 * the name.
 */
const locationPrecedence = ['path', 'query', 'header', 'body'];

/**
 * Gives each parameter a unique name, because callers do not say whether a parameter is part of the
 * path, the query, a header or the body. When several parameters have the same name, one keeps it
 * and the others get their location as a prefix: `query_id`, `body_id`.
 */
export function nameParams(
  context: CompileContext,
  { params, path, wholeBody, conditions }: ParamsToName,
): NamedParams {
  const rankOf = ({ in: location }: DeclaredParam) =>
    wholeBody && location === 'body' ? -1 : locationPrecedence.indexOf(location);
  const namesByLocationAndWireName = new Map<string, string>();
  const wireNames = new Set(params.map((param) => param.wireName));
  const takenNames = new Set<string>();
  for (const param of params.toSorted((left, right) => rankOf(left) - rankOf(right))) {
    const { in: location, wireName, at } = param;
    const isTaken = (name: string) => takenNames.has(name) || wireNames.has(name);
    const name = takenNames.has(wireName)
      ? findUnusedName(`${location}_${wireName}`, isTaken)
      : wireName;
    takenNames.add(name);
    namesByLocationAndWireName.set(`${location} ${wireName}`, name);
    if (name === wireName) continue;
    const message = `Another place has a parameter "${wireName}" too; callers know this one as "${name}".`;
    context.findings.warn('parameter_renamed', at.path, message);
  }
  const nameOfParam = (place: string, wireName: string) =>
    namesByLocationAndWireName.get(`${place} ${wireName}`) ?? wireName;
  return {
    params: params.map((param) => ({ ...param, name: nameOfParam(param.in, param.wireName) })),
    path: path.value.replaceAll(
      /\{([^{}]+)\}/g,
      (_, name: string) => `{${nameOfParam('path', name)}}`,
    ),
    conditions: renameInConditions(conditions, (name) => nameOfParam('body', name)),
  };
}

function findUnusedName(wantedName: string, isTaken: (name: string) => boolean): string {
  let name = wantedName;
  for (let count = 2; isTaken(name); count += 1) name = `${wantedName}_${count}`;
  return name;
}

/**
 * Renames the properties that conditions name, in `required` lists and as keys of
 * `dependentRequired`.
 */
function renameInConditions(conditions: JsonObject, rename: (name: string) => string): JsonObject {
  return Object.fromEntries(
    Object.entries(conditions).map(([keyword, value]) => {
      if (keyword !== 'dependentRequired') return [keyword, renameListedNames(value, rename)];
      const entries = Object.entries(isObject(value) ? value : {});
      const renamedEntries = entries.map(([name, needed]) => [
        rename(name),
        renameListedNames(needed, rename),
      ]);
      return [keyword, Object.fromEntries(renamedEntries)];
    }),
  );
}

function renameListedNames(
  value: DocumentNode['value'],
  rename: (name: string) => string,
): DocumentNode['value'] {
  if (typeof value === 'string') return rename(value);
  if (Array.isArray(value)) return value.map((item) => renameListedNames(item, rename));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, renameListedNames(item, rename)]),
  );
}
