import { randomUUID } from 'node:crypto';

import type { BadInput, Scene } from './scene.ts';

const path = '/v1/actions/call';
const nestArrays = (levels: number) => `{"params":${'['.repeat(levels)}${']'.repeat(levels)}}`;
const manyKeys = JSON.stringify(
  Object.fromEntries(Array.from({ length: 10_001 }, (_, index) => [`k${index}`, 1])),
);
const sendBody =
  (body: string | Buffer, headers: Record<string, string> = {}) =>
  (scene: Scene) =>
    scene.sendRawRequest({ path, body, headers });
const callJson = JSON.stringify({ service: 'github', action: 'create_issue' });
const notJson = { status: 400, error: 'invalid_request', tells: /JSON/ };
const notAllowed = { status: 400, error: 'invalid_request' };
const tooLarge = { status: 413, error: 'too_large' };
const wrongType = { status: 415, error: 'unsupported_media_type' };

/** Requests with an invalid form. The gateway refuses them before it looks at their content. */
export const badBodies: BadInput[] = [
  { what: 'truncated JSON', send: sendBody('{"service": "github"'), ...notJson },
  { what: 'JSON with a trailing comma', send: sendBody('{"service": "github",}'), ...notJson },
  { what: 'text that is not JSON', send: sendBody('service=github'), ...notJson },
  { what: 'no body at all', send: sendBody(''), ...notJson },
  { what: 'a body of null', send: sendBody('null'), ...notAllowed },
  { what: 'a list instead of an object', send: sendBody('[]'), ...notAllowed, tells: /object/ },
  {
    what: 'a body that is not UTF-8',
    send: sendBody(Buffer.from('7b22ff227d', 'hex')),
    ...notJson,
  },
  { what: '65 levels of nesting', send: sendBody(nestArrays(65)), ...tooLarge, tells: /64/ },
  {
    what: 'nesting deep enough to overflow a parser',
    send: sendBody(nestArrays(200_000)),
    ...tooLarge,
  },
  { what: 'more than 10,000 keys', send: sendBody(manyKeys), ...tooLarge, tells: /10,?000/ },
  {
    what: 'a __proto__ key',
    send: sendBody('{"__proto__":{"a":1}}'),
    ...notAllowed,
    tells: /__proto__/,
  },
  {
    what: 'a body over 1 MiB',
    send: sendBody(JSON.stringify({ filter: 'x'.repeat(1_048_576) })),
    status: 413,
    error: 'too_large',
    tells: /send less/,
  },
  {
    what: 'a body over 1 MiB without a Content-Length',
    send: sendBody(`"${'x'.repeat(1_100_000)}"`, { 'transfer-encoding': 'chunked' }),
    status: 413,
    error: 'too_large',
  },
  {
    what: 'a body of plain text',
    send: sendBody(callJson, { 'content-type': 'text/plain' }),
    ...wrongType,
    tells: /application\/json/,
  },
  {
    what: 'a body that is a form',
    send: sendBody('service=github', { 'content-type': 'application/x-www-form-urlencoded' }),
    ...wrongType,
  },
  {
    what: 'a body of XML',
    send: sendBody('<call/>', { 'content-type': 'application/xml' }),
    ...wrongType,
  },
  {
    what: 'a compressed body',
    send: sendBody(callJson, { 'content-encoding': 'gzip' }),
    ...wrongType,
    tells: /Content-Encoding/i,
  },
  {
    what: 'an unknown field, and names the most similar field',
    send: ({ bot }) => bot.post(path, { service: 'github', acton: 'create_issue' }),
    ...notAllowed,
    tells: /"path":"acton".*"did_you_mean":"action"/,
  },
  {
    what: 'an unknown field in an otherwise valid call',
    send: ({ bot }) => bot.post(path, { service: 'github', action: 'list_issues', dry_run: true }),
    ...notAllowed,
    tells: /"path":"dry_run"/,
  },
  {
    what: 'an unknown field in a nested object',
    send: ({ admin }) =>
      admin.post('/v1/services', { template: 'github', credentials: { secret: {} } }),
    ...notAllowed,
    tells: /"path":"credentials\.secret".*"did_you_mean":"secrets"/,
  },
  {
    what: 'fields with wrong types, and names all of them',
    send: ({ bot }) => bot.post(path, { service: 7, action: [], timeout_ms: '5' }),
    ...notAllowed,
    tells: /"path":"service".*"path":"action".*"path":"timeout_ms"/,
  },
  {
    what: 'a number out of range',
    send: ({ bot }) =>
      bot.post(path, { service: 'github', action: 'list_issues', timeout_ms: 110_001 }),
    ...notAllowed,
    tells: /timeout_ms/,
  },
  {
    what: 'a body for a route that takes none',
    send: ({ admin, bot }) => admin.post(`/v1/identities/${bot.id}/revoke`, { really: true }),
    ...notAllowed,
    tells: /really/,
  },
  {
    what: 'a malformed id',
    send: ({ admin }) => admin.get('/v1/secrets/github_token'),
    ...notAllowed,
    tells: /"path":"id"/,
  },
  {
    what: 'an unknown query parameter, and names the most similar query parameter',
    send: ({ admin }) => admin.get('/v1/secrets?limt=5'),
    ...notAllowed,
    tells: /"path":"limt".*"did_you_mean":"limit"/,
  },
  {
    what: 'a page size of 0',
    send: ({ admin }) => admin.get('/v1/approvals?limit=0'),
    ...notAllowed,
    tells: /limit/,
  },
  {
    what: 'a page size of 201',
    send: ({ admin }) => admin.get('/v1/approvals?limit=201'),
    ...notAllowed,
    tells: /limit/,
  },
  {
    what: 'a forged cursor',
    send: ({ admin }) => admin.get('/v1/approvals?cursor=made-up'),
    ...notAllowed,
    tells: /cursor/,
  },
  {
    what: 'a path that does not exist',
    send: ({ bot }) => bot.get(`/v1/nothing/${randomUUID()}`),
    status: 404,
    error: 'not_found',
    tells: /openapi\.json/,
  },
  {
    what: 'dot segments in a path of the gateway',
    send: ({ sendRawRequest: raw }) => raw({ method: 'GET', path: '/v1/../v1/secrets' }),
    status: 404,
    error: 'not_found',
  },
  {
    what: 'an encoded slash in a path of the gateway',
    send: ({ admin }) => admin.get('/v1/secrets/..%2Fapprovals'),
    ...notAllowed,
  },
  {
    what: 'a path with invalid percent-encoding',
    send: ({ sendRawRequest: raw }) => raw({ method: 'GET', path: '/v1/services/%E0%A4%A' }),
    ...notAllowed,
  },
  {
    what: 'a method that the path does not have',
    send: ({ sendRawRequest: raw }) => raw({ method: 'PUT', path, body: '{}' }),
    status: 405,
    error: 'invalid_request',
    tells: /POST/,
  },
];
