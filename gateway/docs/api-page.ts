import { exampleIds } from '../examples/example-call.ts';
import type { OpenapiDocument } from '../http/openapi.ts';
import { boundWords, codeOf, resolve, typeWords } from './schema-words.ts';
import type { Components, Schema } from './schema-words.ts';

interface Content {
  readonly content?: Readonly<
    Record<string, { readonly schema?: Schema; readonly example?: unknown }>
  >;
  readonly $ref?: string;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly security: readonly unknown[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

/**
 * Writes the Markdown page for one tag of the OpenAPI document: each operation of the tag with its
 * fields, an example and its errors.
 */
export function writeApiPage(
  document: OpenapiDocument,
  { name, description }: { readonly name: string; readonly description: string },
): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  ) as unknown as Operation[];
  const components = document.components['schemas'] as Components;
  const operationsOfTag = operations.filter(({ tags }) => tags.includes(name));
  return [
    `# ${name}`,
    description,
    `Made from the gateway's [OpenAPI document](/v1/openapi.json). In the examples, \`$GATEWAY\` is the address of the gateway and \`$TOKEN\` an access token or an agent key.`,
    ...operationsOfTag.map((operation) => writeOperation(operation, components)),
  ].join('\n\n');
}

function writeOperation(operation: Operation, components: Components): string {
  const { method, path, summary, description, parameters = [], requestBody } = operation;
  const body = requestBody?.content?.['application/json']?.schema;
  const access = description.slice(summary.length + 1).trim();
  return [
    `## ${summary}`,
    `\`${method} ${path}\``,
    access,
    parameters.length > 0 && writeParameters(parameters, components),
    body !== undefined && writeBody(body, components),
    '**Example**',
    fence('sh', writeCurl(operation)),
    ...Object.entries(operation.responses)
      .filter(([status]) => status.startsWith('2'))
      .map(([status, answer]) => writeAnswer(status, answer)),
    writeErrors(operation),
  ]
    .filter((part) => part !== false && part !== '')
    .join('\n\n');
}

function writeParameters(parameters: readonly Parameter[], components: Components): string {
  const rows = parameters.map(({ name, in: place, required, description = '', schema }) => [
    codeOf(name),
    place,
    typeWords(schema, components),
    describe([required && 'required', boundWords(schema), description]),
  ]);
  return table(['Parameter', 'In', 'Type', 'Notes'], rows);
}

function writeBody(schema: Schema, components: Components): string {
  const resolvedSchema = resolve(schema, components);
  const variants = (resolvedSchema['oneOf'] ?? [resolvedSchema]) as readonly Schema[];
  return variants
    .map((variant) => table(['Field of the body', 'Type', 'Notes'], fieldRows(variant, components)))
    .join('\n\n');
}

/** One row for each field. If the field is an object, the rows of its own fields follow. */
function fieldRows(schema: Schema, components: Components, prefix = ''): string[][] {
  const required = new Set(schema['required'] as readonly string[] | undefined);
  return Object.entries((schema['properties'] ?? {}) as Components).flatMap(([name, field]) => {
    const row = [
      codeOf(`${prefix}${name}`),
      typeWords(field, components),
      describe([required.has(name) && 'required', boundWords(field)]),
    ];
    return prefix === '' ? [row, ...fieldRows(field, components, `${name}.`)] : [row];
  });
}

function writeCurl({ method, path, parameters = [], security, requestBody }: Operation): string {
  const exampleOf = (name: string) => {
    const schema = parameters.find((each) => each.name === name)?.schema;
    return schema?.['format'] === 'uuid' ? exampleIds.other : (pathValues[name] ?? 'github');
  };
  const address = path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => exampleOf(name));
  const body = requestBody?.content?.['application/json']?.example;
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"$GATEWAY${address}"`,
    security.length > 0 && `-H "Authorization: Bearer $TOKEN"`,
    body !== undefined && `-H 'Content-Type: application/json'`,
    body !== undefined && `-d '${JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`)}'`,
  ]
    .filter((part) => part !== false)
    .join(' \\\n  ');
}

/** Example values of path parameters that are neither ids nor names of services or templates. */
const pathValues: Readonly<Record<string, string>> = {
  version: '1',
  tool: 'create_issue',
  client_id: 'editor-1f0c',
  token: 'value-of-the-link',
};

function writeAnswer(status: string, { content }: Content): string {
  const [[type, { example }] = ['', { example: undefined }]] = Object.entries(content ?? {});
  if (type === '') return `**Answer ${status}** has no body.`;
  const text = typeof example === 'string' ? example : JSON.stringify(example, null, 2);
  return `**Answer ${status}**\n\n${fence(type === 'application/json' ? 'json' : 'text', text)}`;
}

/**
 * Lists the error codes of an operation. They are in the names of the error responses that
 * operations share in the OpenAPI document.
 */
function writeErrors({ responses }: Operation): string {
  const rows = Object.entries(responses)
    .filter(([, { $ref: reference }]) => reference !== undefined)
    .map(([status, { $ref: reference = '' }]) => {
      const codes = reference.split('.').slice(1);
      return `${status} ${codes.map(codeOf).join(', ')}`;
    });
  return `**[Errors](../reference/errors.md#codes)**: ${rows.join('; ')}.`;
}

function describe(parts: readonly (string | false)[]): string {
  return parts
    .filter((part) => part !== false && part !== '')
    .join('; ')
    .replaceAll('\n', ' ');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function fence(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
}
