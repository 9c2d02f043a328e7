import { isHeaderName } from '#contracts/request-headers';
import type { CompiledParam, ParameterStyle } from '#contracts/template';
import type { CompileContext, JsonObject, DocumentNode } from '../../document/domain/context.ts';
import { checkFields } from '../../document/domain/fields.ts';
import { isReservedHeader, isTransportHeader } from '../../security/domain/headers.ts';
import { compileParameterType, forbidEmptyValues } from './parameter-schema.ts';
import { readFlag, readList, readText } from '../../document/domain/reading.ts';
import { followReference } from '../../document/domain/references.ts';
import { compileResolve } from './resolve-block.ts';

/** A compiled parameter, with its declaration in the document so that findings can point to it. */
export interface DeclaredParam extends CompiledParam {
  readonly at: DocumentNode<JsonObject>;
}

const locations = ['path', 'query', 'header'] as const;
type Location = (typeof locations)[number];

/** The styles that each location supports; the first is its default (OpenAPI 3.1.0 §4.8.12.2). */
const stylesByLocation = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
} as const satisfies Record<Location, readonly ParameterStyle[]>;
/** Names that are properties of all JavaScript objects; a parameter must not have one of them. */
const unsafeNames = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * Compiles the parameters of an operation. Parameters of the operation override those of its path
 * (OpenAPI §4.8.9).
 */
export function compileParameters(
  context: CompileContext,
  {
    pathItem,
    operation,
  }: { pathItem: DocumentNode<JsonObject>; operation: DocumentNode<JsonObject> },
): DeclaredParam[] {
  const sharedParams = compileParameterList(context, pathItem);
  const ownParams = compileParameterList(context, operation);
  const replacedIdentities = new Set(ownParams.map(locationAndNameOf));
  return [
    ...sharedParams.filter((param) => !replacedIdentities.has(locationAndNameOf(param))),
    ...ownParams,
  ];
}

function compileParameterList(
  context: CompileContext,
  parametersOwner: DocumentNode<JsonObject>,
): DeclaredParam[] {
  const params = readList(context, parametersOwner, { key: 'parameters', max: 200 }).flatMap(
    (entry) => {
      const paramNode = followReference(context, entry);
      const param = paramNode && compileParameter(context, paramNode);
      return param === undefined ? [] : [param];
    },
  );
  const seenIdentities = new Set<string>();
  for (const param of params) {
    const identity = locationAndNameOf(param);
    if (seenIdentities.has(identity)) {
      const message = `"${param.name}" is declared twice. Remove one of them.`;
      context.findings.error('parameter_duplicate', param.at.path, message);
    }
    seenIdentities.add(identity);
  }
  return params;
}

function locationAndNameOf(param: CompiledParam): string {
  return `${param.in} ${param.in === 'header' ? param.name.toLowerCase() : param.name}`;
}

function compileParameter(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
): DeclaredParam | undefined {
  const { findings } = context;
  checkFields(context, node, 'parameter');
  const name = readText(context, node, { key: 'name', max: 200, required: true });
  if (node.value['in'] === 'cookie') {
    const message = 'The gateway sends no cookies. Remove the parameter.';
    findings.warn('parameter_ignored', node.path, message);
    return undefined;
  }
  const location = locations.find((candidate) => candidate === node.value['in']);
  if (location === undefined) {
    const message = '"in" must be path, query or header.';
    findings.error('parameter_invalid', [...node.path, 'in'], message);
    return undefined;
  }
  const required = readFlag(context, node, 'required') ?? false;
  if (name === undefined || !isUsableName(context, node, { name, location, required }))
    return undefined;
  const type = compileParameterType(context, node);
  const style = type?.isJson === true ? 'json' : readStyle(context, node, location);
  const allowReserved = readFlag(context, node, 'allowReserved') ?? false;
  const resolve = compileResolve(context, node);
  const description = readText(context, node, { key: 'description', max: 4000 }) ?? '';
  const explode = readFlag(context, node, 'explode') ?? style === 'form';
  if (type === undefined) return undefined;
  const { schema } = type;
  if (location === 'path' && !required) {
    const message = `Add "required: true": path parameters are always required.`;
    findings.error('parameter_invalid', node.path, message);
  }
  if (allowReserved && location === 'header') {
    const message = '"allowReserved" has no meaning for a header. Remove it.';
    findings.error('parameter_invalid', [...node.path, 'allowReserved'], message);
  }
  const isSupplied = 'const' in schema || 'default' in schema;
  const mayBeEmpty = (readFlag(context, node, 'allowEmptyValue') ?? false) || style === 'json';
  return {
    name,
    wireName: name,
    in: location,
    style,
    required: required && !isSupplied,
    description,
    schema: required && !mayBeEmpty ? forbidEmptyValues(schema) : schema,
    // OpenAPI defines the style `deepObject` only with `explode`.
    explode: explode || style === 'deepObject',
    allowReserved,
    resolve,
    at: node,
  };
}

interface NamedParameter {
  readonly name: string;
  readonly location: Location;
  readonly required: boolean;
}

function isUsableName(
  { findings }: CompileContext,
  node: DocumentNode<JsonObject>,
  { name, location, required }: NamedParameter,
): boolean {
  const path = [...node.path, 'name'];
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
  { findings }: CompileContext,
  node: DocumentNode<JsonObject>,
  location: Location,
): ParameterStyle {
  const styles: readonly ParameterStyle[] = stylesByLocation[location];
  const [usual = 'simple'] = styles;
  const style = node.value['style'] ?? usual;
  const knownStyle = styles.find((candidate) => candidate === style);
  if (knownStyle !== undefined) return knownStyle;
  const message = `A ${location} parameter has one of the styles ${styles.join(', ')}; it is written as ${usual}.`;
  findings.warn('style_ignored', [...node.path, 'style'], message);
  return usual;
}
