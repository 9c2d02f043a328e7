import type { ErrorObject } from 'ajv/dist/2020.js';

import { nearestName } from '../errors/index.ts';

/** One thing that is wrong with a value. */
export interface SchemaIssue {
  /** Dotted: `labels.0`. */
  readonly path: string;
  readonly message: string;
  readonly expected?: string;
  readonly did_you_mean?: string;
}

const issuesMax = 20;
const expectedCharactersMax = 500;
/** Unknown names that a missing one is compared with: more are no typing errors. */
const unknownComparedMax = 20;

type Schema = Readonly<Record<string, unknown>>;

/**
 * What a validator found, as issues that say what to do: the first twenty. Each error is looked at
 * once, and none after the last issue that is told.
 */
export function describeIssues(
  errors: readonly ErrorObject[],
  { schema, value }: { schema: Schema; value: unknown },
): SchemaIssue[] {
  if (errors.length === 0) return [];
  const unknown: string[] = [];
  const alternatives = new Set<string>();
  for (const { keyword, instancePath, schemaPath, params: found } of errors) {
    if (keyword === 'anyOf' || keyword === 'oneOf') alternatives.add(schemaPath);
    const isUnknown = keyword === 'additionalProperties' && instancePath === '';
    if (isUnknown && unknown.length < unknownComparedMax) {
      unknown.push(String(found['additionalProperty']));
    }
  }
  const given = new Set(Object.keys(asSchema(value) ?? {}));
  const seen = new Set<string>();
  const issues: SchemaIssue[] = [];
  for (const error of errors) {
    if (issues.length === issuesMax) break;
    if (isInsideAlternative(error, alternatives)) continue;
    const issue = describe(error, { schema, unknown, given });
    const text = `${issue.path} ${issue.message}`;
    if (seen.has(text)) continue;
    seen.add(text);
    issues.push(issue);
  }
  return issues;
}

interface Known {
  readonly schema: Schema;
  /** Names at the top that the action does not have. */
  readonly unknown: readonly string[];
  readonly given: ReadonlySet<string>;
}

function describe(error: ErrorObject, known: Known): SchemaIssue {
  const at = pathOf(error.instancePath);
  switch (error.keyword) {
    case 'required':
      return describeRequired(error, at, known);
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return describeUnknown(error, at, known);
    case 'enum':
    case 'const':
      return describeChoice(error, at);
    case 'type':
      return { path: at, message: 'has the wrong type', expected: listed(error.params['type']) };
    case 'format':
      return {
        path: at,
        message: 'is not in the right format',
        expected: String(error.params['format']),
      };
    case 'anyOf':
    case 'oneOf':
      return {
        path: at,
        message: 'fits none of the forms it may have',
        ...expectedTypes(error.parentSchema?.[error.keyword]),
      };
    default:
      return { path: at, message: error.message ?? 'is not valid' };
  }
}

function describeRequired(error: ErrorObject, at: string, known: Known): SchemaIssue {
  const name = String(error.params['missingProperty']);
  const meant = at === '' ? nearestName(name, known.unknown) : undefined;
  const type = propertySchema(error.parentSchema, name)?.['type'];
  return {
    path: join(at, name),
    message: meant === undefined ? 'is required' : `is required; "${meant}" is not a parameter`,
    ...(type === undefined ? {} : { expected: listed(type) }),
  };
}

function describeUnknown(error: ErrorObject, at: string, known: Known): SchemaIssue {
  const name = String(error.params['additionalProperty'] ?? error.params['unevaluatedProperty']);
  const properties = Object.keys(asSchema(error.parentSchema?.['properties']) ?? {});
  const free = at === '' ? properties.filter((each) => !known.given.has(each)) : properties;
  const meant = nearestName(name, free);
  return {
    path: join(at, name),
    message: at === '' ? 'is not a parameter of this action' : 'is not a known property',
    ...(meant === undefined ? {} : { did_you_mean: meant }),
  };
}

function describeChoice(error: ErrorObject, at: string): SchemaIssue {
  const given: unknown = error.data;
  const allowed: unknown[] =
    error.keyword === 'const'
      ? [error.params['allowedValue']]
      : [error.params['allowedValues'] ?? []].flat();
  const texts = allowed.filter((value) => typeof value === 'string');
  const meant = typeof given === 'string' ? nearestName(given, texts) : undefined;
  return {
    path: at,
    message: 'is not one of the allowed values',
    expected: `one of ${listedValues(allowed)}`,
    ...(meant === undefined ? {} : { did_you_mean: meant }),
  };
}

/** Why each of several alternatives does not fit says less than that none does. */
function isInsideAlternative(
  { schemaPath }: ErrorObject,
  alternatives: ReadonlySet<string>,
): boolean {
  if (alternatives.size === 0) return false;
  for (let end = schemaPath.indexOf('/'); end >= 0; end = schemaPath.indexOf('/', end + 1)) {
    if (alternatives.has(schemaPath.slice(0, end))) return true;
  }
  return false;
}

function expectedTypes(alternatives: unknown): { expected?: string } {
  if (!Array.isArray(alternatives)) return {};
  const types = alternatives.flatMap((each) => asSchema(each)?.['type'] ?? []);
  return types.length === 0 ? {} : { expected: listed(types) };
}

function propertySchema(parent: unknown, name: string): Schema | undefined {
  const properties = asSchema(asSchema(parent)?.['properties']);
  return properties !== undefined && Object.hasOwn(properties, name)
    ? asSchema(properties[name])
    : undefined;
}

function asSchema(value: unknown): Schema | undefined {
  return value !== null && typeof value === 'object' ? (value as Schema) : undefined;
}

function listed(types: unknown): string {
  return cut([...new Set([types].flat().map(String))].join(' or '));
}

/** As many as there is room for. */
function listedValues(values: readonly unknown[]): string {
  let text = '';
  for (const value of values) {
    text += `${text === '' ? '' : ', '}${cut(JSON.stringify(value) ?? 'null')}`;
    if (text.length > expectedCharactersMax) break;
  }
  return cut(text);
}

function cut(text: string): string {
  return text.length > expectedCharactersMax
    ? `${text.slice(0, expectedCharactersMax - 1)}…`
    : text;
}

/** `/labels/0` as `labels.0`. */
function pathOf(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.');
}

function join(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`;
}
