import { isObject } from '../../document/domain/context.ts';
import type { JsonObject, DocumentNode } from '../../document/domain/context.ts';
import type { DocumentPath } from '../../document/domain/findings.ts';
import { isCredentialName } from './credential-names.ts';
import type { Inference } from './imported.ts';
import { placeholderNamesOf } from './paths.ts';
import type { OperationPath } from './paths.ts';
import { convertSchema } from './schemas.ts';
import type { SchemaBudget } from './schemas.ts';
import { findSchemeAt } from './security.ts';
import type { Schemes } from './security.ts';
import { followReference, shortenText, textAt } from './source.ts';
import type { ImportSource } from './source.ts';

/** Thrown when a template cannot express an operation; the import then skips the operation. */
export class SkipOperation extends Error {
  readonly code: 'parameter_unsupported' | 'body_unsupported';

  constructor(code: SkipOperation['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** A Parameter Object for the template. */
export type Parameter = JsonObject & { readonly name: string; readonly in: string };

/**
 * Makes a parameter with only one possible value. Every call sends the value, and callers do not
 * give it.
 */
function createConstantParameter(name: string, value: string): Parameter {
  return { name, in: 'query', required: true, schema: { type: 'string', const: value } };
}

export interface ConvertedParameters {
  readonly list: Parameter[];
  readonly inferred: Inference[];
}

interface ParametersOwner {
  readonly pathItem: DocumentNode<JsonObject>;
  readonly operation: DocumentNode<JsonObject>;
  readonly path: OperationPath;
  readonly schemes: Schemes;
}

const parametersMax = 200;
const descriptionCharactersMax = 2000;
/**
 * The longest name that the import keeps. The compiler allows only shorter names, so it still
 * reports those that are too long.
 */
const nameCharactersMax = 300;

/** Converts the parameters of an operation, including those that its path declares. */
export function convertParameters(
  source: ImportSource,
  owner: ParametersOwner,
  budget: SchemaBudget,
): ConvertedParameters {
  const parametersByIdentity = new Map<string, Parameter>();
  for (const location of [
    ...parameterNodesOf(source, owner.pathItem),
    ...parameterNodesOf(source, owner.operation),
  ]) {
    const parameter = convertParameter(source, location, { path: owner.path, budget });
    if (parameter === undefined || isCredential(source, location, { parameter, owner })) continue;
    parametersByIdentity.set(locationAndNameOf(parameter), parameter);
  }
  const inferences = new Set<Inference>();
  for (const [name, value] of Object.entries(owner.path.query)) {
    parametersByIdentity.set(`query ${name}`, createConstantParameter(name, value));
    inferences.add('constants');
  }
  const mentionedParameters = [
    ...placeholderNamesOf(owner.path.sentPath).map((name) => ({ name, in: 'path' })),
    ...Object.values(owner.path.queryNamesByPlaceholder).map((name) => ({ name, in: 'query' })),
  ];
  for (const parameter of mentionedParameters) {
    const identity = locationAndNameOf(parameter);
    if (parametersByIdentity.has(identity)) continue;
    parametersByIdentity.set(identity, {
      ...parameter,
      required: true,
      schema: { type: 'string' },
    });
    inferences.add('parameters');
  }
  const list = [...parametersByIdentity.values()].map((parameter) => {
    const constantOrParameter = toConstant(parameter, owner.path.labelValues);
    if (constantOrParameter !== parameter) inferences.add('constants');
    return constantOrParameter;
  });
  return { list: keepWithinLimit(source, owner, list), inferred: [...inferences] };
}

/**
 * Whether this parameter is a credential, which callers do not give: that of a security scheme, or an
 * optional one beside the schemes of the document.
 */
function isCredential(
  source: ImportSource,
  { path }: DocumentNode<JsonObject>,
  { parameter, owner }: { parameter: Parameter; owner: ParametersOwner },
): boolean {
  if (findSchemeAt(owner.schemes, parameter.in, parameter.name) !== undefined) return true;
  const isOptional = parameter['required'] !== true;
  if (!isOptional || parameter.in === 'cookie' || !isCredentialName(parameter)) return false;
  const message = `The parameter "${shortenText(parameter.name, 100)}" is left out: it carries a credential, and the document has other ways to send one.`;
  source.notes.info('parameter_dropped', path, message);
  return true;
}

export function parameterNodesOf(
  source: ImportSource,
  owner: DocumentNode<JsonObject>,
): DocumentNode<JsonObject>[] {
  const { parameters } = owner.value;
  if (!Array.isArray(parameters)) return [];
  return parameters.slice(0, 2 * parametersMax).flatMap((value, index) => {
    const parameterNode = followReference(source, {
      value,
      path: [...owner.path, 'parameters', index],
    });
    return parameterNode === undefined ? [] : [parameterNode];
  });
}

/**
 * Finds where a parameter is declared: in the operation, in its path, or in the target of a
 * reference.
 */
export function placeOfParameter(
  source: ImportSource,
  { operation, pathItem }: Pick<ParametersOwner, 'operation' | 'pathItem'>,
  name: string,
): DocumentPath {
  const declaredParameters = [operation, pathItem].flatMap((owner) =>
    parameterNodesOf(source, owner),
  );
  const parameterNode = declaredParameters.find(
    ({ value }) => textAt(value, 'name')?.trim() === name,
  );
  return parameterNode?.path ?? operation.path;
}

function locationAndNameOf({ name, in: location }: Parameter): string {
  return `${location} ${location === 'header' ? name.toLowerCase() : name}`;
}

interface ParameterUse {
  readonly path: OperationPath;
  readonly budget: SchemaBudget;
}

/**
 * Converts one parameter to the form that the compiler reads. The compiler checks later whether
 * requests can contain it.
 */
function convertParameter(
  source: ImportSource,
  node: DocumentNode<JsonObject>,
  { path, budget }: ParameterUse,
): Parameter | undefined {
  const givenName = textAt(node.value, 'name') ?? '';
  const movedName = Object.hasOwn(path.queryNamesByPlaceholder, givenName)
    ? path.queryNamesByPlaceholder[givenName]
    : undefined;
  const name = movedName ?? givenName.trim();
  const location = movedName === undefined ? (textAt(node.value, 'in') ?? '') : 'query';
  // The path has no placeholder for this parameter, so the parameter has no effect.
  if (location === 'path' && !placeholderNamesOf(path.sentPath).includes(name)) return undefined;
  const isRequired =
    node.value['required'] === true || location === 'path' || movedName !== undefined;
  const description = textAt(node.value, 'description') ?? '';
  const style = textAt(node.value, 'style');
  const { explode, allowReserved, allowEmptyValue } = node.value;
  return {
    name: shortenText(name, nameCharactersMax),
    in: shortenText(location, nameCharactersMax),
    ...(isRequired && { required: true }),
    ...(description !== '' && { description: shortenText(description, descriptionCharactersMax) }),
    ...(style !== undefined && { style: shortenText(style, nameCharactersMax) }),
    ...(typeof explode === 'boolean' && { explode }),
    ...(allowReserved === true && location !== 'header' && { allowReserved }),
    ...(allowEmptyValue === true && { allowEmptyValue }),
    ...schemaFieldsOf(source, node, budget),
  };
}

function schemaFieldsOf(
  source: ImportSource,
  node: DocumentNode<JsonObject>,
  budget: SchemaBudget,
): JsonObject {
  const { schema, content } = node.value;
  const [media] = isObject(content) ? Object.entries(content) : [];
  if (schema === undefined && media !== undefined && isObject(media[1])) {
    const contentNode = {
      value: media[1]['schema'] ?? {},
      path: [...node.path, 'content', media[0], 'schema'],
    };
    return {
      content: {
        [media[0]]: { schema: withDefaultType(convertSchema(source, contentNode, budget)) },
      },
    };
  }
  const schemaNode = { value: schema ?? {}, path: [...node.path, 'schema'] };
  return { schema: withDefaultType(convertSchema(source, schemaNode, budget)) };
}

/** Adds the type string to a schema without a type, because requests contain parameters as text. */
function withDefaultType(schema: JsonObject): JsonObject {
  if (['type', 'oneOf', 'anyOf', 'allOf'].some((keyword) => Object.hasOwn(schema, keyword)))
    return schema;
  const { enum: choices } = schema;
  const types = new Set(Array.isArray(choices) ? choices.map((value) => typeof value) : ['string']);
  const [type] = types;
  const isPlain = types.size === 1 && (type === 'number' || type === 'boolean');
  return { type: isPlain ? type : 'string', ...schema };
}

/**
 * Turns a required parameter that has only one possible value into a constant, which callers do not
 * see.
 */
function toConstant(parameter: Parameter, label: OperationPath['labelValues']): Parameter {
  const { schema, name } = parameter;
  if (!isObject(schema) || parameter['required'] !== true || 'const' in schema) return parameter;
  const choices = Array.isArray(schema['enum']) ? schema['enum'] : [];
  const namedStyle = Object.hasOwn(label, name) ? label[name] : undefined;
  const value = choices.length === 1 ? choices[0] : choices.find((choice) => choice === namedStyle);
  if (value === undefined || parameter.in === 'path') return parameter;
  const { enum: _enum, default: _default, ...rest } = schema;
  return { ...parameter, schema: { ...rest, const: value } };
}

function keepWithinLimit(
  source: ImportSource,
  { operation }: ParametersOwner,
  list: Parameter[],
): Parameter[] {
  if (list.length <= parametersMax) return list;
  const requiredParameters = list.filter((parameter) => parameter['required'] === true);
  if (requiredParameters.length > parametersMax) {
    throw new SkipOperation(
      'parameter_unsupported',
      `It has more than ${parametersMax} required parameters.`,
    );
  }
  const optionalParameters = list.filter((parameter) => parameter['required'] !== true);
  const keptParameters = new Set([
    ...requiredParameters,
    ...optionalParameters.slice(0, parametersMax - requiredParameters.length),
  ]);
  const message = `Optional parameters are left out: there are more than ${parametersMax}.`;
  source.notes.warn('parameter_dropped', operation.path, message);
  return list.filter((parameter) => keptParameters.has(parameter));
}
