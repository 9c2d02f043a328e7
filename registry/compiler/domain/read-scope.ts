import { scopeLimits } from '#contracts/scope-param';
import type { ScopeParam, ScopePosition } from '#contracts/scope-param';
import type { JsonValue } from '#contracts/vocabulary';
import { isListOf, parseScopePath, schemasAt } from '#templates';
import { isObject } from '../../document/domain/context.ts';
import type { CompileContext, DocumentNode, JsonObject } from '../../document/domain/context.ts';
import { scopeParamProblem } from './scope-param.ts';

const scopeExtension = 'x-service-scope-param';
const expectedForm =
  'Write the name of a parameter or a dotted path, or a list of one to three {param, label, as?}, where param is a path or a list of paths, and as is email or lower.';
const pathCharactersMax = 200;
const labelPattern = /^[^\p{Cc}:*%]{1,40}$/u;

/**
 * Reads `scope_param`. The name of a parameter stays a string, which all releases can read. Any
 * other form becomes a list of positions, and a release that knows only names refuses the template.
 */
export function readScopeForm(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
): ScopeParam | undefined {
  const value = node.value[scopeExtension];
  if (value === undefined) return undefined;
  const scope = typeof value === 'string' ? readPath(value) : readPositions(value);
  if (scope === undefined) {
    context.findings.error('wrong_type', [...node.path, scopeExtension], expectedForm);
    return undefined;
  }
  const positionsWithLists =
    typeof scope === 'string' ? [] : scope.filter(({ params }) => isListOf(params));
  if (positionsWithLists.length > 1) {
    const message = 'Only one position may have several values, because each value gives a key.';
    context.findings.error('scope_param_unsuited', [...node.path, scopeExtension], message);
    return undefined;
  }
  return scope;
}

function readPath(text: string): string | undefined {
  return text === '' || text.length > pathCharactersMax ? undefined : text;
}

function readPositions(value: JsonValue): ScopePosition[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > scopeLimits.positions) {
    return undefined;
  }
  const positions = value.map(readPosition);
  return positions.every((each) => each !== undefined) ? positions : undefined;
}

function readPosition(value: JsonValue): ScopePosition | undefined {
  if (!isObject(value)) return undefined;
  const { param, label, as, ...others } = value;
  const params = [param ?? []].flat();
  const areAllPaths = params.every(
    (path) => typeof path === 'string' && readPath(path) !== undefined,
  );
  const isLabelled = typeof label === 'string' && labelPattern.test(label);
  const isKnownFolding = as === undefined || as === 'email' || as === 'lower';
  if (!areAllPaths || params.length === 0 || params.length > scopeLimits.paths) return undefined;
  if (!isLabelled || !isKnownFolding || Object.keys(others).length > 0) return undefined;
  return { params: params as string[], label, ...(as === undefined ? {} : { as }) };
}

export interface ScopedParam {
  readonly name: string;
  readonly in: string;
  readonly schema: JsonObject;
}

/**
 * Returns what is wrong with the path of a position; undefined when all values at the path are of
 * one kind and have one spelling. The code distinguishes a path that leads nowhere from a path to
 * values that permission keys cannot contain.
 */
export function scopePathProblem(
  path: string,
  params: readonly ScopedParam[],
  as: ScopePosition['as'],
): { code: 'scope_param_unknown' | 'scope_param_unsuited'; text: string } | undefined {
  const unsuitedProblem = (text: string) => ({ code: 'scope_param_unsuited' as const, text });
  const parsed = parseScopePath(path, params);
  if (parsed === undefined) return { code: 'scope_param_unknown', text: 'is not a parameter' };
  const { param, steps } = parsed;
  const schemas = schemasAt(param.schema, steps).filter((each) => !isCombination(each));
  if (schemas.length === 0) {
    return { code: 'scope_param_unknown', text: 'is not in the schema of the parameter' };
  }
  const isMember = steps.some((step) => step !== null);
  if (isMember && param.in !== 'body') {
    return unsuitedProblem(
      'is a member of a parameter that is not in the body, and has several spellings',
    );
  }
  if (steps.length > 0 && param.in !== 'body' && param.in !== 'query') {
    return unsuitedProblem('is a list in a place where lists have several spellings');
  }
  if ([param.schema, ...schemas].some((each) => isObject(each) && 'default' in each)) {
    return unsuitedProblem('has a value of its own, so what it stands for would not be in the key');
  }
  const kinds = new Set(schemas.map(valueKindOf));
  const problem = schemas.map(scopeParamProblem).find((each) => each !== undefined);
  if (problem !== undefined || kinds.size > 1) {
    return unsuitedProblem(
      problem ?? 'may be several kinds of values, which one key could stand for',
    );
  }
  if (kinds.has('array'))
    return unsuitedProblem(`is a list; write "${path}[]" for a key for each value`);
  const isText = kinds.has('string');
  return as !== undefined && !isText
    ? unsuitedProblem(`is not text, which as: ${as} needs`)
    : undefined;
}

/**
 * Whether the schema only combines other schemas (`allOf`, `anyOf`, `oneOf`), which are checked by
 * themselves.
 */
function isCombination(schema: JsonValue): boolean {
  if (!isObject(schema)) return false;
  const { allOf, anyOf, oneOf, type, enum: values, const: constant } = schema;
  const hasOwnKeywords = type !== undefined || values !== undefined || constant !== undefined;
  return !hasOwnKeywords && [allOf, anyOf, oneOf].some((each) => Array.isArray(each));
}

/**
 * The kind of values that a schema accepts. `integer` and `number` are one kind. Without a `type`,
 * the first value of `enum`, or `const`, decides.
 */
function valueKindOf(schema: JsonValue): string {
  if (!isObject(schema)) return 'any';
  const { type, enum: values, const: constant } = schema;
  const kind = [type].flat().find((each) => each !== undefined && each !== 'null');
  if (typeof kind === 'string') return kind === 'integer' ? 'number' : kind;
  const sample = Array.isArray(values) ? values[0] : constant;
  return sample === undefined ? 'any' : typeof sample;
}
