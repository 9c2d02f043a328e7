import { isObject } from '../../registry/domain/context.ts';
import type { PublishedDocument } from '../support/prism.ts';

type Json = Record<string, unknown>;

/** A value that may be sent, as the provider's document describes it. */
export interface OfficialField {
  readonly types: readonly string[];
  readonly values: readonly unknown[];
  readonly required: boolean;
  /** Members of an object, or of the items of a list; undefined when the document leaves them open. */
  readonly members: () => Readonly<Record<string, OfficialField>> | undefined;
}

export interface OfficialOperation {
  /** By `place name`, such as `query per_page`; those of the path by their position: `path 0`. */
  readonly params: Readonly<Record<string, OfficialField>>;
  /** Undefined when it takes none. */
  readonly body: OfficialField | undefined;
  readonly bodyRequired: boolean;
}

const depthMax = 6;
const methods = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'];

/** The operation of one of the documents; a fixed segment of ours may fill a placeholder of theirs. */
export function findOfficial(
  documents: readonly PublishedDocument[],
  { method, path }: { method: string; path: string },
): { document: PublishedDocument; path: string; operation: OfficialOperation } | undefined {
  const found = documents.flatMap((document) =>
    Object.entries(document.paths)
      .filter(([theirs, item]) => fits(path, theirs) && isObject(item) && hasMethod(item, method))
      .map(([theirs]) => ({ document, path: theirs })),
  );
  // The closest spelling: with the fewest placeholders.
  const [best] = found.toSorted(
    (left, right) => placeholders(left.path) - placeholders(right.path),
  );
  if (best === undefined) return undefined;
  const item = best.document.paths[best.path] as Json;
  return { ...best, operation: describe(best.document, item, method.toLowerCase()) };
}

function hasMethod(item: Json, method: string): boolean {
  return methods.includes(method.toLowerCase()) && isObject(item[method.toLowerCase()]);
}

function fits(ours: string, theirs: string): boolean {
  const [left, right] = [segmentsOf(ours), segmentsOf(theirs)];
  return (
    left.length === right.length &&
    left.every((segment, index) => {
      const other = right[index] ?? '';
      if (segment === other) return true;
      // `{id}.json` and `{id}:verb` keep what stands around the placeholder.
      const pattern = other
        .split(/\{[^}]*\}/)
        .map((part) => RegExp.escape(part))
        .join('(.+)');
      return other.includes('{') && new RegExp(`^${pattern}$`).test(segment);
    })
  );
}

const segmentsOf = (path: string) => path.replace(/\/$/, '').split('/');
const placeholders = (path: string) => path.split('{').length;

function describe(document: PublishedDocument, item: Json, method: string): OfficialOperation {
  const operation = item[method] as Json;
  const params: Record<string, OfficialField> = {};
  for (const given of [...list(item['parameters']), ...list(operation['parameters'])]) {
    const param = follow(document, given);
    // A document of version 2 says how a value is written beside what it is.
    const schema = follow(document, param['schema'] ?? contentSchema(document, param) ?? param);
    params[`${String(param['in'])} ${String(param['name'])}`] = {
      ...fieldOf(document, schema, depthMax),
      required: param['required'] === true,
    };
  }
  const body = follow(document, operation['requestBody']);
  const schema = contentSchema(document, body);
  return {
    params,
    body: schema === undefined ? undefined : fieldOf(document, schema, depthMax),
    bodyRequired: body['required'] === true,
  };
}

/** Of several media types the one we would send: JSON, else a form, else whatever comes first. */
function contentSchema(document: PublishedDocument, { content }: Json): Json | undefined {
  if (!isObject(content)) return undefined;
  const types = Object.keys(content);
  const chosen =
    types.find((type) => /json/.test(type)) ?? types.find((type) => /form/.test(type)) ?? types[0];
  const media = follow(document, content[chosen ?? '']);
  return follow(document, media['schema']);
}

function fieldOf(document: PublishedDocument, given: unknown, depth: number): OfficialField {
  const schema = follow(document, given);
  const parts = ['allOf', 'anyOf', 'oneOf'].flatMap((word) =>
    list(schema[word]).map((part) => ({ word, field: fieldOf(document, part, depth - 1) })),
  );
  const own = list(schema['type'] ?? []);
  const types = [
    ...(own.length > 0 ? own : [schema['type']]),
    ...parts.flatMap(({ field }) => field.types),
  ];
  const values = [...list(schema['enum']), ...parts.flatMap(({ field }) => field.values)];
  return {
    types: [...new Set(types.filter((type) => typeof type === 'string'))],
    // An alternative without a list of values takes any.
    values:
      parts.some(({ field }) => field.values.length === 0 && field.types.length > 0) &&
      list(schema['enum']).length === 0
        ? []
        : values,
    required: false,
    // Asked for only where we describe them too: some documents go round in circles.
    members: () => (depth > 0 ? membersOf(document, schema, { parts, depth }) : undefined),
  };
}

function membersOf(
  document: PublishedDocument,
  schema: Json,
  { parts, depth }: { parts: { word: string; field: OfficialField }[]; depth: number },
): Record<string, OfficialField> | undefined {
  if (schema['items'] !== undefined) return fieldOf(document, schema['items'], depth - 1).members();
  const required = list(schema['required']);
  const own = isObject(schema['properties']) ? schema['properties'] : {};
  const members: Record<string, OfficialField> = {};
  for (const { word, field } of parts) {
    for (const [name, member] of Object.entries(field.members() ?? {})) {
      // What one of several alternatives demands, another may not.
      members[name] = { ...member, required: member.required && word === 'allOf' };
    }
  }
  for (const [name, property] of Object.entries(own)) {
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

function follow(document: PublishedDocument, value: unknown): Json {
  let current = value;
  for (let hop = 0; hop < 20; hop += 1) {
    if (!isObject(current)) return {};
    const reference = current['$ref'];
    if (typeof reference !== 'string') return current;
    current = reference
      .slice(2)
      .split('/')
      .map((segment) => decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~'))
      // Some documents refer to a member of a list, such as the first parameter of an operation.
      .reduce<unknown>(
        (at, key) =>
          isObject(at) ? at[key] : Array.isArray(at) ? (at as unknown[])[Number(key)] : undefined,
        document,
      );
  }
  return {};
}

function list(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? [] : [value];
}
