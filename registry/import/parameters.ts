import { isObject } from '../domain/context.ts';
import type { JsonObject, Place } from '../domain/context.ts';
import type { Path } from '../domain/findings.ts';
import type { Inference } from './imported.ts';
import { constantParameter, placeholdersOf } from './paths.ts';
import type { OperationPath } from './paths.ts';
import { convertSchema } from './schemas.ts';
import type { SchemaBudget } from './schemas.ts';
import type { Schemes } from './security.ts';
import { follow, shorten, textAt } from './source.ts';
import type { Source } from './source.ts';

/** Thrown where an operation cannot be expressed; caught where operations are converted. */
export class Skip extends Error {
  readonly code: 'parameter_unsupported' | 'body_unsupported';

  constructor(code: Skip['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** A Parameter Object of the template. */
export type Parameter = JsonObject & { readonly name: string; readonly in: string };

export interface Parameters {
  readonly list: Parameter[];
  readonly inferred: Inference[];
}

interface Owner {
  readonly pathItem: Place<JsonObject>;
  readonly operation: Place<JsonObject>;
  readonly path: OperationPath;
  readonly schemes: Schemes;
}

const parametersMax = 200;
const descriptionCharactersMax = 2000;
/** More than the compiler takes, so that it says what is wrong with a longer one. */
const nameCharactersMax = 300;

/** The parameters of an operation and its path in one list, as a template declares them. */
export function convertParameters(source: Source, owner: Owner, budget: SchemaBudget): Parameters {
  const byIdentity = new Map<string, Parameter>();
  for (const place of [
    ...entriesOf(source, owner.pathItem),
    ...entriesOf(source, owner.operation),
  ]) {
    const parameter = convertParameter(source, place, { path: owner.path, budget });
    if (parameter && !isCredential(parameter, owner.schemes))
      byIdentity.set(identityOf(parameter), parameter);
  }
  const inferred = new Set<Inference>();
  for (const [name, value] of Object.entries(owner.path.query)) {
    byIdentity.set(`query ${name}`, constantParameter(name, value));
    inferred.add('constants');
  }
  const mentioned = [
    ...placeholdersOf(owner.path.sent).map((name) => ({ name, in: 'path' })),
    ...Object.values(owner.path.moved).map((name) => ({ name, in: 'query' })),
  ];
  for (const parameter of mentioned) {
    const identity = identityOf(parameter);
    if (byIdentity.has(identity)) continue;
    byIdentity.set(identity, { ...parameter, required: true, schema: { type: 'string' } });
    inferred.add('parameters');
  }
  const list = [...byIdentity.values()].map((parameter) => {
    const constant = withConstant(parameter, owner.path.label);
    if (constant !== parameter) inferred.add('constants');
    return constant;
  });
  return { list: withinLimit(source, owner, list), inferred: [...inferred] };
}

/** What a security scheme puts there is not asked of callers. */
function isCredential(parameter: Parameter, schemes: Schemes): boolean {
  const name = parameter.name.toLowerCase();
  return [...schemes.values()].some(
    (scheme) =>
      scheme['type'] === 'apiKey' &&
      scheme['in'] === parameter.in &&
      textAt(scheme, 'name')?.toLowerCase() === name,
  );
}

function entriesOf(source: Source, owner: Place<JsonObject>): Place<JsonObject>[] {
  const { parameters } = owner.value;
  if (!Array.isArray(parameters)) return [];
  return parameters.slice(0, 2 * parametersMax).flatMap((value, index) => {
    const place = follow(source, { value, path: [...owner.path, 'parameters', index] });
    return place === undefined ? [] : [place];
  });
}

/** Where a parameter of an operation is declared: in it, in its path, or where those refer to. */
export function placeOfParameter(
  source: Source,
  { operation, pathItem }: Pick<Owner, 'operation' | 'pathItem'>,
  name: string,
): Path {
  const declared = [operation, pathItem].flatMap((owner) => entriesOf(source, owner));
  const place = declared.find(({ value }) => textAt(value, 'name')?.trim() === name);
  return place?.path ?? operation.path;
}

function identityOf({ name, in: place }: Parameter): string {
  return `${place} ${place === 'header' ? name.toLowerCase() : name}`;
}

interface ParameterUse {
  readonly path: OperationPath;
  readonly budget: SchemaBudget;
}

/** The compiler decides which of them can be sent; here they only get the form it reads. */
function convertParameter(
  source: Source,
  at: Place<JsonObject>,
  { path, budget }: ParameterUse,
): Parameter | undefined {
  const given = textAt(at.value, 'name') ?? '';
  const moved = Object.hasOwn(path.moved, given) ? path.moved[given] : undefined;
  const name = moved ?? given.trim();
  const location = moved === undefined ? (textAt(at.value, 'in') ?? '') : 'query';
  // Says nothing: the path has no place for it.
  if (location === 'path' && !placeholdersOf(path.sent).includes(name)) return undefined;
  const isRequired = at.value['required'] === true || location === 'path' || moved !== undefined;
  const description = textAt(at.value, 'description') ?? '';
  const style = textAt(at.value, 'style');
  const { explode, allowReserved, allowEmptyValue } = at.value;
  return {
    name: shorten(name, nameCharactersMax),
    in: shorten(location, nameCharactersMax),
    ...(isRequired && { required: true }),
    ...(description !== '' && { description: shorten(description, descriptionCharactersMax) }),
    ...(style !== undefined && { style: shorten(style, nameCharactersMax) }),
    ...(typeof explode === 'boolean' && { explode }),
    ...(allowReserved === true && location !== 'header' && { allowReserved }),
    ...(allowEmptyValue === true && { allowEmptyValue }),
    ...valueOf(source, at, budget),
  };
}

function valueOf(source: Source, at: Place<JsonObject>, budget: SchemaBudget): JsonObject {
  const { schema, content } = at.value;
  const [media] = isObject(content) ? Object.entries(content) : [];
  if (schema === undefined && media !== undefined && isObject(media[1])) {
    const place = {
      value: media[1]['schema'] ?? {},
      path: [...at.path, 'content', media[0], 'schema'],
    };
    return { content: { [media[0]]: { schema: typed(convertSchema(source, place, budget)) } } };
  }
  const place = { value: schema ?? {}, path: [...at.path, 'schema'] };
  return { schema: typed(convertSchema(source, place, budget)) };
}

/** A parameter is text on the wire, so without a type it is text. */
function typed(schema: JsonObject): JsonObject {
  if (['type', 'oneOf', 'anyOf', 'allOf'].some((keyword) => Object.hasOwn(schema, keyword)))
    return schema;
  const { enum: choices } = schema;
  const types = new Set(Array.isArray(choices) ? choices.map((value) => typeof value) : ['string']);
  const [type] = types;
  const isPlain = types.size === 1 && (type === 'number' || type === 'boolean');
  return { type: isPlain ? type : 'string', ...schema };
}

/** Where there is one value, there is nothing to choose: it is sent, and callers do not see it. */
function withConstant(parameter: Parameter, label: OperationPath['label']): Parameter {
  const { schema, name } = parameter;
  if (!isObject(schema) || parameter['required'] !== true || 'const' in schema) return parameter;
  const choices = Array.isArray(schema['enum']) ? schema['enum'] : [];
  const named = Object.hasOwn(label, name) ? label[name] : undefined;
  const value = choices.length === 1 ? choices[0] : choices.find((choice) => choice === named);
  if (value === undefined || parameter.in === 'path') return parameter;
  const { enum: _enum, default: _default, ...rest } = schema;
  return { ...parameter, schema: { ...rest, const: value } };
}

function withinLimit(source: Source, { operation }: Owner, list: Parameter[]): Parameter[] {
  if (list.length <= parametersMax) return list;
  const required = list.filter((parameter) => parameter['required'] === true);
  if (required.length > parametersMax) {
    throw new Skip(
      'parameter_unsupported',
      `It has more than ${parametersMax} required parameters.`,
    );
  }
  const optional = list.filter((parameter) => parameter['required'] !== true);
  const kept = new Set([...required, ...optional.slice(0, parametersMax - required.length)]);
  const message = `Optional parameters are left out: there are more than ${parametersMax}.`;
  source.notes.warn('parameter_dropped', operation.path, message);
  return list.filter((parameter) => kept.has(parameter));
}
