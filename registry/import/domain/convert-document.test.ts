import { describe, expect, test } from 'vitest';

import type { JsonObject } from '../../document/domain/context.ts';
import { compileParsed } from '../../compiler/domain/template.ts';
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

/**
 * Imports a document that has the given operation at `GET /things/{id}`, and returns the compiled
 * action.
 */
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

const importBody = (schema: JsonObject, documentFields: JsonObject = {}) =>
  importOperation(
    { requestBody: { required: true, content: { 'application/json': { schema } } } },
    documentFields,
  ).action?.params.find((param) => param.in === 'body');
const importProperty = (schema: JsonObject, documentFields: JsonObject = {}) =>
  importBody(
    { type: 'object', properties: { it: schema, other: { type: 'string' } } },
    documentFields,
  )?.schema;
const importParameter = (parameter: JsonObject, documentFields: JsonObject = {}) =>
  importOperation({ parameters: [{ name: 'it', in: 'query', ...parameter }] }, documentFields);

describe('a schema of OpenAPI 3.0 in an imported document', () => {
  test.for<[what: string, given: JsonObject, becomes: JsonObject]>([
    ['the keyword nullable', { type: 'string', nullable: true }, { type: ['string', 'null'] }],
    [
      'nullable and an enum',
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
      'enum values of another type',
      { type: 'string', enum: [1, true, 'x'] },
      { type: 'string', enum: ['1', 'true', 'x'] },
    ],
    ['an empty enum', { type: 'string', enum: [] }, { type: 'string' }],
    ['a type name of another language', { type: 'float' }, { type: 'number' }],
    ['an unknown type', { type: 'money' }, {}],
    ['a list without items', { type: 'array' }, { type: 'array' }],
    [
      'keywords of the wrong type',
      { type: 'string', minLength: '1', maxLength: -1, pattern: 7, required: true },
      { type: 'string' },
    ],
    ['an invalid pattern', { type: 'string', pattern: '(?i)x' }, { type: 'string' }],
    ['extensions of other vendors', { type: 'string', 'x-order': 1 }, { type: 'string' }],
    [
      'read-only properties',
      {
        type: 'object',
        required: ['a', 'b'],
        properties: { a: { type: 'string', readOnly: true }, b: { type: 'string' } },
      },
      { type: 'object', required: ['b'], properties: { b: { type: 'string' } } },
    ],
  ])('with %s is converted to the JSON Schema $2', ([, given, becomes]) => {
    expect(importProperty(given)).toEqual(becomes);
  });

  test('loses the keywords beside a reference, which a schema of OpenAPI 3.1 keeps', () => {
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

  test('accepts anything below the first level when the schema is recursive', () => {
    const Tree = { type: 'object', properties: { left: { $ref: '#/components/schemas/Tree' } } };
    const schema = { $ref: '#/components/schemas/Tree' };

    expect(importProperty(schema, { components: { schemas: { Tree } } })).toEqual({
      type: 'object',
      properties: { left: {} },
    });
  });

  test('has anyOf in place of oneOf when an alternative accepts more than before', () => {
    const branches = [
      { $ref: 'https://a.example/pet.yaml' },
      { type: 'object', properties: { a: { type: 'string' } } },
    ];
    expect(importProperty({ oneOf: branches })).toEqual({ anyOf: [{}, branches[1]] });
    expect(importProperty({ type: 'object', not: { $ref: 'https://a.example/pet.yaml' } })).toEqual(
      {
        type: 'object',
      },
    );
    const oneOf = [{ type: 'string' }, { type: 'integer' }];
    expect(importProperty({ oneOf, not: { type: 'null' } })).toEqual({
      oneOf,
      not: { type: 'null' },
    });
  });

  test('is cut at its deepest levels when replacing references makes it too large', () => {
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

describe('an operation of an imported document', () => {
  test.for<[method: string, path: string, id: string]>([
    ['get', '/repos/{owner}/{repo}/issues', 'list_repos_issues'],
    ['get', '/repos/{owner}/{repo}/issues/{number}', 'get_repos_issues'],
    ['post', '/api/v2/pets', 'create_pets'],
    ['put', '/pets/{id}', 'replace_pets'],
    ['patch', '/pets/{id}', 'update_pets'],
    ['delete', '/pets/{id}', 'delete_pets'],
    ['post', '/auth/login', 'post_auth_login'],
    ['get', '/', 'get'],
  ])('without an operationId, here %s %s, gets the id %s', ([method, path, id]) => {
    const { operations } = importChanged((d) => (d.paths = { [path]: { [method]: {} } }));
    expect(operations).toMatchObject([
      { operation_id: id, inferred: expect.arrayContaining(['operation_id']) },
    ]);
  });

  test('keeps a valid operationId, and gets a similar id when its operationId is invalid', () => {
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

  test('keeps its generated id when a later import has more operations', () => {
    const paths = {
      '/a/{x}/b': { get: {} },
      '/a/b': { get: {} },
      '/c': { get: { operationId: 'same' } },
    };
    const importIds = (
      morePaths: JsonObject,
      orderPaths: (entries: [string, unknown][]) => [string, unknown][],
    ) => {
      const { operations } = importChanged((d) => {
        d.paths = Object.fromEntries(
          orderPaths(Object.entries({ ...paths, ...morePaths })),
        ) as never;
      });
      return new Map(operations!.map(({ operation_id, path }) => [path, operation_id]));
    };
    const idsBefore = importIds({}, (entries) => entries);
    const idsAfter = importIds(
      { '/d': { get: { operationId: 'same' } }, '/b': { get: {} } },
      (entries) => entries.toReversed(),
    );

    expect([...idsBefore.values()].toSorted()).toEqual(['get_a_b', 'get_a_by_x_b', 'same']);
    for (const [path, id] of idsBefore) expect([path, idsAfter.get(path)]).toEqual([path, id]);
    expect(new Set(idsAfter.values()).size).toBe(idsAfter.size);
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
  ])(
    'with the method %s, the operationId %s and the path %s gets the risk %s',
    ([method, operationId, path, risk]) => {
      const { operations, template } = importChanged(
        (d) => (d.paths = { [path]: { [method]: { operationId } } }),
      );
      expect(operations).toMatchObject([{ risk }]);
      expect(Object.values(template!.actions)).toMatchObject([{ risk }]);
    },
  );

  test.for<[what: string, path: string, operation: JsonObject, scope: string | null]>([
    ['the first resource of the path', '/repos/{owner}/{repo}', {}, 'owner'],
    ['the path, but not the version of the API in it', '/{version}/users/{user_id}', {}, 'user_id'],
    [
      'a required container in the query',
      '/list',
      {
        parameters: [
          { name: 'project_id', in: 'query', required: true, schema: { type: 'string' } },
        ],
      },
      'project_id',
    ],
    [
      'an optional query parameter, which does not count',
      '/list',
      { parameters: [{ name: 'project_id', in: 'query', schema: { type: 'string' } }] },
      null,
    ],
    [
      'a required container in the body',
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
    ['neither path, query nor body', '/list', {}, null],
  ])('gets its scope parameter from %s: $3', ([, path, operation, scope]) => {
    expect(importOperation(operation, { path }).action?.scopeParam).toBe(scope);
  });

  test('has a one-line summary with its path parameters', () => {
    const importSummary = (operation: JsonObject) =>
      importOperation(operation, { path: '/pets/{id}' }).action?.summary;

    expect(importSummary({ summary: 'Show {a} [pet].' })).toBe('Show \\{a\\} \\[pet\\] (id {id})');
    expect(importSummary({ description: '<p>Shows a pet. Slowly.</p>' })).toBe(
      'Shows a pet (id {id})',
    );
    expect(importSummary({})).toBe('Only at /pets/{id}');
    expect(importSummary({ summary: 'Deprecated' })).toBe('Only at /pets/{id}');
    expect(importSummary({ summary: 'x'.repeat(5000) })).toHaveLength(210);
  });

  test('has words of its own where several operations share theirs, and a mark where it is deprecated', () => {
    const description = '**Deprecated:** Ask us first.';
    const { operations, template } = importChanged((d) => {
      d.paths = Object.fromEntries(
        ['/a', '/b/{id}'].map((path) => [path, { delete: { description } }]),
      );
    });
    expect(operations?.map(({ summary, deprecated }) => [summary, deprecated])).toEqual([
      ['Delete a at /a', true],
      ['Delete b at /b/{id}', true],
    ]);
    expect(Object.values(template!.actions)).toMatchObject([
      { deprecated: true },
      { deprecated: true },
    ]);
  });

  test.for<[type: string, schema: JsonObject, responseType: string]>([
    ['application/json', {}, 'json'],
    ['text/csv', {}, 'json'],
    ['application/pdf', {}, 'binary'],
    ['image/png', {}, 'binary'],
    ['*/*', { type: 'string', format: 'binary' }, 'binary'],
    ['*/*', { type: 'object' }, 'json'],
  ])(
    'with the response media type %s and schema %j gets the response type %s',
    ([type, schema, responseType]) => {
      const { action } = importOperation({
        responses: {
          200: { content: { [type]: { schema } } },
          400: { content: { 'text/html': {} } },
        },
      });
      expect(action?.responseType).toBe(responseType);
    },
  );

  test('is skipped with a reason when a template cannot express it', () => {
    const { operations, template } = importChanged((d) => {
      d.paths['/bad path'] = { get: { operationId: 'space' } };
      d.paths['/trace'] = { trace: { operationId: 'trace' } };
      d.paths['/other'] = {
        get: {
          operationId: 'other',
          servers: [
            { url: 'https://{site}.other.example.com', variables: { site: { default: 'a' } } },
          ],
        },
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

  test('has its own path in the template when its path differs from another path only in the part after # or ?', () => {
    const targetSchema = (name: string) => ({
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
          '/#X-Amz-Target=Db.Get': targetSchema('Get'),
          '/#X-Amz-Target=Db.DeleteItem': targetSchema('DeleteItem'),
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

describe('the body of an operation in an imported document', () => {
  const text = { type: 'string' };
  test.for<[what: string, schema: JsonObject, given: boolean | undefined, isRequired: boolean]>([
    [
      'required members',
      { type: 'object', required: ['a'], properties: { a: text } },
      undefined,
      true,
    ],
    ['optional members', { type: 'object', properties: { a: text } }, undefined, false],
    ['members that it says are optional', { type: 'object', required: ['a'] }, false, false],
    [
      'members required by a branch',
      { allOf: [{ required: ['a'] }, { minProperties: 0 }] },
      undefined,
      true,
    ],
    [
      'members required by all alternatives',
      { oneOf: [{ required: ['a'] }, { required: ['b'] }] },
      undefined,
      true,
    ],
    [
      'members required by one alternative',
      { oneOf: [{ required: ['a'] }, { type: 'object' }] },
      undefined,
      false,
    ],
    ['elements', { type: 'array', minItems: 1, items: text }, undefined, true],
    [
      'required members in answers alone',
      { required: ['a'], properties: { a: { ...text, readOnly: true } } },
      undefined,
      false,
    ],
  ])(
    'with %s in the schema %j and required: %j is required: %j',
    ([, schema, given, isRequired]) => {
      const required = given === undefined ? {} : { required: given };
      const { action, codes } = importOperation({
        requestBody: { ...required, content: { 'application/json': { schema } } },
      });
      expect(action?.body?.required).toBe(isRequired);
      expect(codes.includes('body_required')).toBe(isRequired && given === undefined);
    },
  );
});

describe('a parameter of an imported document', () => {
  test.for<[what: string, parameter: JsonObject]>([
    ['a cookie', { in: 'cookie', schema: { type: 'string' } }],
    ['in an unknown location', { in: 'matrix', schema: { type: 'string' } }],
    ['a header that the gateway sets', { in: 'header', name: 'Host', schema: { type: 'string' } }],
    ['named __proto__', { name: '__proto__', schema: { type: 'string' } }],
    [
      'of a kind that templates cannot have',
      { content: { 'application/xml': { schema: { type: 'string' } } } },
    ],
  ])('is left out when it is %s', ([, parameter]) => {
    const { action, codes, findings } = importParameter(parameter);
    expect(action?.params).toEqual([]);
    expect(codes).toContain('parameter_dropped');
    expect(findings.find(({ code }) => code === 'parameter_dropped')?.path).toBe(
      '/paths/~1things/post/parameters/0',
    );
  });

  test('causes its operation to be skipped when it is required but requests cannot contain it', () => {
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

  test('is a string when it has no type, and is added for an undeclared placeholder of the path', () => {
    const { action } = importParameter({ schema: {} }, { path: '/things/{id}' });
    expect(action?.params).toMatchObject([
      { name: 'it', schema: { type: 'string' } },
      { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
    ]);
  });

  test('becomes a constant when it has only one possible value', () => {
    const { action } = importParameter({
      required: true,
      schema: { type: 'string', enum: ['v2'] },
    });
    expect(action?.params).toMatchObject([{ schema: { const: 'v2', default: 'v2' } }]);
    expect(action?.paramsSchema['properties']).toEqual({});
  });

  test('is left out when it carries the credential of a security scheme', () => {
    const components = {
      securitySchemes: { key: { type: 'apiKey', in: 'query', name: 'api_key' } },
    };
    const { action } = importParameter(
      { name: 'api_key', required: true, schema: { type: 'string' } },
      { components },
    );
    expect(action?.params).toEqual([]);
  });

  test('keeps a default only when the default matches the type', () => {
    const importDefault = (schema: JsonObject) =>
      importParameter({ schema }).action?.params[0]?.schema['default'];
    expect(importDefault({ type: 'integer', default: '7' })).toBe(7);
    expect(importDefault({ type: 'boolean', default: 'true' })).toBe(true);
    expect(importDefault({ type: 'integer', default: 'many' })).toBeUndefined();
    expect(importDefault({ type: 'string', enum: ['a'], default: 'b' })).toBeUndefined();
  });
});

describe('the servers of an imported document', () => {
  test.for<[what: string, servers: unknown, becomes: unknown, code: string | undefined]>([
    [
      'an https URL',
      [{ url: 'https://a.example.com/v1/' }],
      [{ url: 'https://a.example.com/v1' }],
      undefined,
    ],
    [
      'an http URL',
      [{ url: 'http://a.example.com:80' }],
      [{ url: 'https://a.example.com' }],
      'server_changed',
    ],
    ['no entry', undefined, undefined, 'needs_base_url'],
    ['a relative server', [{ url: '/v1' }], undefined, 'needs_base_url'],
    [
      'a server without scheme',
      [{ url: '//a.example.com' }],
      [{ url: 'https://a.example.com' }],
      undefined,
    ],
    [
      'variables for labels of the host',
      [{ url: 'https://{site}.example.com', variables: { site: { default: 'demo' } } }],
      [{ url: 'https://{site}.example.com', variables: { site: { default: 'demo' } } }],
      undefined,
    ],
    [
      'an undeclared variable',
      [{ url: 'https://{site}.example.com' }],
      [{ url: 'https://{site}.example.com', variables: { site: {} } }],
      undefined,
    ],
    [
      'variables outside the host',
      [{ url: 'https://a.example.com/{v}', variables: { v: { default: 'v3' } } }],
      [{ url: 'https://a.example.com/v3' }],
      'server_changed',
    ],
    [
      'a host that is a variable',
      [{ url: 'https://{host}/api', variables: { host: { default: 'git.example.com' } } }],
      [{ url: 'https://self-hosted.invalid/api', 'x-service-base-url-allowed': true }],
      'needs_base_url',
    ],
    [
      'a domain that is a variable',
      [{ url: 'https://api.{domain}/v1', variables: { domain: { default: 'example.com' } } }],
      [{ url: 'https://self-hosted.invalid/v1', 'x-service-base-url-allowed': true }],
      'needs_base_url',
    ],
    [
      'a URL that is a variable',
      [{ url: '{server}/v1', variables: { server: { default: 'https://a.example.com' } } }],
      [{ url: 'https://self-hosted.invalid', 'x-service-base-url-allowed': true }],
      'needs_base_url',
    ],
    [
      'a placeholder before and after a fixed host',
      [
        { url: 'https://{host}:{port}', variables: { host: { default: 'example.com' } } },
        { url: 'https://a.example.com' },
        { url: '{scheme}://{host}.com', variables: { host: { default: 'example' } } },
      ],
      [{ url: 'https://a.example.com' }],
      'needs_base_url',
    ],
    ['a host without scheme', [{ url: 'api.example.com/v1' }], undefined, 'needs_base_url'],
    ['a user in the URL', [{ url: 'https://me:pw@a.example.com' }], undefined, 'needs_base_url'],
    [
      'a scheme other than http and https',
      [{ url: 'ftp://a.example.com' }],
      undefined,
      'needs_base_url',
    ],
  ])('with %s become $2, warning: $3', ([, servers, becomes, code]) => {
    const { result, codes } = importChanged((d) => (d['servers'] = servers as never));
    expect(result?.['servers']).toEqual(becomes);
    expect(codes).toEqual(expect.arrayContaining(code === undefined ? [] : [code]));
  });

  test.for<[what: string, servers: unknown, becomes: string | undefined]>([
    ['relative', [{ url: '../v2' }], 'https://a.example.com/v2'],
    [
      'a path with a variable',
      [{ url: '/{v}', variables: { v: { default: 3 } } }],
      'https://a.example.com/3',
    ],
    ['empty', [{ url: '' }], 'https://a.example.com'],
    ['missing', undefined, 'https://a.example.com'],
    ['none', [], 'https://a.example.com'],
    ['a host without scheme', [{ url: 'b.example.com/v1' }], undefined],
  ])(
    'are resolved against the URL of the document when they are %s, which is said',
    ([, servers, becomes]) => {
      const { result, codes } = importChanged((d) => (d['servers'] = servers as never), {
        sourceUrl: 'https://a.example.com/docs/openapi.json',
      });
      expect(result?.['servers']).toEqual(becomes === undefined ? undefined : [{ url: becomes }]);
      expect(codes).toContain(becomes === undefined ? 'needs_base_url' : 'server_changed');
    },
  );

  test('are replaced by the base URL that the importing person gives', () => {
    const { result, template, codes } = importChanged(
      (d) => {
        d['servers'] = [
          { url: 'https://{domain}/api', variables: { domain: { default: 'example.com' } } },
        ];
        d.paths['/relative'] = { servers: [{ url: '/files' }], get: {} };
        d.paths['/same'] = { servers: d['servers'] as never, get: {} };
        d.paths['/other'] = { servers: [{ url: 'https://b.example.com' }], get: {} };
      },
      { baseUrl: 'https://c.example.com/api', sourceUrl: 'https://a.example.com/openapi.json' },
    );
    expect(result?.['servers']).toEqual([{ url: 'https://c.example.com/api' }]);
    expect(codes).not.toContain('needs_base_url');
    const serverAt = (path: string) =>
      Object.values(template!.actions).find((each) => each.path === path)?.server?.url;
    expect(serverAt('/relative')).toBe('https://c.example.com/files');
    expect(serverAt('/same')).toBeUndefined();
    expect(serverAt('/other')).toBe('https://b.example.com');
  });

  test('stay with operations and paths that name others, up to ten of them', () => {
    const { operations, template } = importChanged((d) => {
      const server = (n: number) => [{ url: `http://more${n}.example.com/v1/` }];
      d.paths['/path'] = { servers: server(0), get: {}, put: { servers: server(1) } };
      for (let n = 2; n < 11; n += 1) d.paths[`/more/${n}`] = { get: { servers: server(n) } };
      d.paths['/again'] = { get: { servers: server(0) } };
      d.paths['/own'] = {
        get: {
          servers: [{ url: 'https://{host}', variables: { host: { default: 'a.example.com' } } }],
        },
      };
    });
    const actions = Object.values(template!.actions);
    const serverAt = (path: string, method = 'GET') =>
      actions.find((each) => each.path === path && each.method === method)?.server;

    expect(serverAt('/path')).toEqual({ url: 'https://more0.example.com/v1' });
    expect(serverAt('/path', 'PUT')).toEqual({ url: 'https://more1.example.com/v1' });
    expect(serverAt('/again')).toEqual({ url: 'https://more0.example.com/v1' });
    expect(serverAt('/pets')).toBeUndefined();
    const skipped = operations?.flatMap(({ path, skipped: reason }) =>
      reason ? [[path, reason.code]] : [],
    );
    expect(skipped).toEqual([
      ['/more/10', 'other_server'],
      ['/own', 'other_server'],
    ]);
  });

  test('are those of the operations when the document itself has no servers', () => {
    const { result, operations, template } = importChanged((d) => {
      Reflect.deleteProperty(d, 'servers');
      d.paths['/pets'] = { servers: [{ url: 'https://a.example.com' }], get: {}, post: {} };
      d.paths['/other'] = { servers: [{ url: 'https://b.example.com' }], get: {} };
    });
    expect(result?.['servers']).toEqual([{ url: 'https://a.example.com' }]);
    expect(operations?.map(({ included }) => included)).toEqual([true, true, true]);
    expect(template?.hosts).toEqual(['a.example.com', 'b.example.com']);
  });
});

describe('the security of an imported document', () => {
  const importSchemes = (securitySchemes: JsonObject, documentFields: JsonObject = {}) =>
    importChanged((d) => Object.assign(d, { components: { securitySchemes } }, documentFields));
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
      'another OAuth flow',
      { type: 'oauth2', flows: { clientCredentials: flow } },
      { type: 'apiKey', prefix: 'Bearer ' },
    ],
    [
      'OpenID Connect',
      { type: 'openIdConnect', openIdConnectUrl: 'http://169.254.169.254/' },
      { prefix: 'Bearer ' },
    ],
  ])('has its scheme with %s converted', ([, scheme, becomes]) => {
    expect(importSchemes({ myAuth: scheme }).template?.auth).toMatchObject([
      { scheme: 'myAuth', ...becomes },
    ]);
  });

  test.for<[what: string, scheme: JsonObject]>([
    ['a cookie', { type: 'apiKey', in: 'cookie', name: 'session' }],
    ['HTTP digest authentication', { type: 'http', scheme: 'digest' }],
    [
      'a request signature',
      {
        type: 'apiKey',
        in: 'header',
        name: 'Authorization',
        'x-amazon-apigateway-authtype': 'awsSigv4',
      },
    ],
    ['a header that the gateway sets', { type: 'apiKey', in: 'header', name: 'Host' }],
    ['a parameter that changes the method', { type: 'apiKey', in: 'query', name: '_method' }],
    ['a client certificate', { type: 'mutualTLS' }],
  ])('loses a scheme with %s, which is reported', ([, scheme]) => {
    const { template, codes } = importSchemes({ myAuth: scheme }, { security: [{ myAuth: [] }] });
    expect(template).toMatchObject({ auth: [], security: [] });
    expect(codes).toContain('auth_unsupported');
  });

  test('is that of the operations when the document itself has no security', () => {
    const bearer = { type: 'http', scheme: 'bearer' };
    const { template } = importSchemes(
      { a: bearer, b: { type: 'apiKey', in: 'query', name: 'b' }, unused: bearer },
      {
        paths: {
          '/x': { get: { security: [{ a: [], b: [] }] }, put: { security: [{ a: [] }, {}] } },
        },
      },
    );
    expect(template?.security).toEqual([['a', 'b'], ['a']]);
  });

  test('leaves out and reports an alternative of two schemes that go into one header', () => {
    const key = { type: 'apiKey', in: 'header' };
    const { template, codes } = importSchemes(
      { a: { ...key, name: 'X-Key' }, b: { ...key, name: 'x-key' } },
      { security: [{ a: [], b: [] }, { b: [] }] },
    );
    expect(template?.security).toEqual([['b']]);
    expect(codes).toContain('auth_changed');
  });

  test('keeps the OAuth scopes of an operation, even if the scheme does not list these scopes', () => {
    const { template, codes } = importSchemes(
      { o: { type: 'oauth2', flows: { authorizationCode: flow } } },
      { paths: { '/x': { get: { operationId: 'x', security: [{ o: ['read', 'more'] }] } } } },
    );
    expect(template?.actions['x']?.minimumScopes).toEqual(['read', 'more']);
    expect(template?.auth).toMatchObject([{ scopes: ['read', 'more'] }]);
    expect(codes).toContain('scope_added');
  });
});

describe('a parameter that carries a credential in an imported document', () => {
  const parameter = (name: string, place = 'header', more: JsonObject = { required: true }) => ({
    name,
    in: place,
    schema: { type: 'string' },
    ...more,
  });
  const importWith = (
    parameters: JsonObject[],
    more: JsonObject = {},
    request: Partial<ImportRequest> = {},
  ) =>
    importChanged((d) => {
      Object.assign(d, more);
      d.paths['/pets'] = { get: { operationId: 'get', parameters }, put: { parameters } };
    }, request);

  test.for<[name: string, place: string, more: JsonObject, becomes: object]>([
    ['X-API-Key', 'header', { required: true }, { in: 'header', name: 'X-API-Key', prefix: '' }],
    ['api_key', 'query', {}, { in: 'query', name: 'api_key' }],
    ['accessToken', 'query', { required: true }, { in: 'query', name: 'accessToken' }],
    ['Ocp-Apim-Subscription-Key', 'header', {}, { name: 'Ocp-Apim-Subscription-Key' }],
    ['X-Auth-Token', 'header', {}, { name: 'X-Auth-Token' }],
    ['Token', 'header', {}, { name: 'Token' }],
    ['Authorization', 'header', {}, { name: 'Authorization', prefix: '' }],
    ['authorization', 'header', { description: 'Bearer {token}' }, { prefix: 'Bearer ' }],
    ['Authorization', 'header', { example: 'Basic YTpi' }, { prefix: 'Basic ' }],
  ])(
    'becomes a security scheme when it is named %s, in the %s, with %j',
    ([name, place, more, becomes]) => {
      const { template, codes } = importWith([parameter(name, place, more)]);
      expect(template?.auth).toMatchObject([{ type: 'apiKey', ...becomes }]);
      expect(template?.security).toEqual([[template?.auth[0]?.scheme]]);
      expect(template?.actions['get']?.params).toEqual([]);
      expect(codes).toContain('auth_inferred');
    },
  );

  test.for([
    ['page_token', 'query'],
    ['token', 'query'],
    ['key', 'query'],
    ['Idempotency-Key', 'header'],
    ['X-CSRF-Token', 'header'],
    ['author', 'query'],
  ] as const)('is not one that is named %s, in the %s', ([name, place]) => {
    const { template, codes } = importWith([parameter(name, place)]);
    expect(template?.auth).toEqual([]);
    expect(template?.actions['get']?.params).toMatchObject([{ name }]);
    expect(codes).not.toContain('auth_inferred');
  });

  test('joins the schemes of the document where most operations require it', () => {
    const components = { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } };
    const security = [{ bearer: [] }];
    const importBeside = (parameters: JsonObject[]) =>
      importWith(parameters, { components, security });

    const both = importBeside([parameter('X-Api-Key')]);
    expect(both.template?.security).toEqual([['bearer', 'X-Api-Key']]);
    const optional = importBeside([parameter('X-Api-Key', 'header', {})]);
    expect(optional.template?.security).toEqual([['bearer']]);
    expect(optional.template?.actions['get']?.params).toEqual([]);
    expect(optional.codes).toContain('parameter_dropped');
    const same = importBeside([parameter('Authorization')]);
    expect(same.template?.security).toEqual([['bearer']]);
    expect(same.template?.actions['get']?.params).toEqual([]);
  });

  test('is that of a scheme which the document declares and does not use', () => {
    const components = {
      securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-api-key' } },
    };
    const { template } = importWith([parameter('X-Api-Key', 'header', {})], { components });
    expect(template?.auth).toHaveLength(1);
    expect(template?.security).toEqual([['key']]);
  });

  test('is an alternative where few operations require it', () => {
    const { template } = importChanged((d) => {
      d['components'] = { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } };
      d['security'] = [{ bearer: [] }];
      d.paths['/admin'] = { get: { parameters: [parameter('X-Admin-Api-Key')] } };
    });
    expect(template?.security).toEqual([['bearer'], ['bearer', 'X-Admin-Api-Key']]);
  });

  test('cannot be a cookie, which is said', () => {
    const { template, codes } = importWith([parameter('session_id', 'cookie', {})]);
    expect(template).toMatchObject({ auth: [], security: [] });
    expect(codes).toContain('auth_unsupported');
  });

  test('may be named by the importing person', () => {
    const apiKey = { in: 'header', name: 'X-Shop' } as const;
    const { template } = importWith([parameter('X-Shop')], {}, { apiKey });
    expect(template?.auth).toMatchObject([{ in: 'header', name: 'X-Shop' }]);
    expect(template?.security).toEqual([['X-Shop']]);
    expect(template?.actions['get']?.params).toEqual([]);
    const { imported } = importWith([], {}, { apiKey: { in: 'header', name: 'Host' } });
    expect(imported).toMatchObject({ ok: false, findings: [{}, { code: 'key_place_invalid' }] });
  });
});

describe('an import of a document of another version', () => {
  const swagger = {
    swagger: '2.0',
    info: { title: 'Pet Store', version: '1' },
    host: 'pets.example.com',
    basePath: '/v1',
    schemes: ['https'],
    consumes: ['application/json'],
    securityDefinitions: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } },
    security: [{ key: [] }],
    paths: {
      '/pets/{id}': {
        put: {
          operationId: 'replacePet',
          parameters: [
            { name: 'id', in: 'path', required: true, type: 'string' },
            {
              name: 'tags',
              in: 'query',
              type: 'array',
              items: { type: 'string' },
              collectionFormat: 'multi',
            },
            { name: 'body', in: 'body', required: true, schema: { $ref: '#/definitions/Pet' } },
          ],
        },
      },
    },
    definitions: {
      Pet: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
    },
  };
  const importAs = (document: object) => {
    const imported = convertDocument({ text: JSON.stringify(document) });
    const options = { tier: 'org', ownerId: null, version: 1, isDraft: true } as const;
    const template = imported.ok ? compileParsed(imported.document, options).template : undefined;
    return { imported, template, codes: codesOf(imported.findings) };
  };

  test('converts Swagger 2.0, and says so', () => {
    const { template, codes } = importAs(swagger);
    expect(template).toMatchObject({
      server: { url: 'https://pets.example.com/v1' },
      auth: [{ in: 'header', name: 'X-Key' }],
      security: [['key']],
    });
    expect(template?.actions['replacePet']).toMatchObject({
      method: 'PUT',
      params: [
        { name: 'id', in: 'path' },
        { name: 'tags', in: 'query', explode: true },
        { name: 'name', in: 'body', required: true },
      ],
    });
    expect(codes).toContain('version_changed');
  });

  test('refuses what cannot be converted, and names another way', () => {
    const paths = { '/pets': { get: { parameters: [{ name: 'no place' }] } } };
    expect(importAs({ ...swagger, paths }).imported).toMatchObject({
      ok: false,
      findings: [{ code: 'openapi_version', message: expect.stringContaining('converter') }],
    });
  });

  test('gives no name of the document to all objects', () => {
    const text = JSON.stringify({ ...swagger, produces: ['__proto__'] }).replace(
      '"operationId"',
      '"responses":{"200":{"examples":{"__proto__":"CANARY"}}},"constructor":{},"operationId"',
    );
    convertDocument({ text });
    expect('example' in {}).toBe(false);
  });

  test('reads OpenAPI 3.2 as 3.1, and says so', () => {
    const document = { ...petDocument(), openapi: '3.2.0' };
    document.paths['/pets'] = { ...(document.paths['/pets'] as object), query: {} };
    const { template, codes } = importAs(document);
    expect(Object.keys(template!.actions)).toEqual(['listPets', 'createPet']);
    expect(codes).toContain('version_changed');
    expect(codesOf(importAs({ ...document, openapi: '4.0.0' }).imported.findings)).toEqual([
      'openapi_version',
    ]);
  });
});

describe('an import of a document', () => {
  test('includes only the selected operations, and lists all other operations', () => {
    const { operations, template } = importChanged(() => {}, { includeOperations: ['POST /pets'] });
    expect(operations).toMatchObject([
      { operation_id: 'listPets', included: false },
      { operation_id: 'createPet', included: true },
    ]);
    expect(Object.keys(template!.actions)).toEqual(['createPet']);
  });

  test('refuses the selection of an unknown operation', () => {
    const { imported } = importChanged(() => {}, { includeOperations: ['listPets', 'listCats'] });
    expect(imported).toMatchObject({ ok: false, findings: [{ code: 'operation_unknown' }] });
  });

  test('uses the given key, or makes one from the title', () => {
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

  test('gives the same result for YAML as for JSON', () => {
    const text =
      'openapi: 3.1.0\ninfo: {title: Pets}\nservers: [{url: "https://pets.example.com"}]\npaths:\n  /pets:\n    get:\n      responses: {200: {description: Fine}}\n';
    expect(convertDocument({ text })).toMatchObject({
      ok: true,
      key: 'pets',
      operations: [{ operation_id: 'list_pets' }],
    });
    expect(convertDocument({ text: Buffer.from(`\ufeff${text}`) })).toMatchObject({ ok: true });
  });

  test.for<[what: string, change: (document: Document) => void]>([
    ['a path', (d) => (d.paths['/cats'] = { $ref: 'paths/cats.yaml' })],
    ['a path by URL', (d) => (d.paths['/cats'] = { $ref: 'https://a.example/cats.yaml#/cats' })],
    ['a parameter', (d) => (d.paths['/cats'] = { get: { parameters: [{ $ref: './p.yaml' }] } })],
    ['a schema', (d) => (d['components'] = { schemas: { Pet: { $ref: '../pet.yaml#/Pet' } } })],
  ])('refuses one in several files with one finding, here by %s', ([, change]) => {
    const { imported } = importChanged(change);
    expect(imported).toMatchObject({ ok: false, findings: [{ code: 'several_files' }] });
    expect(imported.findings).toHaveLength(1);
  });

  test('reports the line of a syntax error', () => {
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

  test('includes the operations that fit into a template, and reports the operations that do not fit', () => {
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

  test('ignores the x-service-* extensions in the imported document', () => {
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
