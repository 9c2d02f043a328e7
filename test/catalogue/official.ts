import { isObject } from '../../registry/document/domain/context.ts';
import type { PublishedDocument } from '../support/prism.ts';

type Json = Record<string, unknown>;

/** A value of a request, as the provider's document describes it. */
export interface OfficialField {
  readonly types: readonly string[];
  readonly values: readonly unknown[];
  readonly required: boolean;
  /**
   * The members of an object, or of the objects in a list. Undefined if the document does not
   * describe the members.
   */
  readonly members: () => Readonly<Record<string, OfficialField>> | undefined;
}

export interface OfficialOperation {
  /**
   * Parameters by place and name, such as `query per_page`. The name of a path parameter is its
   * position, such as `path 0`.
   */
  readonly params: Readonly<Record<string, OfficialField>>;
  /** Undefined if the operation takes no body. */
  readonly body: OfficialField | undefined;
  readonly bodyRequired: boolean;
}

const schemaDepthMax = 6;
const httpMethods = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'];

/**
 * Finds the operation in the documents. A placeholder in the document's path may stand for a fixed
 * segment of the template's path.
 */
export function findOfficialOperation(
  documents: readonly PublishedDocument[],
  { method, path }: { method: string; path: string },
): { document: PublishedDocument; path: string; operation: OfficialOperation } | undefined {
  const foundOperations = documents.flatMap((document) =>
    Object.entries(document.paths)
      .filter(
        ([theirPath, pathItem]) =>
          matchesPath(path, theirPath) && isObject(pathItem) && hasMethod(pathItem, method),
      )
      .map(([theirPath]) => ({ document, path: theirPath })),
  );
  // If several paths match, the one with the fewest placeholders matches best.
  const [bestMatch] = foundOperations.toSorted(
    (left, right) => countPlaceholders(left.path) - countPlaceholders(right.path),
  );
  if (bestMatch === undefined) return undefined;
  const pathItem = bestMatch.document.paths[bestMatch.path] as Json;
  return {
    ...bestMatch,
    operation: describeOperation(bestMatch.document, pathItem, method.toLowerCase()),
  };
}

function hasMethod(pathItem: Json, method: string): boolean {
  return httpMethods.includes(method.toLowerCase()) && isObject(pathItem[method.toLowerCase()]);
}

function matchesPath(ourPath: string, theirPath: string): boolean {
  const [left, right] = [segmentsOf(ourPath), segmentsOf(theirPath)];
  return (
    left.length === right.length &&
    left.every((segment, index) => {
      const officialSegment = right[index] ?? '';
      if (segment === officialSegment) return true;
      // In a segment such as `{id}.json` or `{id}:verb` of the document, only the placeholder's
      // part may differ.
      const pattern = officialSegment
        .split(/\{[^}]*\}/)
        .map((part) => RegExp.escape(part))
        .join('(.+)');
      return officialSegment.includes('{') && new RegExp(`^${pattern}$`).test(segment);
    })
  );
}

const segmentsOf = (path: string) => path.replace(/\/$/, '').split('/');
const countPlaceholders = (path: string) => path.split('{').length;

function describeOperation(
  document: PublishedDocument,
  pathItem: Json,
  method: string,
): OfficialOperation {
  const operation = pathItem[method] as Json;
  const params: Record<string, OfficialField> = {};
  for (const given of [...asList(pathItem['parameters']), ...asList(operation['parameters'])]) {
    const param = followReferences(document, given);
    // A document of OpenAPI 2 puts a parameter's type next to its name instead of into a schema.
    const schema = followReferences(
      document,
      param['schema'] ?? contentSchemaOf(document, param) ?? param,
    );
    params[`${String(param['in'])} ${String(param['name'])}`] = {
      ...fieldOf(document, schema, schemaDepthMax),
      required: param['required'] === true,
    };
  }
  const body = followReferences(document, operation['requestBody']);
  const schema = contentSchemaOf(document, body);
  return {
    params,
    body: schema === undefined ? undefined : fieldOf(document, schema, schemaDepthMax),
    bodyRequired: body['required'] === true,
  };
}

/**
 * Returns the schema of the media type that the template would send. If the document has several,
 * this is JSON, otherwise a form, otherwise the first.
 */
function contentSchemaOf(document: PublishedDocument, { content }: Json): Json | undefined {
  if (!isObject(content)) return undefined;
  const types = Object.keys(content);
  const chosenMediaType =
    types.find((type) => /json/.test(type)) ?? types.find((type) => /form/.test(type)) ?? types[0];
  const media = followReferences(document, content[chosenMediaType ?? '']);
  return followReferences(document, media['schema']);
}

function fieldOf(document: PublishedDocument, given: unknown, depth: number): OfficialField {
  const schema = followReferences(document, given);
  const parts = ['allOf', 'anyOf', 'oneOf'].flatMap((word) =>
    asList(schema[word]).map((part) => ({ word, field: fieldOf(document, part, depth - 1) })),
  );
  const ownTypes = asList(schema['type'] ?? []);
  const types = [
    ...(ownTypes.length > 0 ? ownTypes : [schema['type']]),
    ...parts.flatMap(({ field }) => field.types),
  ];
  const values = [...asList(schema['enum']), ...parts.flatMap(({ field }) => field.values)];
  return {
    types: [...new Set(types.filter((type) => typeof type === 'string'))],
    // If one of the alternatives has no enum, the field accepts any value.
    values:
      parts.some(({ field }) => field.values.length === 0 && field.types.length > 0) &&
      asList(schema['enum']).length === 0
        ? []
        : values,
    required: false,
    // A function, so that only those members are read that the template describes too: some
    // documents are recursive.
    members: () => (depth > 0 ? membersOf(document, schema, { parts, depth }) : undefined),
  };
}

function membersOf(
  document: PublishedDocument,
  schema: Json,
  { parts, depth }: { parts: { word: string; field: OfficialField }[]; depth: number },
): Record<string, OfficialField> | undefined {
  if (schema['items'] !== undefined) return fieldOf(document, schema['items'], depth - 1).members();
  const required = asList(schema['required']);
  const ownTypes = isObject(schema['properties']) ? schema['properties'] : {};
  const members: Record<string, OfficialField> = {};
  for (const { word, field } of parts) {
    for (const [name, member] of Object.entries(field.members() ?? {})) {
      // With `anyOf` and `oneOf`, one alternative may require a property that another alternative
      // does not require.
      members[name] = { ...member, required: member.required && word === 'allOf' };
    }
  }
  for (const [name, property] of Object.entries(ownTypes)) {
    members[name] = { ...fieldOf(document, property, depth - 1), required: false };
  }
  for (const name of required) {
    const member = members[String(name)];
    if (member !== undefined) members[String(name)] = { ...member, required: true };
  }
  const isOpen =
    Object.keys(members).length === 0 ||
    (schema['additionalProperties'] !== undefined && schema['additionalProperties'] !== false);
  return isOpen ? undefined : members;
}

function followReferences(document: PublishedDocument, value: unknown): Json {
  let current = value;
  for (let hop = 0; hop < 20; hop += 1) {
    if (!isObject(current)) return {};
    const reference = current['$ref'];
    if (typeof reference !== 'string') return current;
    current = reference
      .slice(2)
      .split('/')
      .map((segment) => decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~'))
      // Some documents refer to an element of a list by its index, such as the first parameter of
      // an operation.
      .reduce<unknown>(
        (at, key) =>
          isObject(at) ? at[key] : Array.isArray(at) ? (at as unknown[])[Number(key)] : undefined,
        document,
      );
  }
  return {};
}

function asList(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? [] : [value];
}
