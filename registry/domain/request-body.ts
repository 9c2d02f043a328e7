import type { CompiledAction } from '#contracts/template';
import { isObject } from './context.ts';
import type { Context, JsonObject, Place } from './context.ts';
import { checkFields } from './fields.ts';
import type { DeclaredParam } from './parameters.ts';
import { entriesOf, readFlag, readObject, readText } from './reading.ts';
import { followReference } from './references.ts';
import { compileResolve } from './resolve-block.ts';
import { checkSchema, expandSchema } from './schema.ts';

export interface CompiledBody {
  readonly body: NonNullable<CompiledAction['body']>;
  readonly params: DeclaredParam[];
  /** What a valid `params` object must meet besides the single parameters. */
  readonly conditions: JsonObject;
}

const preferredTypes = [
  /^application\/json$/i,
  /^application\/[a-z0-9.+-]+\+json$/i,
  /^application\/x-www-form-urlencoded$/i,
  /^multipart\/form-data$/i,
];

/** Keywords that say more about an object than its properties do. */
const beyondProperties = [
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'patternProperties',
  'propertyNames',
  'dependentSchemas',
  'unevaluatedProperties',
];

/**
 * The body of an operation as parameters: one per property where the body is a
 * plain object, so that agents need not know what goes where; a single `body`
 * otherwise.
 */
export function compileBody(
  context: Context,
  operation: Place<JsonObject>,
  others: readonly DeclaredParam[],
): CompiledBody | undefined {
  const declared = operation.value['requestBody'];
  if (declared === undefined) return undefined;
  const at = followReference(context, {
    value: declared,
    path: [...operation.path, 'requestBody'],
  });
  if (at === undefined) return undefined;
  checkFields(context, at, 'request body');
  const required = readFlag(context, at, 'required') ?? false;
  const description = readText(context, at, { key: 'description', max: 4000 }) ?? '';
  const media = chooseMediaType(context, at);
  if (media === undefined) return undefined;
  checkFields(context, media.at, 'media type');
  const schemaAt = { value: media.at.value['schema'] ?? true, path: [...media.at.path, 'schema'] };
  const schema = expandSchema(context, schemaAt);
  if (schema === undefined || !checkSchema(context, { value: schema, path: schemaAt.path }))
    return undefined;

  const place = { value: schema, path: schemaAt.path };
  const isForm = preferredTypes.slice(0, 4).some((type) => type.test(media.type));
  const split = isForm && splitBody(context, place, { required, others });
  if (split) return { ...split, body: { mediaType: media.type, wholeBody: false, required } };

  if (others.some((param) => param.name === 'body')) {
    const message =
      'The body becomes a parameter called "body", and there is one already. Rename that one.';
    context.findings.error('body_invalid', at.path, message);
    return undefined;
  }
  return {
    body: { mediaType: media.type, wholeBody: true, required },
    params: [wholeBody({ schema: isObject(schema) ? schema : {}, required, description, at })],
    conditions: {},
  };
}

function chooseMediaType(
  context: Context,
  at: Place<JsonObject>,
): { type: string; at: Place<JsonObject> } | undefined {
  const content = readObject(context, at, 'content');
  const types = content ? entriesOf(content) : [];
  const ranked = preferredTypes.flatMap((wanted) => types.filter(([type]) => wanted.test(type)));
  const [type, media] = ranked[0] ?? types[0] ?? [];
  if (type === undefined || media === undefined) {
    const message = 'Add "content" with a media type, such as application/json.';
    context.findings.error('body_invalid', at.path, message);
    return undefined;
  }
  if (!/^[a-z]+\/[a-z0-9.+-]+(?:; ?charset=[a-z0-9-]+)?$/i.test(type) || !isObject(media.value)) {
    const message = `"${type.slice(0, 80)}" is not a media type with a schema. Name one, such as application/json.`;
    context.findings.error('body_invalid', media.path, message);
    return undefined;
  }
  return { type, at: { value: media.value, path: media.path } };
}

interface SplitOptions {
  readonly required: boolean;
  readonly others: readonly DeclaredParam[];
}

/** The properties as parameters, or undefined where that would lose something. */
function splitBody(
  context: Context,
  { value: schema, path }: Place,
  { required, others }: SplitOptions,
): Pick<CompiledBody, 'params' | 'conditions'> | undefined {
  if (!isObject(schema) || !isObject(schema['properties'])) return undefined;
  if (schema['type'] !== undefined && schema['type'] !== 'object') return undefined;
  if (schema['additionalProperties'] !== undefined && schema['additionalProperties'] !== false) {
    return undefined;
  }
  const conditions = liftConditions(schema);
  if (conditions === undefined) return undefined;

  const needed = stringsIn(schema['required']);
  const source = propertyPlaces(context, path);
  const params = Object.entries(schema['properties'])
    .filter(([, property]) => !(isObject(property) && property['readOnly'] === true))
    .map(([name, property]): DeclaredParam => {
      const at = source(name);
      const { description, ...rest } = isObject(property) ? property : ({} as JsonObject);
      return {
        name,
        in: 'body',
        required: required && needed.includes(name),
        description: typeof description === 'string' ? description.slice(0, 4000) : '',
        schema: rest,
        explode: false,
        allowReserved: false,
        resolve: compileResolve(context, at),
        at,
      };
    });
  const taken = new Set(others.map((param) => param.name));
  if (params.length === 0 || params.some((param) => taken.has(param.name))) return undefined;
  return {
    params,
    conditions: required ? conditions : { ...conditions, ...whenPresent(params, needed) },
  };
}

/** An optional body must still be complete when any of it is given. */
function whenPresent(params: readonly DeclaredParam[], needed: string[]): JsonObject {
  if (needed.length === 0) return {};
  const entries = params.map(
    ({ name }) => [name, needed.filter((other) => other !== name)] as const,
  );
  return { dependentRequired: Object.fromEntries(entries) };
}

/** "One of these properties is required" survives the split; other conditions do not, and forbid it. */
function liftConditions(schema: JsonObject): JsonObject | undefined {
  const lifted: JsonObject = {};
  for (const keyword of beyondProperties) {
    const value = schema[keyword];
    if (value === undefined) continue;
    const isChoice =
      (keyword === 'anyOf' || keyword === 'oneOf') &&
      Array.isArray(value) &&
      value.every((branch) => isObject(branch) && Object.keys(branch).join() === 'required');
    if (!isChoice) return undefined;
    lifted[keyword] = value;
  }
  if (isObject(schema['dependentRequired']))
    lifted['dependentRequired'] = schema['dependentRequired'];
  return lifted;
}

/** Where the properties are written: `resolve` is read from there, since schemas drop extensions. */
function propertyPlaces(
  context: Context,
  path: Place['path'],
): (name: string) => Place<JsonObject> {
  const schema = path.reduce<Place['value'] | undefined>(
    (value, step) => (isObject(value) ? value[step] : undefined),
    context.document,
  );
  const at = followReference(context, { value: schema ?? {}, path });
  const properties = at && readObject(context, at, 'properties');
  return (name) => {
    const value = properties?.value[name];
    if (!properties || !isObject(value)) return { value: {}, path };
    return (
      followReference(context, { value, path: [...properties.path, name] }) ?? { value: {}, path }
    );
  };
}

function wholeBody({
  schema,
  required,
  description,
  at,
}: {
  schema: JsonObject;
  required: boolean;
  description: string;
  at: Place<JsonObject>;
}): DeclaredParam {
  return {
    name: 'body',
    in: 'body',
    required,
    description,
    schema,
    explode: false,
    allowReserved: false,
    resolve: null,
    at,
  };
}

function stringsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
