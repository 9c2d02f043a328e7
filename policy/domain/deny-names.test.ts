import { describe, expect, test } from 'vitest';

import type { CompiledParam, CompiledTemplate } from '#contracts/template';
import type { HttpMethod, JsonValue } from '#contracts/vocabulary';
import { actionOf, github, paramOf, templateOf } from './action.testing.ts';
import { namesOf, neighbourNames, ownNames } from './deny-names.ts';
import { isAtLeast } from './risks.ts';
import type { Neighbour } from './deny-names.ts';
import { compileParamCheck } from './validate-params.ts';
import { findOperations } from '#templates';

const fits: Neighbour['fits'] = (param, value) => compileParamCheck(param.schema)(value);
const template = templateOf(Object.values(github));
const found = (method: string, path: string, within = template) =>
  findOperations(within, { method, path }).map(({ action, pathValues }) => [
    action.key,
    pathValues,
  ]);

describe('findOperations', () => {
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
  ])('%s %s', ([method, path, expected]) => {
    expect(found(method, path)).toEqual(expected);
  });

  test('a parameter that may hold slashes takes what is left', () => {
    const files = templateOf([
      actionOf('files.get', {
        path: '/repos/{repo}/files/{path}/raw',
        params: [paramOf('repo', 'path'), paramOf('path', 'path', { allowReserved: true })],
      }),
    ]);

    expect(found('GET', '/repos/site/files/a/b/c.txt/raw', files)).toEqual([
      ['files.get', { repo: 'site', path: 'a/b/c.txt' }],
    ]);
    expect(found('GET', '/repos/site/files/raw', files)).toEqual([]);
  });

  test('text around a parameter must be there', () => {
    const range = templateOf([
      actionOf('a.get', { path: '/x/{id}.json', params: [paramOf('id', 'path')] }),
      actionOf('b.get', {
        path: '/y/{from}..{to}',
        params: [paramOf('from', 'path'), paramOf('to', 'path')],
      }),
    ]);

    expect(found('GET', '/x/7.json', range)).toEqual([['a.get', { id: '7' }]]);
    expect(found('GET', '/x/.json', range)).toEqual([]);
    expect(found('GET', '/y/1..2', range)).toEqual([['b.get', {}]]);
  });
});

describe('neighbourNames', () => {
  const names = (
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

  test('an operation is known by every name of the neighbour, with its argument and its risk', () => {
    expect(names('DELETE', '/repos/acme/site')).toEqual([
      { service: 'hub', action: 'repos.delete', args: ['site'], risk: 'delete' },
      { service: 'github', action: 'repos.delete', args: ['site'], risk: 'delete' },
    ]);
  });

  test.for<[name: string, body: JsonValue, args: string[] | undefined]>([
    ['a member of the body', { channel: 'C1' }, ['C1']],
    ['a member spelled in another case', { Channel: 'C1' }, ['C1']],
    ['two that a server may take for one', { channel: 'C1', 'CHANNEL[]': 'C2' }, ['C1', 'C2']],
    ['a wildcard is encoded', { channel: '*' }, ['%2A']],
    [
      'a list of addresses',
      { channel: 'Ann <a@x>; b@x' },
      ['Ann <a@x>; b@x', 'a@x', 'Ann <a@x>', 'b@x'],
    ],
    ['absent: unknown', {}, undefined],
    ['of a type that it cannot have: unknown', { channel: { id: 'C1' } }, undefined],
    ['too long to look through: unknown', { channel: 'x'.repeat(5000) }, undefined],
    ['a body that is text: unknown', '{"channel":"C1"}', undefined],
  ])('the argument from %s', ([, body, args]) => {
    const [name] = names('POST', '/messages', { body });
    expect(name?.action).toBe('messages.post');
    expect(name?.args?.toSorted()).toEqual(args?.toSorted());
  });

  test('a value that its parameter cannot have is unknown, one in other letters is not', () => {
    const lower = (schema: CompiledParam['schema']) =>
      templateOf([
        actionOf('a.get', {
          path: '/a/{id}',
          params: [paramOf('id', 'path', { schema })],
          scopeParam: 'id',
        }),
      ]);
    const args = (schema: CompiledParam['schema'], value: string) =>
      neighbourNames(
        [{ names: ['a'], prefix: '', template: lower(schema), fits }],
        { method: 'GET', path: `/a/${value}`, query: {}, body: null },
        { risk: 'read' },
      )[0]?.args;
    const name = { type: 'string', pattern: '^[a-z]+$' };

    expect(args(name, 'abc')).toEqual(['abc']);
    expect(args(name, 'ABC')).toEqual(['ABC']);
    expect(args(name, 'a.b')).toBeUndefined();
    expect(args({ type: 'integer' }, '7')).toEqual(['7']);
    expect(args({ type: 'integer' }, '07')).toBeUndefined();
    expect(args({ type: 'integer' }, '7.0')).toBeUndefined();
    expect(args({ type: 'array', items: { type: 'integer' } }, '7,8')).toEqual(['7,8', '7', '8']);
  });

  test('with path parameters and without: servers differ in whether they drop them', () => {
    expect(names('GET', '/users/me;v=1').map(({ action, args }) => [action, args?.[0]])).toEqual(
      ['hub', 'github'].flatMap(() => [
        ['users.get', 'me;v=1'],
        ['users.me', undefined],
      ]),
    );
    expect(names('DELETE', '/repos;x/acme/site;y')[0]).toMatchObject({
      action: 'repos.delete',
      args: ['site'],
    });
  });

  test('in capitals and in small letters: servers differ in whether they see a difference', () => {
    expect(names('GET', '/users/ME').map(({ action, args }) => [action, args?.[0]])).toEqual(
      ['hub', 'github'].flatMap(() => [
        ['users.get', 'ME'],
        ['users.me', undefined],
      ]),
    );
    // Not listed as it is written: it may be anything.
    expect(names('GET', '/Users/ann')[0]?.action).toBeTypeOf('object');
  });

  test('below the prefix of the neighbour', () => {
    expect(names('GET', '/api/v3/users/ann', { prefix: '/api/v3' })[0]).toMatchObject({
      action: 'users.get',
    });
    expect(names('GET', '/api/v30/users/ann', { prefix: '/api/v3' })[0]?.action).toBeTypeOf(
      'object',
    );
  });

  test('what the template does not list may be any operation of that method, a POST any at all', () => {
    expect(names('GET', '/graphql')[0]).toMatchObject({
      action: {
        among: new Set(['issues.list', 'users.get', 'users.me']),
        notAmong: new Set(['issues.create', 'messages.post', 'repos.delete']),
      },
      args: undefined,
    });
    expect(names('POST', '/graphql')[0]).toMatchObject({
      action: { among: new Set(Object.keys(template.actions)), notAmong: new Set() },
      args: undefined,
    });
  });
});

describe('what another template on the host lists', () => {
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
  const membersOwn = { ...calendar, tier: 'user' as const };
  const unknown = [{ service: 'mail', args: undefined, action: expect.any(Object) }];

  test('is no unknown operation of this one', () => {
    expect(namesOfMail('GET', '/me/events/1', calendar)).toEqual([]);
    expect(namesOfMail('HEAD', '/me/events/1', calendar)).toEqual([]);
    expect(namesOfMail('GET', '/me/other/1/x', calendar)).toMatchObject(unknown);
    expect(namesOfMail('GET', '/me/events/1')).toMatchObject(unknown);
  });

  test('is still an operation of this one that is spelled alike', () => {
    expect(namesOfMail('GET', '/me/Messages/1', calendar)).toMatchObject([
      { action: 'get_message', args: ['1'] },
    ]);
    expect(namesOfMail('GET', '/me/messages/1', calendar)).toMatchObject([
      { action: 'get_message' },
    ]);
  });

  test('lifts nothing where a member wrote it', () => {
    expect(namesOfMail('GET', '/me/events/1', membersOwn)).toMatchObject(unknown);
  });

  test('lifts nothing where it carries other operations, whatever their methods are', () => {
    expect(namesOfMail('POST', '/$batch', calendar)).toMatchObject([
      {
        service: 'mail',
        args: undefined,
        action: { among: new Set(['get_message']), notAmong: new Set() },
      },
    ]);
    const plain = templateOf([actionOf('batch', { method: 'POST', path: '/$batch' })], {
      key: 'x',
    });
    expect(namesOfMail('POST', '/$batch', plain)).toEqual([]);
    expect(namesOfMail('POST', '/$batch', plain, calendar)).toMatchObject(unknown);
  });

  test('lifts nothing at the endpoint of an MCP server', () => {
    const listed = templateOf([actionOf('post', { method: 'POST', path: '/mcp' })], { key: 'x' });
    expect(namesOfMail('POST', '/mcp', listed)).toEqual([]);
    expect(namesOfMail('POST', '/MCP/', listed, { ...server, mcp: endpoint })).toMatchObject(
      unknown,
    );
    expect(namesOfMail('POST', '/mcp', listed, { ...server, mcp: endpoint })).toMatchObject(
      unknown,
    );
  });
});

describe('a request to an MCP server', () => {
  const remove = actionOf('remove', { method: 'POST', path: '/mcp', risk: 'delete' });
  const say = actionOf('say', { method: 'POST', path: '/mcp', risk: 'write' });
  const server = { ...templateOf([remove, say]), runtime: 'mcp' as const };
  const names = (method: HttpMethod, tool?: string) =>
    neighbourNames(
      [{ names: ['crm'], prefix: '', template: server, fits }],
      { method, path: '/mcp', query: {}, body: {}, ...(tool === undefined ? {} : { tool }) },
      { risk: method === 'POST' ? 'write' : 'read' },
    );

  test('that is no call of ours may be any tool, of any risk', () => {
    expect(names('POST')).toEqual([
      expect.objectContaining({ service: 'crm', args: undefined, risk: 'delete' }),
    ]);
    expect(names('GET')[0]?.risk).toBe('read');
  });

  test('of a tool is of that tool and its risk', () => {
    expect(names('POST', 'remove')).toMatchObject([{ action: 'remove', risk: 'delete' }]);
    expect(names('POST', 'say')).toMatchObject([{ action: 'say', risk: 'write' }]);
  });
});

describe('risk of what the template does not list', () => {
  const purge = actionOf('notes.purge', { method: 'POST', path: '/notes/purge', risk: 'delete' });
  const write = actionOf('notes.write', { method: 'POST', path: '/notes', risk: 'write' });
  const notes = templateOf([purge, write, actionOf('notes.list', { path: '/notes' })]);
  const names = (method: HttpMethod, path: string) =>
    neighbourNames(
      [{ names: ['notes'], prefix: '/api', template: notes, fits }],
      { method, path, query: {}, body: null },
      { risk: method === 'POST' ? 'write' : 'read' },
    );
  const purges = {
    service: 'notes',
    action: { among: new Set(['notes.purge']) },
    args: undefined,
    risk: 'delete',
  };

  test('is that of any operation which it may be', () => {
    expect(names('POST', '/api/Notes/Purge')).toEqual([
      expect.objectContaining({ risk: 'write' }),
      purges,
    ]);
  });

  test('is that of its method where no operation of that method is riskier, or all are elsewhere', () => {
    for (const found of [names('GET', '/api/x'), names('POST', '/other')]) {
      expect(found).toHaveLength(1);
      expect(found).not.toContainEqual(purges);
    }
  });
});

test('a service goes by its name, without the org, and by its template', () => {
  expect(namesOf('org/hub', 'github')).toEqual(['org/hub', 'hub', 'github']);
  expect(namesOf('github', 'github')).toEqual(['github']);
  expect(ownNames(['hub'], { action: 'a', keyArg: '%2A', risk: 'read' })).toEqual([
    { service: 'hub', action: 'a', args: ['%2A'], risk: 'read' },
  ]);
});

test('risks are ordered', () => {
  expect([
    isAtLeast('read', 'write'),
    isAtLeast('write', 'write'),
    isAtLeast('delete', 'write'),
  ]).toEqual([false, true, true]);
});
