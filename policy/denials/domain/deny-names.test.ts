import { describe, expect, test } from 'vitest';

import type { CompiledParam, CompiledTemplate } from '#contracts/template';
import type { HttpMethod, JsonValue } from '#contracts/vocabulary';
import { actionOf, github, paramOf, templateOf } from '../../action.testing.ts';
import { namesOf, neighbourNames, listOwnNames } from './deny-names.ts';
import type { Neighbour } from './deny-names.ts';
import { compileParamCheck } from './param-check.ts';
import { isAtLeast } from './risks.ts';
import { findOperations } from '#templates';

const fits: Neighbour['fits'] = (param, value) => compileParamCheck(param.schema)(value);
const template = templateOf(Object.values(github));
const findOperationsFor = (method: string, path: string, templateWithin = template) =>
  findOperations(templateWithin, { method, path }).map(({ action, pathValues }) => [
    action.key,
    pathValues,
  ]);

describe('the operations of a template that a request may be (findOperations)', () => {
  test.for<[method: string, path: string, expected: unknown[]]>([
    ['POST', '/repos/acme/site/issues', [['issues.create', { owner: 'acme', repo: 'site' }]]],
    ['GET', '/repos/acme/site/issues', [['issues.list', { owner: 'acme', repo: 'site' }]]],
    ['HEAD', '/repos/acme/site/issues', [['issues.list', { owner: 'acme', repo: 'site' }]]],
    ['DELETE', '/repos/acme/site', [['repos.delete', { owner: 'acme', repo: 'site' }]]],
    ['GET', '/users/ann', [['users.get', { name: 'ann' }]]],
    ['GET', '/users/%61nn', [['users.get', { name: 'ann' }]]],
    ['GET', '/users/me', [['users.me', {}]]],
    ['DELETE', '/repos/acme/site/', [['repos.delete', { owner: 'acme', repo: 'site' }]]],
    ['DELETE', '//repos//acme/site', [['repos.delete', { owner: 'acme', repo: 'site' }]]],
    ['PATCH', '/repos/acme/site', []],
    ['GET', '/zen', []],
    ['GET', '/repos/acme', []],
    ['GET', '/Users/ann', []],
  ])('are for %s %s the operations with these path values: %j', ([method, path, expected]) => {
    expect(findOperationsFor(method, path)).toEqual(expected);
  });

  test('include one whose path parameter may hold slashes, for a path of any depth', () => {
    const files = templateOf([
      actionOf('files.get', {
        path: '/repos/{repo}/files/{path}/raw',
        params: [paramOf('repo', 'path'), paramOf('path', 'path', { allowReserved: true })],
      }),
    ]);

    expect(findOperationsFor('GET', '/repos/site/files/a/b/c.txt/raw', files)).toEqual([
      ['files.get', { repo: 'site', path: 'a/b/c.txt' }],
    ]);
    expect(findOperationsFor('GET', '/repos/site/files/raw', files)).toEqual([]);
  });

  test('include an operation only if the request has the literal text around its path parameter', () => {
    const range = templateOf([
      actionOf('a.get', { path: '/x/{id}.json', params: [paramOf('id', 'path')] }),
      actionOf('b.get', {
        path: '/y/{from}..{to}',
        params: [paramOf('from', 'path'), paramOf('to', 'path')],
      }),
    ]);

    expect(findOperationsFor('GET', '/x/7.json', range)).toEqual([['a.get', { id: '7' }]]);
    expect(findOperationsFor('GET', '/x/.json', range)).toEqual([]);
    expect(findOperationsFor('GET', '/y/1..2', range)).toEqual([['b.get', {}]]);
  });
});

describe('the names of a request in the services on its host (neighbourNames)', () => {
  const findNames = (
    method: HttpMethod,
    path: string,
    {
      prefix = '',
      query = {},
      body = null,
    }: { prefix?: string; query?: Record<string, JsonValue>; body?: JsonValue } = {},
  ) =>
    neighbourNames(
      [{ names: ['hub', 'github'], prefix, template, fits }],
      { method, path, query, body },
      { risk: 'read' },
    );

  test('are the operation under every name of the service, with its argument and risk', () => {
    expect(findNames('DELETE', '/repos/acme/site')).toEqual([
      { service: 'hub', action: 'repos.delete', args: ['site'], risk: 'delete' },
      { service: 'github', action: 'repos.delete', args: ['site'], risk: 'delete' },
    ]);
  });

  test.for<[name: string, body: JsonValue, args: string[] | undefined]>([
    ['a member of the body', { channel: 'C1' }, ['C1']],
    ['a member of the body in another letter case', { Channel: 'C1' }, ['C1']],
    [
      'two members that a server may read as one',
      { channel: 'C1', 'CHANNEL[]': 'C2' },
      ['C1', 'C2'],
    ],
    ['a wildcard character, which is encoded', { channel: '*' }, ['%2A']],
    [
      'a list of addresses',
      { channel: 'Ann <a@x>; b@x' },
      ['Ann <a@x>; b@x', 'a@x', 'Ann <a@x>', 'b@x'],
    ],
    ['an absent member, which is unknown', {}, undefined],
    ['a value of the wrong type, which is unknown', { channel: { id: 'C1' } }, undefined],
    [
      'a value that is too long to read, which is unknown',
      { channel: 'x'.repeat(5000) },
      undefined,
    ],
    ['a text body, which is unknown', '{"channel":"C1"}', undefined],
  ])('have the argument of the body parameter from %s: $2', ([, body, findArgs]) => {
    const [name] = findNames('POST', '/messages', { body });
    expect(name?.action).toBe('messages.post');
    expect(name?.args?.toSorted()).toEqual(findArgs?.toSorted());
  });

  test('have an unknown argument when the value does not fit its parameter, unless only its letter case differs', () => {
    const templateWithParam = (schema: CompiledParam['schema']) =>
      templateOf([
        actionOf('a.get', {
          path: '/a/{id}',
          params: [paramOf('id', 'path', { schema })],
          scopeParam: 'id',
        }),
      ]);
    const findArgs = (schema: CompiledParam['schema'], value: string) =>
      neighbourNames(
        [{ names: ['a'], prefix: '', template: templateWithParam(schema), fits }],
        { method: 'GET', path: `/a/${value}`, query: {}, body: null },
        { risk: 'read' },
      )[0]?.args;
    const name = { type: 'string', pattern: '^[a-z]+$' };

    expect(findArgs(name, 'abc')).toEqual(['abc']);
    expect(findArgs(name, 'ABC')).toEqual(['ABC']);
    expect(findArgs(name, 'a.b')).toBeUndefined();
    expect(findArgs({ type: 'integer' }, '7')).toEqual(['7']);
    expect(findArgs({ type: 'integer' }, '07')).toBeUndefined();
    expect(findArgs({ type: 'integer' }, '7.0')).toBeUndefined();
    expect(findArgs({ type: 'array', items: { type: 'integer' } }, '7,8')).toEqual([
      '7,8',
      '7',
      '8',
    ]);
  });

  test('are those of the path with and without ;parameters, because some servers drop them', () => {
    expect(
      findNames('GET', '/users/me;v=1').map(({ action, args }) => [action, args?.[0]]),
    ).toEqual(
      ['hub', 'github'].flatMap(() => [
        ['users.get', 'me;v=1'],
        ['users.me', undefined],
      ]),
    );
    expect(findNames('DELETE', '/repos;x/acme/site;y')[0]).toMatchObject({
      action: 'repos.delete',
      args: ['site'],
    });
  });

  test('are those of the path in every letter case, because some servers ignore the letter case', () => {
    expect(findNames('GET', '/users/ME').map(({ action, args }) => [action, args?.[0]])).toEqual(
      ['hub', 'github'].flatMap(() => [
        ['users.get', 'ME'],
        ['users.me', undefined],
      ]),
    );
    // The template does not list the path with these capital letters, so the request may be any
    // operation.
    expect(findNames('GET', '/Users/ann')[0]?.action).toBeTypeOf('object');
  });

  test('are those of the path below the base path of the service', () => {
    expect(findNames('GET', '/api/v3/users/ann', { prefix: '/api/v3' })[0]).toMatchObject({
      action: 'users.get',
    });
    expect(findNames('GET', '/api/v30/users/ann', { prefix: '/api/v3' })[0]?.action).toBeTypeOf(
      'object',
    );
  });

  test('are, for a request that no template lists, any operation of its method, and for a POST any operation', () => {
    expect(findNames('GET', '/graphql')[0]).toMatchObject({
      action: {
        among: new Set(['issues.list', 'users.get', 'users.me']),
        notAmong: new Set(['issues.create', 'messages.post', 'repos.delete']),
      },
      args: undefined,
    });
    expect(findNames('POST', '/graphql')[0]).toMatchObject({
      action: { among: new Set(Object.keys(template.actions)), notAmong: new Set() },
      args: undefined,
    });
  });
});

describe('a request that another template on the host lists', () => {
  const mail = templateOf(
    [
      actionOf('get_message', {
        path: '/me/messages/{id}',
        params: [paramOf('id', 'path')],
        scopeParam: 'id',
      }),
    ],
    { key: 'mail' },
  );
  const calendar = templateOf(
    [
      actionOf('get_event', { path: '/me/events/{id}', params: [paramOf('id', 'path')] }),
      actionOf('batch', { method: 'POST', path: '/$batch', multiplex: true }),
      actionOf('folder', {
        path: '/me/{folder}/{id}',
        params: [paramOf('folder', 'path'), paramOf('id', 'path')],
      }),
    ],
    { key: 'calendar' },
  );
  const server = { ...templateOf([], { key: 'tools' }), runtime: 'mcp' as const };
  const endpoint = {
    path: '/mcp',
    autodiscover: true,
    overrides: {},
    protocolVersion: null,
    pins: {},
  };
  const namesOfMail = (method: HttpMethod, path: string, ...others: CompiledTemplate[]) =>
    neighbourNames(
      [mail, ...others].map((each) => ({ names: [each.key], prefix: '', template: each, fits })),
      { method, path, query: {}, body: null },
      { risk: method === 'GET' ? 'read' : 'write' },
    ).filter(({ service }) => service === 'mail');
  const memberCalendar = { ...calendar, tier: 'user' as const };
  const unknownNames = [{ service: 'mail', args: undefined, action: expect.any(Object) }];

  test('is not also any operation of this template', () => {
    expect(namesOfMail('GET', '/me/events/1', calendar)).toEqual([]);
    expect(namesOfMail('HEAD', '/me/events/1', calendar)).toEqual([]);
    expect(namesOfMail('GET', '/me/other/1/x', calendar)).toMatchObject(unknownNames);
    expect(namesOfMail('GET', '/me/events/1')).toMatchObject(unknownNames);
  });

  test("is also this template's operation with a similar path", () => {
    expect(namesOfMail('GET', '/me/Messages/1', calendar)).toMatchObject([
      { action: 'get_message', args: ['1'] },
    ]);
    expect(namesOfMail('GET', '/me/messages/1', calendar)).toMatchObject([
      { action: 'get_message' },
    ]);
  });

  test('is still any operation of this template when a member wrote the other template', () => {
    expect(namesOfMail('GET', '/me/events/1', memberCalendar)).toMatchObject(unknownNames);
  });

  test('is still any operation of this template when its body may carry other operations, whatever its method', () => {
    expect(namesOfMail('POST', '/$batch', calendar)).toMatchObject([
      {
        service: 'mail',
        args: undefined,
        action: { among: new Set(['get_message']), notAmong: new Set() },
      },
    ]);
    const plainTemplate = templateOf([actionOf('batch', { method: 'POST', path: '/$batch' })], {
      key: 'x',
    });
    expect(namesOfMail('POST', '/$batch', plainTemplate)).toEqual([]);
    expect(namesOfMail('POST', '/$batch', plainTemplate, calendar)).toMatchObject(unknownNames);
  });

  test('is still any tool at the endpoint of an MCP server', () => {
    const listedTemplate = templateOf([actionOf('post', { method: 'POST', path: '/mcp' })], {
      key: 'x',
    });
    expect(namesOfMail('POST', '/mcp', listedTemplate)).toEqual([]);
    expect(
      namesOfMail('POST', '/MCP/', listedTemplate, { ...server, mcp: endpoint }),
    ).toMatchObject(unknownNames);
    expect(namesOfMail('POST', '/mcp', listedTemplate, { ...server, mcp: endpoint })).toMatchObject(
      unknownNames,
    );
  });
});

describe('a request to an MCP server', () => {
  const remove = actionOf('remove', { method: 'POST', path: '/mcp', risk: 'delete' });
  const sayAction = actionOf('say', { method: 'POST', path: '/mcp', risk: 'write' });
  const server = { ...templateOf([remove, sayAction]), runtime: 'mcp' as const };
  const findNames = (method: HttpMethod, tool?: string) =>
    neighbourNames(
      [{ names: ['crm'], prefix: '', template: server, fits }],
      { method, path: '/mcp', query: {}, body: {}, ...(tool === undefined ? {} : { tool }) },
      { risk: method === 'POST' ? 'write' : 'read' },
    );

  test('may be a call of any tool, of any risk, unless the gateway itself calls a tool', () => {
    expect(findNames('POST')).toEqual([
      expect.objectContaining({ service: 'crm', args: undefined, risk: 'delete' }),
    ]);
    expect(findNames('GET')[0]?.risk).toBe('read');
  });

  test('is a call of one tool, with the risk of that tool, when the gateway calls the tool', () => {
    expect(findNames('POST', 'remove')).toMatchObject([{ action: 'remove', risk: 'delete' }]);
    expect(findNames('POST', 'say')).toMatchObject([{ action: 'say', risk: 'write' }]);
  });
});

describe('the risk of a request that no template lists', () => {
  const purge = actionOf('notes.purge', { method: 'POST', path: '/notes/purge', risk: 'delete' });
  const write = actionOf('notes.write', { method: 'POST', path: '/notes', risk: 'write' });
  const notes = templateOf([purge, write, actionOf('notes.list', { path: '/notes' })]);
  const findNames = (method: HttpMethod, path: string) =>
    neighbourNames(
      [{ names: ['notes'], prefix: '/api', template: notes, fits }],
      { method, path, query: {}, body: null },
      { risk: method === 'POST' ? 'write' : 'read' },
    );
  const purgeName = {
    service: 'notes',
    action: { among: new Set(['notes.purge']) },
    args: undefined,
    risk: 'delete',
  };

  test('is that of every operation that the request may be, beside that of its method', () => {
    expect(findNames('POST', '/api/Notes/Purge')).toEqual([
      expect.objectContaining({ risk: 'write' }),
      purgeName,
    ]);
  });

  test('is the risk of its method when no operation that it may be has a higher risk', () => {
    for (const found of [findNames('GET', '/api/x'), findNames('POST', '/other')]) {
      expect(found).toHaveLength(1);
      expect(found).not.toContainEqual(purgeName);
    }
  });
});

test('a service is known by its name, its name without org/, and its template key', () => {
  expect(namesOf('org/hub', 'github')).toEqual(['org/hub', 'hub', 'github']);
  expect(namesOf('github', 'github')).toEqual(['github']);
  expect(listOwnNames(['hub'], { action: 'a', keyArg: '%2A', risk: 'read' })).toEqual([
    { service: 'hub', action: 'a', args: ['%2A'], risk: 'read' },
  ]);
});

test('risks are ordered read, write, delete', () => {
  expect([
    isAtLeast('read', 'write'),
    isAtLeast('write', 'write'),
    isAtLeast('delete', 'write'),
  ]).toEqual([false, true, true]);
});
