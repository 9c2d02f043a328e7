import type { CompiledParam, ParameterStyle } from '#contracts/template';
import type { Context, JsonObject, Place } from './context.ts';
import { checkFields } from './fields.ts';
import { isHeaderName, isReservedHeader, isTransportHeader } from './headers.ts';
import { compileParameterType, neverEmpty } from './parameter-schema.ts';
import { readFlag, readList, readText } from './reading.ts';
import { followReference } from './references.ts';
import { compileResolve } from './resolve-block.ts';

/** A parameter, with where it is declared. */
export interface DeclaredParam extends CompiledParam {
  readonly at: Place<JsonObject>;
}

const locations = ['path', 'query', 'header'] as const;
type Location = (typeof locations)[number];

/** OpenAPI 3.1.0 §4.8.12.2, the default of each location first. */
const stylesOf = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
} as const satisfies Record<Location, readonly ParameterStyle[]>;
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
  return [...shared.filter((param) => !replaced.has(identityOf(param))), ...own];
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
  if (at.value['in'] === 'cookie') {
    const message = 'The gateway sends no cookies. Remove the parameter.';
    findings.warn('parameter_ignored', at.path, message);
    return undefined;
  }
  const location = locations.find((candidate) => candidate === at.value['in']);
  if (location === undefined) {
    const message = '"in" must be path, query or header.';
    findings.error('parameter_invalid', [...at.path, 'in'], message);
    return undefined;
  }
  const required = readFlag(context, at, 'required') ?? false;
  if (name === undefined || !isUsableName(context, at, { name, location, required }))
    return undefined;
  const type = compileParameterType(context, at);
  const style = type?.isJson === true ? 'json' : readStyle(context, at, location);
  const allowReserved = readFlag(context, at, 'allowReserved') ?? false;
  const resolve = compileResolve(context, at);
  const description = readText(context, at, { key: 'description', max: 4000 }) ?? '';
  const explode = readFlag(context, at, 'explode') ?? style === 'form';
  if (type === undefined) return undefined;
  const { schema } = type;
  if (location === 'path' && !required) {
    const message = `Add "required: true": path parameters are always required.`;
    findings.error('parameter_invalid', at.path, message);
  }
  if (allowReserved && location === 'header') {
    const message = '"allowReserved" has no meaning for a header. Remove it.';
    findings.error('parameter_invalid', [...at.path, 'allowReserved'], message);
  }
  const isSupplied = 'const' in schema || 'default' in schema;
  const mayBeEmpty = (readFlag(context, at, 'allowEmptyValue') ?? false) || style === 'json';
  return {
    name,
    wireName: name,
    in: location,
    style,
    required: required && !isSupplied,
    description,
    schema: required && !mayBeEmpty ? neverEmpty(schema) : schema,
    // The style has no other form.
    explode: explode || style === 'deepObject',
    allowReserved,
    resolve,
    at,
  };
}

interface Named {
  readonly name: string;
  readonly location: Location;
  readonly required: boolean;
}

function isUsableName(
  { findings }: Context,
  at: Place<JsonObject>,
  { name, location, required }: Named,
): boolean {
  const path = [...at.path, 'name'];
  if (unsafeNames.has(name) || /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(name)) {
    const message = 'Rename the parameter: use letters, digits, spaces and punctuation.';
    findings.error('parameter_invalid', path, message);
    return false;
  }
  if (location === 'query' && /^_method(?:\[|$)/i.test(name)) {
    const message = 'A parameter may not change the method. Remove "_method".';
    findings.error('parameter_invalid', path, message);
    return false;
  }
  if (location !== 'header') return true;
  if (/^(?:accept|authorization|content-type)$/i.test(name)) {
    const message = `OpenAPI ignores a parameter called "${name}"; the media types and the security of the operation decide. Remove it.`;
    findings.warn('parameter_ignored', path, message);
    return false;
  }
  if (isHeaderName(name) && !isReservedHeader(name)) return true;
  if (isTransportHeader(name) || (isHeaderName(name) && !required)) {
    const message = `The gateway sets the header "${name}" itself or leaves it out. Remove the parameter.`;
    findings.warn('parameter_ignored', path, message);
    return false;
  }
  const message = `A caller may not set the header "${name}". Remove it.`;
  findings.error('header_not_allowed', path, message);
  return false;
}

function readStyle(
  { findings }: Context,
  at: Place<JsonObject>,
  location: Location,
): ParameterStyle {
  const styles: readonly ParameterStyle[] = stylesOf[location];
  const [usual = 'simple'] = styles;
  const style = at.value['style'] ?? usual;
  const known = styles.find((candidate) => candidate === style);
  if (known !== undefined) return known;
  const message = `A ${location} parameter has one of the styles ${styles.join(', ')}; it is written as ${usual}.`;
  findings.warn('style_ignored', [...at.path, 'style'], message);
  return usual;
}
