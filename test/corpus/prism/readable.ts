import type { PublishedDocument } from '../../support/prism.ts';

type Json = Record<string, unknown>;

/**
 * Rewrites a document so that the mock understands it. Its requirements for requests stay the same.
 *
 * - Responses keep only their media types. Otherwise two errors in documents would hide the mock's
 *   verdict about the request: examples that do not match their own schemas, and headers that no
 *   answer of the mock can have (`Content-Encoding`).
 * - Parameters may match several branches of a `oneOf`: every parameter is text, and the mock reads
 *   `7` both as a number and as text.
 * - Lists in forms get their default encoding explicitly. Otherwise the mock takes a list for one
 *   text.
 */
export function adaptToMock(document: PublishedDocument): PublishedDocument {
  const text = JSON.stringify(document, (key, value: unknown) => {
    if (key === 'parameters') return allowSeveralBranches(value, document);
    if (!isObject(value)) return value;
    if (key === 'responses') return keepMediaTypes(value, document);
    return key === 'application/x-www-form-urlencoded' ? stateListEncoding(value, document) : value;
  });
  return JSON.parse(text) as PublishedDocument;
}

function allowSeveralBranches(parameters: unknown, document: PublishedDocument): unknown {
  // This function also receives the map `components.parameters`. The map is an object and not a
  // list, and it stays one.
  const adaptedParameters = Object.entries(parameters ?? {}).map(([key, given]) => {
    const parameter = resolveReference(given, document);
    const { oneOf, ...schema } = resolveReference(parameter['schema'], document);
    return [
      key,
      oneOf === undefined ? given : { ...parameter, schema: { ...schema, anyOf: oneOf } },
    ];
  });
  return Array.isArray(parameters)
    ? adaptedParameters.map(([, parameter]) => parameter)
    : Object.fromEntries(adaptedParameters);
}

function keepMediaTypes(responses: Json, document: PublishedDocument): Json {
  const adaptedResponses = Object.entries(responses).map(([status, answer]) => {
    const { content } = resolveReference(answer, document);
    const types = Object.keys(isObject(content) ? content : {}).map((type) => [type, {}]);
    return [status, { description: '', content: Object.fromEntries(types) }];
  });
  return Object.fromEntries(adaptedResponses);
}

function stateListEncoding(media: Json, document: PublishedDocument): Json {
  const properties = resolveReference(media['schema'], document)['properties'];
  const listProperties = Object.entries(isObject(properties) ? properties : {}).filter(
    ([, property]) => resolveReference(property, document)['type'] === 'array',
  );
  const usualEncodings = listProperties.map(([name]) => [name, { style: 'form', explode: true }]);
  return {
    ...media,
    encoding: { ...Object.fromEntries(usualEncodings), ...(media['encoding'] as Json) },
  };
}

function resolveReference(schema: unknown, document: PublishedDocument): Json {
  if (!isObject(schema)) return {};
  if (typeof schema['$ref'] !== 'string') return schema;
  const [, , kind = '', name = ''] = schema['$ref'].split('/');
  return resolveReference(document.components?.[kind]?.[name], document);
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
