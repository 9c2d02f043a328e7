import type { ErrorObject } from 'ajv/dist/2020.js';

import { nearestName } from '../errors/index.ts';

/** One thing that is wrong with a value. */
export interface SchemaIssue {
  /** The path with dots: `labels.0`. */
  readonly path: string;
  readonly message: string;
  readonly expected?: string;
  readonly did_you_mean?: string;
}

const issuesMax = 20;
const expectedCharactersMax = 500;
/**
 * The most unknown names that are compared with a missing name; more of them are not typing errors.
 */
const unknownComparedMax = 20;

type Schema = Readonly<Record<string, unknown>>;

/**
 * Turns the validator's errors into at most twenty issues that say what to do. Looks at each error
 * once, and at no error after the last issue.
 */
export function describeIssues(
  errors: readonly ErrorObject[],
  { schema, value }: { schema: Schema; value: unknown },
): SchemaIssue[] {
  if (errors.length === 0) return [];
  const unknownNames: string[] = [];
  const alternatives = new Set<string>();
  for (const { keyword, instancePath, schemaPath, params: found } of errors) {
    if (keyword === 'anyOf' || keyword === 'oneOf') alternatives.add(schemaPath);
    const isUnknownName = keyword === 'additionalProperties' && instancePath === '';
    if (isUnknownName && unknownNames.length < unknownComparedMax) {
      unknownNames.push(String(found['additionalProperty']));
    }
  }
  const givenNames = new Set(Object.keys(toSchema(value) ?? {}));
  const seenIssues = new Set<string>();
  const issues: SchemaIssue[] = [];
  for (const error of errors) {
    if (issues.length === issuesMax) break;
    if (isInsideAlternative(error, alternatives)) continue;
    const issue = describeError(error, { schema, unknown: unknownNames, given: givenNames });
    const text = `${issue.path} ${issue.message}`;
    if (seenIssues.has(text)) continue;
    seenIssues.add(text);
    issues.push(issue);
  }
  return issues;
}

interface KnownNames {
  readonly schema: Schema;
  /** Names at the top level of the value that the schema does not have. */
  readonly unknown: readonly string[];
  readonly given: ReadonlySet<string>;
}

function describeError(error: ErrorObject, knownNames: KnownNames): SchemaIssue {
  const path = pathOf(error.instancePath);
  switch (error.keyword) {
    case 'required':
      return describeRequired(error, path, knownNames);
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return describeUnknown(error, path, knownNames);
    case 'enum':
    case 'const':
      return describeChoice(error, path);
    case 'type':
      return {
        path: path,
        message: 'has the wrong type',
        expected: listTypes(error.params['type']),
      };
    case 'format':
      return {
        path: path,
        message: 'is not in the right format',
        expected: String(error.params['format']),
      };
    case 'pattern':
      return describePattern(error, path);
    case 'anyOf':
    case 'oneOf':
      return {
        path: path,
        message: 'fits none of the forms it may have',
        ...expectedTypesOf(error.parentSchema?.[error.keyword]),
      };
    default:
      return { path: path, message: error.message ?? 'is not valid' };
  }
}

function describeRequired(error: ErrorObject, path: string, knownNames: KnownNames): SchemaIssue {
  const name = String(error.params['missingProperty']);
  const closestName = path === '' ? nearestName(name, knownNames.unknown) : undefined;
  const type = propertySchemaOf(error.parentSchema, name)?.['type'];
  return {
    path: joinPath(path, name),
    message:
      closestName === undefined
        ? 'is required'
        : `is required; "${closestName}" is not a parameter`,
    ...(type === undefined ? {} : { expected: listTypes(type) }),
  };
}

function describeUnknown(error: ErrorObject, path: string, knownNames: KnownNames): SchemaIssue {
  const name = String(error.params['additionalProperty'] ?? error.params['unevaluatedProperty']);
  const properties = Object.keys(toSchema(error.parentSchema?.['properties']) ?? {});
  const unusedNames =
    path === '' ? properties.filter((each) => !knownNames.given.has(each)) : properties;
  const closestName = nearestName(name, unusedNames);
  return {
    path: joinPath(path, name),
    message: path === '' ? 'is not a parameter of this action' : 'is not a known property',
    ...(closestName === undefined ? {} : { did_you_mean: closestName }),
  };
}

function describeChoice(error: ErrorObject, path: string): SchemaIssue {
  const givenValue: unknown = error.data;
  const choices: unknown[] =
    error.keyword === 'const'
      ? [error.params['allowedValue']]
      : [error.params['allowedValues'] ?? []].flat();
  const allowedTexts = choices.filter((value) => typeof value === 'string');
  const closestName =
    typeof givenValue === 'string' ? nearestName(givenValue, allowedTexts) : undefined;
  return {
    path: path,
    message: 'is not one of the allowed values',
    expected: `one of ${listValues(choices)}`,
    ...(closestName === undefined ? {} : { did_you_mean: closestName }),
  };
}

/** The schema's own words say more to people and models than its pattern does. */
function describePattern(error: ErrorObject, path: string): SchemaIssue {
  const pattern = shortenText(String(error.params['pattern']));
  const ownDescription = error.parentSchema?.['description'];
  return typeof ownDescription === 'string' && ownDescription !== ''
    ? {
        path,
        message: `is not in the right form (${pattern})`,
        expected: shortenText(ownDescription),
      }
    : { path, message: `is not in the right form`, expected: pattern };
}

/**
 * Whether an error is inside an alternative of `anyOf` or `oneOf`. Such errors are left out,
 * because the error of the whole `anyOf` or `oneOf` says more.
 */
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

function expectedTypesOf(alternatives: unknown): { expected?: string } {
  if (!Array.isArray(alternatives)) return {};
  const types = alternatives.flatMap((each) => toSchema(each)?.['type'] ?? []);
  return types.length === 0 ? {} : { expected: listTypes(types) };
}

function propertySchemaOf(parent: unknown, name: string): Schema | undefined {
  const properties = toSchema(toSchema(parent)?.['properties']);
  return properties !== undefined && Object.hasOwn(properties, name)
    ? toSchema(properties[name])
    : undefined;
}

function toSchema(value: unknown): Schema | undefined {
  return value !== null && typeof value === 'object' ? (value as Schema) : undefined;
}

function listTypes(types: unknown): string {
  return shortenText([...new Set([types].flat().map(String))].join(' or '));
}

/** Lists as many values as fit into a message. */
function listValues(values: readonly unknown[]): string {
  let text = '';
  for (const value of values) {
    text += `${text === '' ? '' : ', '}${shortenText(JSON.stringify(value) ?? 'null')}`;
    if (text.length > expectedCharactersMax) break;
  }
  return shortenText(text);
}

function shortenText(text: string): string {
  return text.length > expectedCharactersMax
    ? `${text.slice(0, expectedCharactersMax - 1)}…`
    : text;
}

/** Turns the JSON pointer `/labels/0` into `labels.0`. */
function pathOf(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.');
}

function joinPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
