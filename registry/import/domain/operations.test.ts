import { describe, expect, test } from 'vitest';

import type { JsonObject } from '../../document/domain/context.ts';
import { importChanged, importOperation } from './import-changed.testing.ts';

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
  ])('gets an id when it has none: %s %s gets %s', ([method, path, id]) => {
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

  test('gets a description of its own where several operations have the same, and is marked when deprecated', () => {
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
