import type { CompiledParam } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from './context.ts';
import type { Context, JsonObject, Place } from './context.ts';
import { checkFields } from './fields.ts';
import { isHeaderName, isReservedHeader } from './headers.ts';
import { readFlag, readList, readText } from './reading.ts';
import { followReference } from './references.ts';
import { compileResolve } from './resolve-block.ts';
import { checkSchema, expandSchema, mismatch } from './schema.ts';

/** A parameter, with where it is declared. */
export interface DeclaredParam extends CompiledParam {
  readonly at: Place<JsonObject>;
}

const locations = ['path', 'query', 'header'] as const;
/** OpenAPI §4.8.12.2: the one style per location that we can write. */
const styleOf = { path: 'simple', query: 'form', header: 'simple' } as const;
/** As parameter names these would name something else than a parameter. */
const unsafeNames = new Set(['__proto__', 'constructor', 'prototype']);

/** The parameters of an operation; its own ones replace those of its path (OpenAPI §4.8.9). */
export function compileParameters(
  context: Context,
  { pathItem, operation }: { pathItem: Place<JsonObject>; operation: Place<JsonObject> },
): DeclaredParam[] {
  const shared = compileList(context, pathItem);
  const own = compileList(context, operation);
  const replaced = new Set(own.map(identityOf));
  const params = [...shared.filter((param) => !replaced.has(identityOf(param))), ...own];
  const byName = new Map<string, DeclaredParam>();
  for (const param of params) {
    const other = byName.get(param.name);
    if (other) {
      const message = `"${param.name}" is also a ${other.in} parameter. Callers name parameters without their place: rename one.`;
      context.findings.error('parameter_duplicate', param.at.path, message);
    }
    byName.set(param.name, param);
  }
  return [...byName.values()];
}

function compileList(context: Context, owner: Place<JsonObject>): DeclaredParam[] {
  const params = readList(context, owner, { key: 'parameters', max: 200 }).flatMap((entry) => {
    const place = followReference(context, entry);
    const param = place && compileParameter(context, place);
    return param === undefined ? [] : [param];
  });
  const seen = new Set<string>();
  for (const param of params) {
    const identity = identityOf(param);
    if (seen.has(identity)) {
      const message = `"${param.name}" is declared twice. Remove one of them.`;
      context.findings.error('parameter_duplicate', param.at.path, message);
    }
    seen.add(identity);
  }
  return params;
}

function identityOf(param: CompiledParam): string {
  return `${param.in} ${param.in === 'header' ? param.name.toLowerCase() : param.name}`;
}

function compileParameter(context: Context, at: Place<JsonObject>): DeclaredParam | undefined {
  const { findings } = context;
  checkFields(context, at, 'parameter');
  const name = readText(context, at, { key: 'name', max: 200, required: true });
  const location = locations.find((candidate) => candidate === at.value['in']);
  if (location === undefined) {
    findings.error('parameter_invalid', [...at.path, 'in'], '"in" must be path, query or header.');
    return undefined;
  }
  if (name === undefined || !isUsableName(context, at, { name, location })) return undefined;
  const schema = compileParameterSchema(context, at);
  const style = readStyle(context, at, location);
  const required = readFlag(context, at, 'required') ?? false;
  const allowReserved = readFlag(context, at, 'allowReserved') ?? false;
  const resolve = compileResolve(context, at);
  const description = readText(context, at, { key: 'description', max: 4000 }) ?? '';
  if (schema === undefined || style === undefined) return undefined;
  if (location === 'path' && !required) {
    const message = `Add "required: true": path parameters are always required.`;
    findings.error('parameter_invalid', at.path, message);
  }
  if (allowReserved && location === 'header') {
    const message = '"allowReserved" has no meaning for a header. Remove it.';
    findings.error('parameter_invalid', [...at.path, 'allowReserved'], message);
  }
  const explode = readFlag(context, at, 'explode') ?? location === 'query';
  const isSupplied = 'const' in schema || 'default' in schema;
  return {
    name,
    in: location,
    required: required && !isSupplied,
    description,
    schema: location === 'path' ? neverEmpty(schema) : schema,
    explode,
    allowReserved,
    resolve,
    at,
  };
}

function isUsableName(
  { findings }: Context,
  at: Place<JsonObject>,
  { name, location }: { name: string; location: (typeof locations)[number] },
): boolean {
  const path = [...at.path, 'name'];
  if (unsafeNames.has(name) || !/^[\x21-\x7e]+$/.test(name)) {
    findings.error(
      'parameter_invalid',
      path,
      'Rename the parameter: use ASCII letters, digits and punctuation.',
    );
    return false;
  }
  if (location === 'query' && name === '_method') {
    findings.error(
      'parameter_invalid',
      path,
      'A parameter may not change the method. Remove "_method".',
    );
    return false;
  }
  if (location !== 'header') return true;
  if (/^(?:accept|content-type)$/i.test(name)) {
    const message = `OpenAPI ignores a parameter called "${name}"; the media types of the operation decide. Remove it.`;
    findings.warn('parameter_ignored', path, message);
    return false;
  }
  if (isHeaderName(name) && !isReservedHeader(name)) return true;
  findings.error(
    'header_not_allowed',
    path,
    `A caller may not set the header "${name}". Remove it.`,
  );
  return false;
}

function compileParameterSchema(context: Context, at: Place<JsonObject>): JsonObject | undefined {
  const { findings } = context;
  if ('content' in at.value) {
    findings.error(
      'unsupported',
      [...at.path, 'content'],
      'Describe the parameter by "schema" instead of "content".',
    );
    return undefined;
  }
  if (at.value['schema'] === undefined) {
    findings.error(
      'required_field_missing',
      at.path,
      'Add "schema" with the type of the parameter.',
    );
    return undefined;
  }
  const place = { value: at.value['schema'], path: [...at.path, 'schema'] };
  const schema = expandSchema(context, place);
  if (!isObject(schema)) {
    if (schema !== undefined)
      findings.error('schema_invalid', place.path, 'Give the parameter a type.');
    return undefined;
  }
  if (!checkSchema(context, { value: schema, path: place.path })) return undefined;
  if (!['type', 'oneOf', 'anyOf', 'allOf'].some((keyword) => keyword in schema)) {
    findings.error('required_field_missing', place.path, 'Add "type", such as string or integer.');
    return undefined;
  }
  return checkSupplied(context, { value: schema, path: place.path });
}

/** `const` is sent without asking anybody; in a compiled parameter it is a default that callers do not see. */
function checkSupplied(
  { findings }: Context,
  { value: schema, path }: Place<JsonObject>,
): JsonObject | undefined {
  for (const keyword of ['const', 'default']) {
    const supplied: JsonValue | undefined = schema[keyword];
    const problem = supplied === undefined ? undefined : mismatch(schema, supplied);
    if (problem === undefined) continue;
    findings.error(
      'schema_invalid',
      [...path, keyword],
      `The ${keyword} does not fit its own schema: ${problem}.`,
    );
    return undefined;
  }
  return 'const' in schema ? { ...schema, default: schema['const'] ?? null } : schema;
}

function readStyle(
  { findings }: Context,
  at: Place<JsonObject>,
  location: (typeof locations)[number],
): string | undefined {
  const style = at.value['style'];
  if (style === undefined || style === styleOf[location]) return styleOf[location];
  const message = `Only the style "${styleOf[location]}" is supported for ${location} parameters.`;
  findings.error('unsupported', [...at.path, 'style'], message);
  return undefined;
}

/** An empty path segment would address another resource: `/issues/` instead of `/issues/7`. */
function neverEmpty(schema: JsonObject): JsonObject {
  return schema['type'] === 'string' && !('minLength' in schema)
    ? { ...schema, minLength: 1 }
    : schema;
}
