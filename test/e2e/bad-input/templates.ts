import { randomUUID } from 'node:crypto';

import { templateDocument } from '../support/template.ts';
import type { BadInput, Scene } from './scene.ts';

const openapi = templateDocument('notes');
const save =
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

const shape = { status: 400, error: 'invalid_request' };
const invalid = { status: 422, error: 'template_invalid' };
const missing = { status: 404, error: 'not_found' };
const refused = { status: 502, error: 'upstream_refused_address' };
/** A few lines that stand for gigabytes. */
const aliasBomb = `a: &a [x, x, x, x, x, x, x, x, x]\n${['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']
  .map((name, at) => {
    const before = 'abcdefgh'[at];
    return `${name}: &${name} [${Array(9).fill(`*${before}`).join(', ')}]\n`;
  })
  .join('')}`;

/** Templates, imports and searches that cannot work; nothing is ever partly saved. */
export const badTemplates: BadInput[] = [
  {
    what: 'a template that breaks off, with the line',
    send: save({ openapi: 'openapi: 3.1.0\ninfo: {' }),
    ...invalid,
    tells: /"report".*"code":"syntax".*"line":\d/,
  },
  {
    what: 'a template of another version, and says what to do',
    send: save({ openapi: openapi.replace('3.1.0', '3.0.3') }),
    ...invalid,
    tells: /"code":"openapi_version".*imported/,
  },
  {
    what: 'a template with two keys of one name',
    send: save({ openapi: `${openapi}\nopenapi: 3.1.0` }),
    ...invalid,
    tells: /duplicate_key/,
  },
  {
    what: 'a template with a __proto__ key',
    send: save({ openapi: `${openapi}\n__proto__: { a: 1 }` }),
    ...invalid,
    tells: /forbidden_key/,
  },
  { what: 'an alias bomb', send: save({ openapi: aliasBomb }), ...invalid },
  {
    what: 'a template that nests without end',
    send: save({ openapi: '['.repeat(100_000) }),
    ...invalid,
  },
  {
    what: 'a template that refers to somewhere else',
    send: save({
      openapi: openapi.replace(
        '{ type: object, required: [title], properties: { title: { type: string } } }',
        "{ $ref: 'http://169.254.169.254/schema.json' }",
      ),
    }),
    ...invalid,
    tells: /ref_remote/,
  },
  {
    what: 'a disclose filter that does not compile',
    send: save({
      openapi: openapi.replace(
        'operationId: create_note',
        "operationId: create_note\n      disclose: [{ label: Title, filter: '.[' }]",
      ),
    }),
    ...invalid,
    tells: /disclose_invalid/,
  },
  { what: 'a template of nothing', send: save({ openapi: '' }), ...shape, tells: /openapi/ },
  {
    what: 'a template that is a number',
    send: save({ openapi: 7 }),
    ...shape,
    tells: /openapi/,
  },
  {
    what: 'a template of a tier that nobody writes',
    send: save({ openapi, tier: 'global' }),
    ...shape,
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
    what: 'the next version of a template that is built in',
    send: ({ admin }) => admin.put('/v1/templates/github?tier=org', { openapi, version: 1 }),
    ...missing,
  },
  {
    what: 'a version that is none',
    send: ({ admin }) => admin.put('/v1/templates/notes', { openapi, version: 0 }),
    ...shape,
    tells: /version/,
  },
  {
    what: 'publishing without a version',
    send: ({ admin }) => admin.post('/v1/templates/notes/publish', {}),
    ...shape,
    tells: /"path":"version"/,
  },
  {
    what: 'a template key that cannot be one',
    send: ({ admin }) => admin.get('/v1/templates/..%2Fservices'),
    ...shape,
    tells: /"path":"key"/,
  },
  {
    what: 'an unknown template, and names the nearest',
    send: ({ admin }) => admin.get('/v1/templates/gihub'),
    ...missing,
    tells: /"did_you_mean":"github"/,
  },
  { what: 'a tier that is none', send: ({ bot }) => bot.get('/v1/templates?tier=orgs'), ...shape },
  {
    what: 'a cursor of templates that nobody gave out',
    send: ({ bot }) => bot.get('/v1/templates?cursor=W10'),
    ...shape,
    tells: /cursor/,
  },
  { what: 'an import from nowhere', send: importFrom({}), ...shape, tells: /source/ },
  {
    what: 'an import from two places',
    send: importFrom({ url: 'https://a.example/', document: '{}' }),
    ...shape,
  },
  { what: 'an import of a file', send: importFrom({ url: 'file:///etc/passwd' }), ...shape },
  {
    what: 'an import from the metadata of a cloud',
    send: importFrom({ url: 'http://169.254.169.254/latest/meta-data/' }),
    ...refused,
  },
  {
    what: 'an import from a private address',
    send: importFrom({ url: 'https://127.0.0.1/openapi.json' }),
    ...refused,
  },
  {
    what: 'an import from this gateway itself',
    send: (scene) => importFrom({ url: `${scene.url}/v1/openapi.json` })(scene),
    ...refused,
  },
  {
    what: 'an import of what is no OpenAPI document',
    send: importFrom({ document: '{"hello": "world"}' }),
    ...invalid,
    tells: /report/,
  },
  {
    what: 'an import of operations that are not there',
    send: importFrom({ document: openapi }, { include_operations: ['GET /nothing'] }),
    ...invalid,
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
    what: 'the progress of an upload that cannot be one',
    send: ({ admin }) => admin.get('/v1/templates/uploads/..%2Fgithub'),
    ...shape,
    tells: /"path":"id"/,
  },
  {
    what: 'an upload that is cut inside of a character',
    send: ({ admin }) => admin.post('/v1/templates/uploads', { text: 'a\ud83d' }),
    ...shape,
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
    ...shape,
    tells: /limit/,
  },
  { what: 'a search for no rows', send: search('limit=0'), ...shape, tells: /limit/ },
  { what: 'a search beyond 200 characters', send: search(`q=${'x'.repeat(201)}`), ...shape },
  {
    what: 'a search that is neither',
    send: search('catalog=maybe'),
    ...shape,
    tells: /catalog/,
  },
  {
    what: 'connecting a template that is not there',
    send: ({ admin }) => admin.post('/v1/services', { template: 'gihub' }),
    ...missing,
    tells: /"did_you_mean":"github"/,
  },
  {
    what: 'a change of a service to nothing',
    send: ({ admin }) => admin.patch('/v1/services/github', {}),
    ...shape,
    tells: /change something/,
  },
  {
    what: 'a template of an MCP server with the address of an API',
    send: ({ admin }) => admin.post('/v1/templates', { openapi: mixedTemplate }),
    status: 422,
    error: 'template_invalid',
    tells: /mcp_unexpected.*mcp_invalid/,
  },
  {
    what: 'asking an API of HTTP for its tools',
    send: ({ admin }) => admin.post('/v1/services/github/discover'),
    status: 409,
    error: 'conflict',
    tells: /no MCP server/,
  },
  {
    what: 'a tool that is not there',
    send: ({ admin }) => admin.get('/v1/services/github/tools/nothing'),
    ...missing,
  },
  {
    what: 'accepting what nobody looked at',
    send: ({ admin }) => admin.post('/v1/services/github/tools/nothing/accept', { hash: 'any' }),
    ...shape,
    tells: /hash/,
  },
  {
    what: 'an upgrade where there is nothing newer',
    send: ({ admin }) => admin.post('/v1/services/github/upgrade', {}),
    status: 409,
    error: 'conflict',
  },
];
