import { randomUUID } from 'node:crypto';

import { templateDocument } from '../../support/template.ts';
import type { BadInput, Scene } from './scene.ts';

const openapi = templateDocument('notes');
const saveTemplate =
  (body: object) =>
  ({ admin }: Scene) =>
    admin.post('/v1/templates', body);
const importFrom =
  (source: object, more: object = {}) =>
  ({ admin }: Scene) =>
    admin.post('/v1/templates/import', { source, ...more });
const search =
  (query: string) =>
  ({ bot }: Scene) =>
    bot.get(`/v1/search?${query}`);

const mixedTemplate = `openapi: 3.1.0
info: { title: Mixed, key: mixed }
runtime: mcp
servers: [{ url: 'https://api.example.com' }]
mcp: { url: 'https://mcp.example.com', auth: basic }
`;

const invalidRequest = { status: 400, error: 'invalid_request' };
const invalidTemplate = { status: 422, error: 'template_invalid' };
const missing = { status: 404, error: 'not_found' };
const refusedAddress = { status: 502, error: 'upstream_refused_address' };
/** An alias bomb: a few lines of YAML that expand to gigabytes. */
const aliasBomb = `a: &a [x, x, x, x, x, x, x, x, x]\n${['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']
  .map((name, at) => {
    const previousName = 'abcdefgh'[at];
    return `${name}: &${name} [${Array(9).fill(`*${previousName}`).join(', ')}]\n`;
  })
  .join('')}`;

/** Invalid templates, imports and searches. A refused template leaves nothing in the database. */
export const badTemplates: BadInput[] = [
  {
    what: 'a truncated template, and names the line',
    send: saveTemplate({ openapi: 'openapi: 3.1.0\ninfo: {' }),
    ...invalidTemplate,
    tells: /"report".*"code":"syntax".*"line":\d/,
  },
  {
    what: 'a template of another OpenAPI version, and says what to do',
    send: saveTemplate({ openapi: openapi.replace('3.1.0', '3.0.3') }),
    ...invalidTemplate,
    tells: /"code":"openapi_version".*imported/,
  },
  {
    what: 'a template with a duplicate key',
    send: saveTemplate({ openapi: `${openapi}\nopenapi: 3.1.0` }),
    ...invalidTemplate,
    tells: /duplicate_key/,
  },
  {
    what: 'a template with a __proto__ key',
    send: saveTemplate({ openapi: `${openapi}\n__proto__: { a: 1 }` }),
    ...invalidTemplate,
    tells: /forbidden_key/,
  },
  { what: 'an alias bomb', send: saveTemplate({ openapi: aliasBomb }), ...invalidTemplate },
  {
    what: 'a template with too deep nesting',
    send: saveTemplate({ openapi: '['.repeat(100_000) }),
    ...invalidTemplate,
  },
  {
    what: 'a template with an external reference',
    send: saveTemplate({
      openapi: openapi.replace(
        '{ type: object, required: [title], properties: { title: { type: string } } }',
        "{ $ref: 'http://169.254.169.254/schema.json' }",
      ),
    }),
    ...invalidTemplate,
    tells: /ref_remote/,
  },
  {
    what: 'a disclose filter that does not compile',
    send: saveTemplate({
      openapi: openapi.replace(
        'operationId: create_note',
        "operationId: create_note\n      disclose: [{ label: Title, filter: '.[' }]",
      ),
    }),
    ...invalidTemplate,
    tells: /disclose_invalid/,
  },
  {
    what: 'an empty template',
    send: saveTemplate({ openapi: '' }),
    ...invalidRequest,
    tells: /openapi/,
  },
  {
    what: 'a template that is a number',
    send: saveTemplate({ openapi: 7 }),
    ...invalidRequest,
    tells: /openapi/,
  },
  {
    what: 'a template of a tier that cannot be written',
    send: saveTemplate({ openapi, tier: 'global' }),
    ...invalidRequest,
    tells: /tier/,
  },
  {
    what: "a member's template for the org",
    send: ({ member }) => member.post('/v1/templates', { openapi, tier: 'org' }),
    status: 403,
    error: 'forbidden',
  },
  {
    what: "an agent's template",
    send: ({ bot }) => bot.post('/v1/templates', { openapi }),
    status: 403,
    error: 'insufficient_scope',
  },
  {
    what: 'a new version of a built-in template',
    send: ({ admin }) => admin.put('/v1/templates/github?tier=org', { openapi, version: 1 }),
    ...missing,
  },
  {
    what: 'an invalid version',
    send: ({ admin }) => admin.put('/v1/templates/notes', { openapi, version: 0 }),
    ...invalidRequest,
    tells: /version/,
  },
  {
    what: 'publishing without a version',
    send: ({ admin }) => admin.post('/v1/templates/notes/publish', {}),
    ...invalidRequest,
    tells: /"path":"version"/,
  },
  {
    what: 'an invalid template key',
    send: ({ admin }) => admin.get('/v1/templates/..%2Fservices'),
    ...invalidRequest,
    tells: /"path":"key"/,
  },
  {
    what: 'an unknown template, and names the most similar template',
    send: ({ admin }) => admin.get('/v1/templates/gihub'),
    ...missing,
    tells: /"did_you_mean":"github"/,
  },
  {
    what: 'an unknown tier',
    send: ({ bot }) => bot.get('/v1/templates?tier=orgs'),
    ...invalidRequest,
  },
  {
    what: 'a forged cursor of templates',
    send: ({ bot }) => bot.get('/v1/templates?cursor=W10'),
    ...invalidRequest,
    tells: /cursor/,
  },
  { what: 'an import without a source', send: importFrom({}), ...invalidRequest, tells: /source/ },
  {
    what: 'an import with two sources',
    send: importFrom({ url: 'https://a.example/', document: '{}' }),
    ...invalidRequest,
  },
  {
    what: 'an import of a file',
    send: importFrom({ url: 'file:///etc/passwd' }),
    ...invalidRequest,
  },
  {
    what: 'an import from a cloud’s metadata service',
    send: importFrom({ url: 'http://169.254.169.254/latest/meta-data/' }),
    ...refusedAddress,
  },
  {
    what: 'an import from a private address',
    send: importFrom({ url: 'https://127.0.0.1/openapi.json' }),
    ...refusedAddress,
  },
  {
    what: 'an import from this gateway itself',
    send: (scene) => importFrom({ url: `${scene.url}/v1/openapi.json` })(scene),
    ...refusedAddress,
  },
  {
    what: 'an import of a file that is not an OpenAPI document',
    send: importFrom({ document: '{"hello": "world"}' }),
    ...invalidTemplate,
    tells: /report/,
  },
  {
    what: 'an import of operations that the document lacks',
    send: importFrom({ document: openapi }, { include_operations: ['GET /nothing'] }),
    ...invalidTemplate,
    tells: /operation_unknown/,
  },
  {
    what: 'an import of an upload that does not exist',
    send: importFrom({ upload_id: randomUUID() }),
    ...missing,
  },
  {
    what: 'the progress of an upload that does not exist',
    send: ({ admin }) => admin.get(`/v1/templates/uploads/${randomUUID()}`),
    ...missing,
  },
  {
    what: 'the progress of an upload with an invalid id',
    send: ({ admin }) => admin.get('/v1/templates/uploads/..%2Fgithub'),
    ...invalidRequest,
    tells: /"path":"id"/,
  },
  {
    what: 'an upload that ends within a character',
    send: ({ admin }) => admin.post('/v1/templates/uploads', { text: 'a\ud83d' }),
    ...invalidRequest,
  },
  {
    what: 'a part of an upload that does not exist',
    send: ({ admin }) =>
      admin.post(`/v1/templates/uploads/${randomUUID()}/parts`, { text: 'a', offset: 1 }),
    ...missing,
  },
  {
    what: 'a search for 51 rows',
    send: search('q=issue&limit=51'),
    ...invalidRequest,
    tells: /limit/,
  },
  { what: 'a search for no rows', send: search('limit=0'), ...invalidRequest, tells: /limit/ },
  {
    what: 'a search beyond 200 characters',
    send: search(`q=${'x'.repeat(201)}`),
    ...invalidRequest,
  },
  {
    what: 'a search with an invalid catalog filter',
    send: search('catalog=maybe'),
    ...invalidRequest,
    tells: /catalog/,
  },
  {
    what: 'connecting a template that does not exist',
    send: ({ admin }) => admin.post('/v1/services', { template: 'gihub' }),
    ...missing,
    tells: /"did_you_mean":"github"/,
  },
  {
    what: 'an empty change of a service',
    send: ({ admin }) => admin.patch('/v1/services/github', {}),
    ...invalidRequest,
    tells: /change something/,
  },
  {
    what: 'a template of an MCP server with an API’s servers',
    send: ({ admin }) => admin.post('/v1/templates', { openapi: mixedTemplate }),
    status: 422,
    error: 'template_invalid',
    tells: /mcp_unexpected.*mcp_invalid/,
  },
  {
    what: 'listing the tools of an HTTP API',
    send: ({ admin }) => admin.post('/v1/services/github/discover'),
    status: 409,
    error: 'conflict',
    tells: /no MCP server/,
  },
  {
    what: 'a tool that does not exist',
    send: ({ admin }) => admin.get('/v1/services/github/tools/nothing'),
    ...missing,
  },
  {
    what: 'accepting a tool with a malformed hash',
    send: ({ admin }) => admin.post('/v1/services/github/tools/nothing/accept', { hash: 'any' }),
    ...invalidRequest,
    tells: /hash/,
  },
  {
    what: 'an upgrade without a newer version',
    send: ({ admin }) => admin.post('/v1/services/github/upgrade', {}),
    status: 409,
    error: 'conflict',
  },
];
