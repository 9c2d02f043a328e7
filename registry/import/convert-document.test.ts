import { describe, expect, test } from 'vitest';

import type { JsonObject } from '../domain/context.ts';
import { compileParsed } from '../domain/template.ts';
import { convertDocument } from './convert-document.ts';
import { petDocument } from './hostile-documents.testing.ts';
import type { ImportRequest } from './imported.ts';

type Document = ReturnType<typeof petDocument>;

function importChanged(change: (document: Document) => void, request: Partial<ImportRequest> = {}) {
  const document = petDocument();
  change(document);
  const imported = convertDocument({ text: JSON.stringify(document), ...request });
  if (!imported.ok)
    return { imported, findings: imported.findings, codes: codesOf(imported.findings) };
  const options = { tier: 'org', ownerId: null, version: 1, isDraft: true } as const;
  const { report, template } = compileParsed(imported.document, options);
  expect(report.errors).toEqual([]);
  const { document: result, operations, findings } = imported;
  return { imported, result, template: template!, operations, findings, codes: codesOf(findings) };
}

const codesOf = (findings: readonly { code: string }[]) => findings.map(({ code }) => code);

/** The compiled action of the only operation: `GET /things/{id}` with what is given. */
function importOperation(
  operation: JsonObject,
  { path = '/things', method = 'post', ...rest } = {},
) {
  const imported = importChanged((document) => {
    Object.assign(document, rest);
    document.paths = { [path]: { [method]: { operationId: 'only', ...operation } } };
  });
  return { ...imported, action: imported.template?.actions['only'] };
}

const importBody = (schema: JsonObject, rest: JsonObject = {}) =>
  importOperation(
    { requestBody: { required: true, content: { 'application/json': { schema } } } },
    rest,
  ).action?.params.find((param) => param.in === 'body');
const importProperty = (schema: JsonObject, rest: JsonObject = {}) =>
  importBody({ type: 'object', properties: { it: schema, other: { type: 'string' } } }, rest)
    ?.schema;
const importParameter = (parameter: JsonObject, rest: JsonObject = {}) =>
  importOperation({ parameters: [{ name: 'it', in: 'query', ...parameter }] }, rest);

describe('a schema of OpenAPI 3.0', () => {
  test.for<[what: string, given: JsonObject, becomes: JsonObject]>([
    ['nullable', { type: 'string', nullable: true }, { type: ['string', 'null'] }],
    [
      'nullable with choices',
      { type: 'string', nullable: true, enum: ['a'] },
      { type: ['string', 'null'], enum: ['a', null] },
    ],
    [
      'nullable alternatives',
      { nullable: true, oneOf: [{ type: 'string' }, { type: 'integer' }] },
      { anyOf: [{ oneOf: [{ type: 'string' }, { type: 'integer' }] }, { type: 'null' }] },
    ],
    [
      'exclusiveMinimum',
      { type: 'number', minimum: 1, exclusiveMinimum: true },
      { type: 'number', exclusiveMinimum: 1 },
    ],
    [
      'exclusiveMaximum',
      { type: 'number', maximum: 1, exclusiveMaximum: false },
      { type: 'number', maximum: 1 },
    ],
    [
      'format byte',
      { type: 'string', format: 'byte' },
      { type: 'string', format: 'byte', contentEncoding: 'base64' },
    ],
    ['an example', { type: 'string', example: 'x', examples: ['y'] }, { type: 'string' }],
    ['xml and discriminator', { type: 'object', xml: {}, discriminator: {} }, { type: 'object' }],
    [
      'an inherited object',
      { allOf: [{ properties: { a: { type: 'string' } } }, { required: ['a'] }] },
      { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
    ],
    [
      'choices of another type',
      { type: 'string', enum: [1, true, 'x'] },
      { type: 'string', enum: ['1', 'true', 'x'] },
    ],
    ['no choices', { type: 'string', enum: [] }, { type: 'string' }],
    ['an odd type', { type: 'float' }, { type: 'number' }],
    ['an unknown type', { type: 'money' }, {}],
    ['a list without items', { type: 'array' }, { type: 'array' }],
    [
      'keywords of the wrong type',
      { type: 'string', minLength: '1', maxLength: -1, pattern: 7, required: true },
      { type: 'string' },
    ],
    ['a pattern that is none', { type: 'string', pattern: '(?i)x' }, { type: 'string' }],
    ['extensions of others', { type: 'string', 'x-order': 1 }, { type: 'string' }],
    [
      'read-only properties',
      {
        type: 'object',
        required: ['a', 'b'],
        properties: { a: { type: 'string', readOnly: true }, b: { type: 'string' } },
      },
      { type: 'object', required: ['b'], properties: { b: { type: 'string' } } },
    ],
  ])('%s becomes JSON Schema', ([, given, becomes]) => {
    expect(importProperty(given)).toEqual(becomes);
  });

  test('ignores what stands beside a reference; 3.1 does not', () => {
    const components = { schemas: { Name: { type: 'string', maxLength: 9 } } };
    const schema = { $ref: '#/components/schemas/Name', description: 'Other', minLength: 2 };

    expect(importProperty(schema, { components })).toEqual({ type: 'string', maxLength: 9 });
    expect(
      importProperty({ items: schema, type: 'array' }, { components, openapi: '3.1.0' }),
    ).toEqual({
      type: 'array',
      items: { description: 'Other', minLength: 2, allOf: [{ type: 'string', maxLength: 9 }] },
    });
  });

  test('that contains itself accepts anything from the second round on', () => {
    const Tree = { type: 'object', properties: { left: { $ref: '#/components/schemas/Tree' } } };
    const schema = { $ref: '#/components/schemas/Tree' };

    expect(importProperty(schema, { components: { schemas: { Tree } } })).toEqual({
      type: 'object',
      properties: { left: {} },
    });
  });

  test('that accepts more than it did makes no other accept less', () => {
    const branches = [
      { $ref: 'pet.yaml' },
      { type: 'object', properties: { a: { type: 'string' } } },
    ];
    expect(importProperty({ oneOf: branches })).toEqual({ anyOf: [{}, branches[1]] });
    expect(importProperty({ type: 'object', not: { $ref: 'pet.yaml' } })).toEqual({
      type: 'object',
    });
    const oneOf = [{ type: 'string' }, { type: 'integer' }];
    expect(importProperty({ oneOf, not: { type: 'null' } })).toEqual({
      oneOf,
      not: { type: 'null' },
    });
  });

  test('that unfolds too far is cut at its deepest levels', () => {
    const schemas = Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => {
        const next = { $ref: `#/components/schemas/S${n + 1}` };
        return [`S${n}`, { type: 'object', properties: { a: next, b: next, c: next } }];
      }),
    );
    const { action, codes } = importOperation(
      {
        requestBody: {
          content: { 'application/json': { schema: { $ref: '#/components/schemas/S0' } } },
        },
      },
      { components: { schemas } } as never,
    );

    expect(action?.params.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    expect(action?.params[0]?.schema).toMatchObject({
      properties: { a: { properties: { a: {} } } },
    });
    expect(codes).toContain('schema_opened');
  });
});

describe('an operation', () => {
  test.for<[method: string, path: string, id: string]>([
    ['get', '/repos/{owner}/{repo}/issues', 'list_repos_issues'],
    ['get', '/repos/{owner}/{repo}/issues/{number}', 'get_repos_issues'],
    ['post', '/api/v2/pets', 'create_pets'],
    ['put', '/pets/{id}', 'replace_pets'],
    ['patch', '/pets/{id}', 'update_pets'],
    ['delete', '/pets/{id}', 'delete_pets'],
    ['post', '/auth/login', 'post_auth_login'],
    ['get', '/', 'get'],
  ])('without id, %s %s, is called %s', ([method, path, id]) => {
    const { operations } = importChanged((d) => (d.paths = { [path]: { [method]: {} } }));
    expect(operations).toMatchObject([
      { operation_id: id, inferred: expect.arrayContaining(['operation_id']) },
    ]);
  });

  test('keeps its id where it can be an action, and something close to it elsewhere', () => {
    const { operations } = importChanged((d) => {
      d.paths = Object.fromEntries(
        ['good-one', 'issues/list-for-repo', 'Ünïcode', '__proto__', '7up', 'constructor', ''].map(
          (operationId, n) => [`/p${n}`, { get: { operationId } }],
        ),
      );
    });
    expect(operations?.map(({ operation_id }) => operation_id)).toEqual([
      'good-one',
      'issues_list-for-repo',
      'n_code',
      'proto',
      'up',
      'get_p5',
      'get_p6',
    ]);
  });

  test('has the same id in the next import, whatever else was added', () => {
    const paths = {
      '/a/{x}/b': { get: {} },
      '/a/b': { get: {} },
      '/c': { get: { operationId: 'same' } },
    };
    const idsOf = (
      more: JsonObject,
      order: (entries: [string, unknown][]) => [string, unknown][],
    ) => {
      const { operations } = importChanged((d) => {
        d.paths = Object.fromEntries(order(Object.entries({ ...paths, ...more }))) as never;
      });
      return new Map(operations!.map(({ operation_id, path }) => [path, operation_id]));
    };
    const first = idsOf({}, (entries) => entries);
    const second = idsOf({ '/d': { get: { operationId: 'same' } }, '/b': { get: {} } }, (entries) =>
      entries.toReversed(),
    );

    expect([...first.values()].toSorted()).toEqual(['get_a_b', 'get_a_by_x_b', 'same']);
    for (const [path, id] of first) expect([path, second.get(path)]).toEqual([path, id]);
    expect(new Set(second.values()).size).toBe(second.size);
  });

  test.for<[method: string, id: string, path: string, risk: string]>([
    ['get', 'listPets', '/pets', 'read'],
    ['head', 'checkPet', '/pets', 'read'],
    ['delete', 'listPets', '/pets', 'delete'],
    ['post', 'searchPets', '/pets/search', 'write'],
    ['put', 'setPet', '/pets', 'write'],
    ['get', 'deletePet', '/pets', 'delete'],
    ['get', 'pets', '/pets/delete', 'delete'],
    ['post', 'chat.delete', '/chat.delete', 'delete'],
    ['get', 'sendMessage', '/sendMessage', 'write'],
    ['get', 'GET_CreateQueue', '/queues', 'write'],
    ['get', 'listDeletedPets', '/pets/deleted', 'read'],
  ])('%s %s at %s has the risk %s%s', ([method, operationId, path, risk]) => {
    const { operations, template } = importChanged(
      (d) => (d.paths = { [path]: { [method]: { operationId } } }),
    );
    expect(operations).toMatchObject([{ risk }]);
    expect(Object.values(template!.actions)).toMatchObject([{ risk }]);
  });

  test.for<[what: string, path: string, operation: JsonObject, scope: string | null]>([
    ['the first resource of the path', '/repos/{owner}/{repo}', {}, 'owner'],
    ['no version', '/{version}/users/{user_id}', {}, 'user_id'],
    [
      'a container in the query',
      '/list',
      {
        parameters: [
          { name: 'project_id', in: 'query', required: true, schema: { type: 'string' } },
        ],
      },
      'project_id',
    ],
    [
      'no optional one',
      '/list',
      { parameters: [{ name: 'project_id', in: 'query', schema: { type: 'string' } }] },
      null,
    ],
    [
      'a container in the body',
      '/send',
      {
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: {
                type: 'object',
                required: ['channel'],
                properties: { text: { type: 'string' }, channel: { type: 'string' } },
              },
            },
          },
        },
      },
      'channel',
    ],
    ['nothing else', '/list', {}, null],
  ])('is scoped by %s', ([, path, operation, scope]) => {
    expect(importOperation(operation, { path }).action?.scopeParam).toBe(scope);
  });

  test('has a summary of one line that names what the path names', () => {
    const summaryOf = (operation: JsonObject) =>
      importOperation(operation, { path: '/pets/{id}' }).action?.summary;

    expect(summaryOf({ summary: 'Show {a} [pet].' })).toBe('Show \\{a\\} \\[pet\\] (id {id})');
    expect(summaryOf({ description: '<p>Shows a pet. Slowly.</p>' })).toBe('Shows a pet (id {id})');
    expect(summaryOf({})).toBe('Only (id {id})');
    expect(summaryOf({ summary: 'x'.repeat(5000) })).toHaveLength(210);
  });

  test.for<[type: string, schema: JsonObject, responseType: string]>([
    ['application/json', {}, 'json'],
    ['text/csv', {}, 'json'],
    ['application/pdf', {}, 'binary'],
    ['image/png', {}, 'binary'],
    ['*/*', { type: 'string', format: 'binary' }, 'binary'],
    ['*/*', { type: 'object' }, 'json'],
  ])('that answers %s of %j is %s', ([type, schema, responseType]) => {
    const { action } = importOperation({
      responses: {
        200: { content: { [type]: { schema } } },
        400: { content: { 'text/html': {} } },
      },
    });
    expect(action?.responseType).toBe(responseType);
  });

  test('that cannot be expressed is skipped with a reason, and the others are there', () => {
    const { operations, template } = importChanged((d) => {
      d.paths['/bad path'] = { get: { operationId: 'space' } };
      d.paths['/trace'] = { trace: { operationId: 'trace' } };
      d.paths['/other'] = {
        get: { operationId: 'other', servers: [{ url: 'https://other.example.com' }] },
      };
      d.paths['/same'] = {
        get: { operationId: 'same', servers: [{ url: 'https://pets.example.com/v1/' }] },
      };
      d.paths['/body'] = {
        get: {
          operationId: 'body',
          requestBody: { required: true, content: { 'application/json': {} } },
        },
      };
      d.paths['/pets/{a}'] = { get: { operationId: 'one' } };
      d.paths['/pets/{b}'] = { get: { operationId: 'two' }, delete: { operationId: 'three' } };
    });
    const reasons = operations?.map(({ operation_id, included, skipped }) => [
      operation_id,
      included ? 'included' : skipped?.code,
    ]);

    expect(reasons).toEqual([
      ['listPets', 'included'],
      ['createPet', 'included'],
      ['space', 'path_invalid'],
      ['trace', 'method_unsupported'],
      ['other', 'other_server'],
      ['same', 'included'],
      ['body', 'body_unsupported'],
      ['one', 'included'],
      ['two', 'path_duplicate'],
      ['three', 'included'],
    ]);
    expect(Object.keys(template!.actions).toSorted()).toEqual([
      'createPet',
      'listPets',
      'one',
      'same',
      'three',
    ]);
  });

  test('of a path and method that others have too is told apart by its label', () => {
    const target = (name: string) => ({
      post: {
        operationId: name,
        parameters: [
          {
            name: 'X-Amz-Target',
            in: 'header',
            required: true,
            schema: { type: 'string', enum: [`Db.${name}`] },
          },
        ],
      },
    });
    const { template } = importChanged(
      (d) =>
        (d.paths = {
          '/#X-Amz-Target=Db.Get': target('Get'),
          '/#X-Amz-Target=Db.DeleteItem': target('DeleteItem'),
          '/rpc?action=list&id={id}': {
            get: {
              operationId: 'rpc',
              parameters: [{ name: 'id', in: 'path', schema: { type: 'string' } }],
            },
          },
        }),
    );

    expect(template?.actions).toMatchObject({
      Get: {
        path: '/',
        risk: 'write',
        params: [{ name: 'X-Amz-Target', schema: { default: 'Db.Get' } }],
      },
      DeleteItem: { path: '/', risk: 'delete' },
      rpc: {
        path: '/rpc',
        params: [
          { name: 'id', in: 'query', required: true },
          { name: 'action', schema: { default: 'list' } },
        ],
      },
    });
    expect(template?.actions['Get']?.paramsSchema['properties']).toEqual({});
  });
});

describe('a parameter', () => {
  test.for<[what: string, parameter: JsonObject]>([
    ['in a cookie', { in: 'cookie', schema: { type: 'string' } }],
    ['of no place', { in: 'matrix', schema: { type: 'string' } }],
    ['that sets a credential', { in: 'header', name: 'Authorization', schema: { type: 'string' } }],
    ['with an unusable name', { name: '__proto__', schema: { type: 'string' } }],
    [
      'that the compiler refuses',
      { content: { 'application/xml': { schema: { type: 'string' } } } },
    ],
  ])('%s is left out', ([, parameter]) => {
    const { action, codes, findings } = importParameter(parameter);
    expect(action?.params).toEqual([]);
    expect(codes).toContain('parameter_dropped');
    expect(findings.find(({ code }) => code === 'parameter_dropped')?.path).toBe(
      '/paths/~1things/post/parameters/0',
    );
  });

  test('that is required, but cannot be sent, takes its operation with it', () => {
    const { operations } = importParameter({
      in: 'header',
      name: 'X-HTTP-Method-Override',
      required: true,
      schema: { type: 'string' },
    });
    expect(operations).toMatchObject([
      { included: false, skipped: { code: 'header_not_allowed' } },
    ]);
  });

  test('without type is a text, and one that the path lacks a declaration of is added', () => {
    const { action } = importParameter({ schema: {} }, { path: '/things/{id}' });
    expect(action?.params).toMatchObject([
      { name: 'it', schema: { type: 'string' } },
      { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
    ]);
  });

  test('with one possible value is sent without asking', () => {
    const { action } = importParameter({
      required: true,
      schema: { type: 'string', enum: ['v2'] },
    });
    expect(action?.params).toMatchObject([{ schema: { const: 'v2', default: 'v2' } }]);
    expect(action?.paramsSchema['properties']).toEqual({});
  });

  test('that a security scheme sends is not asked for', () => {
    const components = {
      securitySchemes: { key: { type: 'apiKey', in: 'query', name: 'api_key' } },
    };
    const { action } = importParameter(
      { name: 'api_key', required: true, schema: { type: 'string' } },
      { components },
    );
    expect(action?.params).toEqual([]);
  });

  test('has a default of its type, or none', () => {
    const defaultOf = (schema: JsonObject) =>
      importParameter({ schema }).action?.params[0]?.schema['default'];
    expect(defaultOf({ type: 'integer', default: '7' })).toBe(7);
    expect(defaultOf({ type: 'boolean', default: 'true' })).toBe(true);
    expect(defaultOf({ type: 'integer', default: 'many' })).toBeUndefined();
    expect(defaultOf({ type: 'string', enum: ['a'], default: 'b' })).toBeUndefined();
  });
});

describe('servers', () => {
  test.for<[what: string, servers: unknown, becomes: unknown, code: string | undefined]>([
    [
      'https',
      [{ url: 'https://a.example.com/v1/' }],
      [{ url: 'https://a.example.com/v1' }],
      undefined,
    ],
    [
      'http',
      [{ url: 'http://a.example.com:80' }],
      [{ url: 'https://a.example.com' }],
      'server_changed',
    ],
    ['none', undefined, undefined, 'needs_base_url'],
    ['a relative one', [{ url: '/v1' }], undefined, 'needs_base_url'],
    [
      'one without scheme',
      [{ url: '//a.example.com' }],
      [{ url: 'https://a.example.com' }],
      undefined,
    ],
    [
      'variables for labels',
      [{ url: 'https://{site}.example.com', variables: { site: { default: 'demo' } } }],
      [{ url: 'https://{site}.example.com', variables: { site: { default: 'demo' } } }],
      undefined,
    ],
    [
      'a variable nobody declared',
      [{ url: 'https://{site}.example.com' }],
      [{ url: 'https://{site}.example.com', variables: { site: {} } }],
      undefined,
    ],
    [
      'variables elsewhere',
      [{ url: 'https://a.example.com/{v}', variables: { v: { default: 'v3' } } }],
      [{ url: 'https://a.example.com/v3' }],
      'server_changed',
    ],
    [
      'a host that is a variable',
      [{ url: 'https://{host}/api', variables: { host: { default: 'git.example.com' } } }],
      [{ url: 'https://git.example.com/api', 'x-service-base-url-allowed': true }],
      'needs_base_url',
    ],
    ['a user', [{ url: 'https://me:pw@a.example.com' }], undefined, 'needs_base_url'],
    ['another scheme', [{ url: 'ftp://a.example.com' }], undefined, 'needs_base_url'],
  ])('%s', ([, servers, becomes, code]) => {
    const { result, codes } = importChanged((d) => (d['servers'] = servers as never));
    expect(result?.['servers']).toEqual(becomes);
    expect(codes).toEqual(expect.arrayContaining(code === undefined ? [] : [code]));
  });

  test('that are relative are relative to where the document comes from', () => {
    const { result } = importChanged((d) => (d['servers'] = [{ url: '../v2' }]), {
      sourceUrl: 'https://a.example.com/docs/openapi.json',
    });
    expect(result?.['servers']).toEqual([{ url: 'https://a.example.com/v2' }]);
  });

  test('are those of the operations where the document has none', () => {
    const { result, operations } = importChanged((d) => {
      Reflect.deleteProperty(d, 'servers');
      d.paths['/pets'] = { servers: [{ url: 'https://a.example.com' }], get: {}, post: {} };
      d.paths['/other'] = { servers: [{ url: 'https://b.example.com' }], get: {} };
    });
    expect(result?.['servers']).toEqual([{ url: 'https://a.example.com' }]);
    expect(operations?.map(({ included }) => included)).toEqual([true, true, false]);
  });
});

describe('security', () => {
  const schemesOf = (securitySchemes: JsonObject, rest: JsonObject = {}) =>
    importChanged((d) => Object.assign(d, { components: { securitySchemes } }, rest));
  const flow = {
    authorizationUrl: 'https://accounts.example.com/auth',
    tokenUrl: 'https://accounts.example.com/token',
    scopes: { read: 'Read' },
  };

  test.for<[what: string, scheme: JsonObject, becomes: object]>([
    [
      'a header',
      { type: 'apiKey', in: 'header', name: 'X-Key' },
      { type: 'apiKey', in: 'header', name: 'X-Key', defaultSecretName: 'pet_store_my_auth' },
    ],
    ['the query', { type: 'apiKey', in: 'query', name: 'key' }, { in: 'query', name: 'key' }],
    [
      'a bearer token',
      { type: 'http', scheme: 'Bearer' },
      { name: 'Authorization', prefix: 'Bearer ' },
    ],
    [
      'user and password',
      { type: 'http', scheme: 'basic' },
      { prefix: 'Basic ', encoding: 'basic' },
    ],
    [
      'an authorization code',
      { type: 'oauth2', flows: { authorizationCode: flow } },
      { type: 'oauth2', provider: 'example', scopes: ['read'] },
    ],
    [
      'another flow',
      { type: 'oauth2', flows: { clientCredentials: flow } },
      { type: 'apiKey', prefix: 'Bearer ' },
    ],
    [
      'OpenID Connect',
      { type: 'openIdConnect', openIdConnectUrl: 'http://169.254.169.254/' },
      { prefix: 'Bearer ' },
    ],
  ])('by %s is a way of authenticating', ([, scheme, becomes]) => {
    expect(schemesOf({ myAuth: scheme }).template?.auth).toMatchObject([
      { scheme: 'myAuth', ...becomes },
    ]);
  });

  test.for<[what: string, scheme: JsonObject]>([
    ['a cookie', { type: 'apiKey', in: 'cookie', name: 'session' }],
    ['a digest', { type: 'http', scheme: 'digest' }],
    [
      'a signature',
      {
        type: 'apiKey',
        in: 'header',
        name: 'Authorization',
        'x-amazon-apigateway-authtype': 'awsSigv4',
      },
    ],
    ['a header nobody may set', { type: 'apiKey', in: 'header', name: 'Host' }],
    ['a certificate', { type: 'mutualTLS' }],
  ])('by %s is reported and left out', ([, scheme]) => {
    const { template, codes } = schemesOf({ myAuth: scheme }, { security: [{ myAuth: [] }] });
    expect(template).toMatchObject({ auth: [], security: [] });
    expect(codes).toContain('auth_unsupported');
  });

  test('that only operations name is that of the template', () => {
    const bearer = { type: 'http', scheme: 'bearer' };
    const { template } = schemesOf(
      { a: bearer, b: bearer, unused: bearer },
      {
        paths: {
          '/x': { get: { security: [{ a: [], b: [] }] }, put: { security: [{ a: [] }, {}] } },
        },
      },
    );
    expect(template?.security).toEqual([['a', 'b'], ['a']]);
  });

  test('keeps the scopes of an operation, listed by the scheme or not', () => {
    const { template, codes } = schemesOf(
      { o: { type: 'oauth2', flows: { authorizationCode: flow } } },
      { paths: { '/x': { get: { operationId: 'x', security: [{ o: ['read', 'more'] }] } } } },
    );
    expect(template?.actions['x']?.minimumScopes).toEqual(['read', 'more']);
    expect(template?.auth).toMatchObject([{ scopes: ['read', 'more'] }]);
    expect(codes).toContain('scope_added');
  });
});

describe('an import', () => {
  test('takes the selected operations only, and lists the others', () => {
    const { operations, template } = importChanged(() => {}, { includeOperations: ['POST /pets'] });
    expect(operations).toMatchObject([
      { operation_id: 'listPets', included: false },
      { operation_id: 'createPet', included: true },
    ]);
    expect(Object.keys(template!.actions)).toEqual(['createPet']);
  });

  test('of an operation that does not exist is refused', () => {
    const { imported } = importChanged(() => {}, { includeOperations: ['listPets', 'listCats'] });
    expect(imported).toMatchObject({ ok: false, findings: [{ code: 'operation_unknown' }] });
  });

  test('has the key that is given, or one made of the title', () => {
    expect(importChanged(() => {}).imported).toMatchObject({
      key: 'pet_store',
      title: 'Pet Store API',
    });
    expect(importChanged(() => {}, { key: 'mine' }).template).toMatchObject({ key: 'mine' });
    for (const key of ['Mine', 'http', '', 'a'.repeat(64), '__proto__']) {
      expect(importChanged(() => {}, { key }).imported).toMatchObject({
        ok: false,
        findings: [{ code: 'key_invalid' }],
      });
    }
  });

  test('reads YAML like JSON', () => {
    const text =
      'openapi: 3.1.0\ninfo: {title: Pets}\nservers: [{url: "https://pets.example.com"}]\npaths:\n  /pets:\n    get:\n      responses: {200: {description: Fine}}\n';
    expect(convertDocument({ text })).toMatchObject({
      ok: true,
      key: 'pets',
      operations: [{ operation_id: 'list_pets' }],
    });
    expect(convertDocument({ text: Buffer.from(`\ufeff${text}`) })).toMatchObject({ ok: true });
  });

  test('says on which line a text cannot be read', () => {
    expect(convertDocument({ text: '{\n"a": 1,\n"a": 2}' })).toMatchObject({
      findings: [{ code: 'duplicate_key', line: 3 }],
    });
    expect(convertDocument({ text: '{\n"a": 1,\n' })).toMatchObject({
      findings: [{ code: 'syntax', line: 3 }],
    });
    expect(convertDocument({ text: 'a: 1\nb: [' })).toMatchObject({
      findings: [{ code: 'syntax', line: 2 }],
    });
  });

  test('takes in what fits, and says so of the rest', () => {
    const { operations } = importChanged((d) => {
      d.paths = Object.fromEntries(
        Array.from({ length: 1200 }, (_, n) => [`/things${n}`, { get: {} }]),
      );
    });
    expect(operations?.filter(({ included }) => included)).toHaveLength(1000);
    expect(operations?.at(-1)).toMatchObject({
      included: false,
      skipped: { code: 'does_not_fit' },
    });
  });

  test('ignores extensions of the gateway in documents of others', () => {
    const { action, template } = importOperation({
      'x-service-risk': 'read',
      risk: 'read',
      'x-service-redact': ['body.*'],
      'x-service-disabled': true,
    });
    expect(action).toMatchObject({ risk: 'write', redact: [], disabled: false });
    expect(template?.key).toBe('pet_store');
  });
});
