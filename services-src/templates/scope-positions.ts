import type { CompiledAction, CompiledParam, ScopePosition } from '../contracts/template.ts';
import { isRecord } from './text.ts';
import type { JsonValue } from '../contracts/vocabulary.ts';

/** A member of an object by its name, or null for every item of a list. */
export type ScopeStep = string | null;

/** A place of values of one position of a permission key, in the params of a call. */
export interface ScopeSource {
  /** The parameter that contains the values. */
  readonly param: CompiledParam;
  /** The steps that lead from the parameter's value to the values. */
  readonly steps: readonly ScopeStep[];
  /** The parameter, but with the schema of one of the values. */
  readonly leaf: CompiledParam;
}

/** One position of the last part of a permission key (docs/writing-templates.md#scope-parameters). */
export interface ScopeOfKey {
  readonly label: string | null;
  readonly as: ScopePosition['as'];
  /** Whether a call may give several values. Each of them then needs its own permission key. */
  readonly isList: boolean;
  readonly sources: readonly ScopeSource[];
}

const knownScopes = new WeakMap<CompiledAction, readonly ScopeOfKey[]>();

/** The positions of the action's permission keys; none when the key is that of the whole action. */
export function scopePositionsOf(action: CompiledAction): readonly ScopeOfKey[] {
  let scope = knownScopes.get(action);
  if (scope === undefined) knownScopes.set(action, (scope = readScopePositions(action)));
  return scope;
}

function readScopePositions({ scopeParam, params }: CompiledAction): ScopeOfKey[] {
  if (scopeParam === null) return [];
  if (typeof scopeParam === 'string') {
    const param = params.find(({ name }) => name === scopeParam);
    const sources = param === undefined ? [] : [{ param, steps: [], leaf: param }];
    return [{ label: null, as: undefined, isList: false, sources }];
  }
  return scopeParam.map(({ params: paths, label, as }) => {
    const sources = paths.flatMap((path) => findSource(path, params) ?? []);
    return { label: label ?? null, as, isList: isListOf(paths), sources };
  });
}

/** Whether the paths of a position may lead to several values. */
export function isListOf(paths: readonly string[]): boolean {
  return paths.length > 1 || paths.some((path) => path.includes('[]'));
}

function findSource(path: string, params: readonly CompiledParam[]): ScopeSource | undefined {
  const parsedPath = parseScopePath(path, params);
  if (parsedPath === undefined) return undefined;
  const { param, steps } = parsedPath;
  if (steps.length === 0) return { param, steps, leaf: param };
  const foundSchemas = schemasAt(param.schema, steps);
  const schema = foundSchemas.length === 1 ? foundSchemas[0] : { anyOf: foundSchemas };
  // If the schema has nothing at the path, the schema of the values is unknown.
  const leaf = isRecord(schema ?? null) && foundSchemas.length > 0 ? schema : { not: {} };
  return { param, steps, leaf: { ...param, schema: leaf as CompiledParam['schema'] } };
}

const restOfPath = /^(?:\[\])*(?:\.[^.[\]]+(?:\[\])*)*$/;
const stepsMax = 16;

/**
 * Splits a path such as `fields.project.key` or `to[]` into the parameter in which it begins and
 * the steps from there. The parameter's own name may contain dots. Undefined when no parameter
 * begins the path.
 */
export function parseScopePath<Param extends { readonly name: string }>(
  path: string,
  params: readonly Param[],
): { readonly param: Param; readonly steps: readonly ScopeStep[] } | undefined {
  const isBeginningOfPath = ({ name }: Param) =>
    path.startsWith(name) && restOfPath.test(path.slice(name.length));
  const [param] = params
    .filter(isBeginningOfPath)
    .toSorted((a, b) => b.name.length - a.name.length);
  if (param === undefined) return undefined;
  const stepsAfterName = path.slice(param.name.length).match(/\[\]|[^.[\]]+/g) ?? [];
  if (stepsAfterName.length > stepsMax) return undefined;
  return { param, steps: stepsAfterName.map((step) => (step === '[]' ? null : step)) };
}

const schemasMax = 100;

/** The schemas of the values at the end of the steps, in every alternative of the schema. */
export function schemasAt(schema: JsonValue, steps: readonly ScopeStep[]): JsonValue[] {
  let schemas = alternativesOf(schema);
  for (const step of steps) {
    schemas = schemas
      .flatMap((each) => {
        if (!isRecord(each)) return [];
        if (step === null) return each['items'] === undefined ? [] : [each['items']];
        const properties = each['properties'] ?? null;
        const isNamed = isRecord(properties) && Object.hasOwn(properties, step);
        return isNamed ? [properties[step] ?? null] : [];
      })
      .flatMap(alternativesOf)
      .slice(0, schemasMax);
  }
  return schemas;
}

/** The schema itself, and the schemas that it combines. */
function alternativesOf(schema: JsonValue): JsonValue[] {
  const alternatives: JsonValue[] = [schema];
  for (const each of alternatives) {
    if (!isRecord(each) || alternatives.length > schemasMax) continue;
    for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
      const members = each[keyword];
      if (Array.isArray(members)) alternatives.push(...members.slice(0, schemasMax));
    }
  }
  return alternatives;
}
