import type { PublishedDocument } from '../../support/prism.ts';

type Json = Record<string, unknown>;

/**
 * A document in the words that the mock understands; what it demands of requests stays the same.
 *
 * - Answers keep nothing but their media types: examples that do not fit their own schemas, and
 *   headers that no answer of the mock can have (`Content-Encoding`), would hide the verdict.
 * - Parameters may meet several branches of a `oneOf`: everything is text there, and the mock reads
 *   `7` as a number and as a text.
 * - Lists in forms get the encoding that they have by default: without it the mock takes them for
 *   one text.
 */
export function readable(document: PublishedDocument): PublishedDocument {
  const text = JSON.stringify(document, (key, value: unknown) => {
    if (key === 'parameters') return withChoices(value, document);
    if (!isObject(value)) return value;
    if (key === 'responses') return bare(value, document);
    return key === 'application/x-www-form-urlencoded' ? withEncoding(value, document) : value;
  });
  return JSON.parse(text) as PublishedDocument;
}

function withChoices(parameters: unknown, document: PublishedDocument): unknown {
  // Also the components of that name, which are no list.
  const all = Object.entries(parameters ?? {}).map(([key, given]) => {
    const parameter = resolved(given, document);
    const { oneOf, ...schema } = resolved(parameter['schema'], document);
    return [
      key,
      oneOf === undefined ? given : { ...parameter, schema: { ...schema, anyOf: oneOf } },
    ];
  });
  return Array.isArray(parameters)
    ? all.map(([, parameter]) => parameter)
    : Object.fromEntries(all);
}

function bare(responses: Json, document: PublishedDocument): Json {
  const answers = Object.entries(responses).map(([status, answer]) => {
    const { content } = resolved(answer, document);
    const types = Object.keys(isObject(content) ? content : {}).map((type) => [type, {}]);
    return [status, { description: '', content: Object.fromEntries(types) }];
  });
  return Object.fromEntries(answers);
}

function withEncoding(media: Json, document: PublishedDocument): Json {
  const properties = resolved(media['schema'], document)['properties'];
  const lists = Object.entries(isObject(properties) ? properties : {}).filter(
    ([, property]) => resolved(property, document)['type'] === 'array',
  );
  const usual = lists.map(([name]) => [name, { style: 'form', explode: true }]);
  return { ...media, encoding: { ...Object.fromEntries(usual), ...(media['encoding'] as Json) } };
}

function resolved(schema: unknown, document: PublishedDocument): Json {
  if (!isObject(schema)) return {};
  if (typeof schema['$ref'] !== 'string') return schema;
  const [, , kind = '', name = ''] = schema['$ref'].split('/');
  return resolved(document.components?.[kind]?.[name], document);
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
