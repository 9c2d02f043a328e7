import { describe, expect, test } from 'vitest';

import type { CompiledTemplate } from '#contracts/template';
import type { HttpMethod } from '#contracts/vocabulary';
import { actionOf, github, paramOf, templateOf } from '../../action.testing.ts';
import { namesOf } from './deny-names.ts';
import { listRequestNames, listShadowedNames } from './request-names.ts';
import { isAtLeast } from './risks.ts';
import { findOperations } from '#templates';

const template = templateOf(Object.values(github));
const findOperationsFor = (method: string, path: string, templateWithin = template) =>
  findOperations(templateWithin, { method, path }).map(({ action, pathValues }) => [
    action.key,
    pathValues,
  ]);

describe('findOperations (the operations of a template that a request may be)', () => {
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
  ])(
    'returns, for %s %s, these operations with these path values: %j',
    ([method, path, expected]) => {
      expect(findOperationsFor(method, path)).toEqual(expected);
    },
  );

  test('includes an operation whose path parameter may contain slashes, for a path of any depth', () => {
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

  test('includes an operation only if the request has the literal text around the path parameter', () => {
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
    for (const value of ['1', '1..', '..2', '1.2', '..']) {
      expect(findOperationsFor('GET', `/y/${value}`, range)).toEqual([]);
    }
  });
});

/** Returns the names of a request as `service:action risk`. `*` stands for any action. */
function namesAt(
  templates: readonly CompiledTemplate[],
  method: HttpMethod,
  path: string,
  { prefix = '', tool }: { prefix?: string; tool?: string } = {},
): string[] {
  const neighbours = templates.map((each) => ({
    names: [each.key],
    isConnected: true,
    template: each,
    places: [{ prefix, template: each }],
  }));
  const risk = method === 'GET' || method === 'HEAD' ? 'read' : 'write';
  const names = listRequestNames(neighbours, { method, path, tool }, { risk });
  for (const { args } of names) expect(args).toBeUndefined();
  return names.map(({ service, action = '*', risk: each }) => `${service}:${action} ${each}`);
}

describe('listRequestNames (the names of a request in the services on its host)', () => {
  const hub = templateOf(Object.values(github), { key: 'hub' });

  test('returns the operation that a template lists, with its risk', () => {
    expect(namesAt([hub], 'DELETE', '/repos/acme/site')).toEqual(['hub:repos.delete delete']);
    expect(namesAt([hub], 'HEAD', '/repos/acme/site/issues')).toEqual(['hub:issues.list read']);
    expect(namesAt([hub], 'DELETE', '/repos/acme/site/')).toEqual(['hub:repos.delete delete']);
  });

  test('returns all operations that match the path when letter case is ignored', () => {
    expect(namesAt([hub], 'GET', '/users/ME')).toEqual(['hub:users.get read', 'hub:users.me read']);
    expect(namesAt([hub], 'GET', '/Users/ann')).toEqual(['hub:users.get read']);
  });

  test.for<[path: string]>([
    ['/users/me.json'],
    ['/users/me:'],
    ['/users/ME,x'],
    ['/users/@me'],
    ['/users/%EF%BD%8D%EF%BD%85'],
  ])(
    'includes an operation that has a word of the value in place of the parameter, for %s',
    ([path]) => {
      expect(namesAt([hub], 'GET', path)).toEqual(['hub:users.get read', 'hub:users.me read']);
    },
  );

  test.for<[path: string]>([['/users/ann'], ['/users/me-too'], ['/users/ann@home.example']])(
    'includes no other operation when no word of the value fits, for %s',
    ([path]) => {
      expect(namesAt([hub], 'GET', path)).toEqual(['hub:users.get read']);
    },
  );

  test('includes operations with a verb after a colon, but returns only one operation for a plain value', () => {
    const params = [paramOf('id', 'path')];
    const jobs = templateOf(
      ['cancel', 'run'].map((verb) =>
        actionOf(verb, { method: 'POST', path: `/jobs/{id}:${verb}`, params }),
      ),
      { key: 'jobs' },
    );
    const withAny = templateOf(
      [
        ...Object.values(jobs.actions),
        actionOf('any', { method: 'POST', path: '/jobs/{id}', params }),
      ],
      { key: 'jobs' },
    );
    expect(namesAt([jobs], 'POST', '/jobs/5:run')).toEqual(['jobs:run write']);
    expect(namesAt([withAny], 'POST', '/jobs/5:run')).toEqual(['jobs:run write']);
    expect(namesAt([withAny], 'POST', '/jobs/5:run:')).toEqual([
      'jobs:any write',
      'jobs:run write',
    ]);
  });

  test('accepts file extensions in a parameter that may contain slashes', () => {
    const open = { allowReserved: true };
    const files = templateOf(
      [
        actionOf('file', {
          path: '/r/{repo}/files/{path}',
          params: [paramOf('repo', 'path', open), paramOf('path', 'path', open)],
        }),
        actionOf('issues', { path: '/r/{repo}/issues', params: [paramOf('repo', 'path', open)] }),
      ],
      { key: 'hub' },
    );
    expect(namesAt([files], 'GET', '/r/acme/site.js/files/a/b.md')).toEqual(['hub:file read']);
    expect(namesAt([files], 'GET', '/r/acme/site.js/issues')).toEqual(['hub:issues read']);
    expect(namesAt([files], 'GET', '/r/acme/site/files/issues.md')).toEqual([
      'hub:file read',
      'hub:issues read',
    ]);
  });

  test('returns all operations that match the path when no operation is narrower than another', () => {
    const open = { allowReserved: true };
    const crossed = templateOf(
      [
        actionOf('first', { path: '/x/{a}/c/d', params: [paramOf('a', 'path')] }),
        actionOf('second', {
          path: '/x/b/{y}/{z}',
          params: [paramOf('y', 'path'), paramOf('z', 'path')],
        }),
        actionOf('any', {
          path: '/x/{a}/{b}/{c}',
          params: ['a', 'b', 'c'].map((each) => paramOf(each, 'path')),
        }),
        actionOf('folder', { path: '/job/{job}/delete', params: [paramOf('job', 'path', open)] }),
        actionOf('build', {
          path: '/job/{job}/{number}/delete',
          params: [paramOf('job', 'path', open), paramOf('number', 'path')],
        }),
      ],
      { key: 'x' },
    );
    expect(namesAt([crossed], 'GET', '/x/b/c/d')).toEqual(['x:first read', 'x:second read']);
    expect(namesAt([crossed], 'GET', '/x/q/c/d')).toEqual(['x:first read']);
    expect(namesAt([crossed], 'GET', '/x/b/q/d')).toEqual(['x:second read']);
    expect(namesAt([crossed], 'GET', '/x/q/q/q')).toEqual(['x:any read']);
    expect(namesAt([crossed], 'GET', '/job/acme/site/delete')).toEqual([
      'x:folder read',
      'x:build read',
    ]);
  });

  test('ignores the base path of the service when it compares paths', () => {
    const prefix = '/api/v3';
    expect(namesAt([hub], 'GET', '/api/v3/users/ann', { prefix })).toEqual(['hub:users.get read']);
    expect(namesAt([hub], 'GET', '/API/V3/users/ann', { prefix })).toEqual(['hub:users.get read']);
    expect(namesAt([hub], 'GET', '/api/v30/users/ann', { prefix })).toEqual(['hub:* read']);
  });

  test.for<[method: HttpMethod, path: string]>([
    ['GET', '/unlisted'],
    ['GET', '/users//ann'],
    ['GET', '/users/ann;v=1'],
    ['GET', '/users/ann%3Bv=1'],
    ['GET', '/users/ann.'],
    ['GET', '/users./ann'],
    ['GET', '/users/me%20'],
    ['GET', '/users/%2561nn'],
    ['GET', '/users/%C1%A1nn'],
  ])(
    'returns any operation for %s %s, which no template lists or which servers read in several ways',
    ([method, path]) => {
      expect(namesAt([hub], method, path)).toEqual(['hub:* read']);
    },
  );

  test('returns, for a request that no template lists, the highest risk of its method; for a POST, of all methods', () => {
    const purge = actionOf('purge', { method: 'POST', path: '/purge', risk: 'delete' });
    const notes = templateOf([purge, actionOf('list', { path: '/notes' })], { key: 'notes' });
    expect(namesAt([notes], 'GET', '/x')).toEqual(['notes:* read']);
    expect(namesAt([notes], 'PUT', '/x')).toEqual(['notes:* write']);
    expect(namesAt([notes], 'POST', '/x')).toEqual(['notes:* delete']);
  });
});

describe('a request that another template on the same host lists', () => {
  const mail = templateOf(
    [actionOf('get_message', { path: '/me/messages/{id}', params: [paramOf('id', 'path')] })],
    { key: 'mail' },
  );
  const calendarActions = [
    actionOf('get_event', { path: '/me/events/{id}', params: [paramOf('id', 'path')] }),
    actionOf('batch', { method: 'POST', path: '/$batch', risk: 'write', multiplex: true }),
  ];
  const calendar = templateOf(calendarActions, { key: 'calendar' });
  const membersCalendar = templateOf(calendarActions, { key: 'calendar', tier: 'user' });
  const mcp = { path: '/mcp', autodiscover: true, overrides: {}, protocolVersion: null, pins: {} };
  const toolActions = [actionOf('wipe', { method: 'POST', path: '/mcp', risk: 'delete' })];
  const tools = templateOf(toolActions, { key: 'tools', runtime: 'mcp', mcp });
  const namesOfMail = (method: HttpMethod, path: string, ...others: CompiledTemplate[]) =>
    namesAt([mail, ...others], method, path).filter((each) => each.startsWith('mail:'));

  test('is treated as that operation only', () => {
    expect(namesOfMail('GET', '/me/events/1', calendar)).toEqual([]);
    expect(namesOfMail('HEAD', '/me/events/1', calendar)).toEqual([]);
    expect(namesOfMail('GET', '/me/other/1', calendar)).toEqual(['mail:* read']);
    expect(namesOfMail('GET', '/me/Messages/1', calendar)).toEqual(['mail:get_message read']);
  });

  test('is treated as any operation when a member wrote the other template', () => {
    expect(namesOfMail('GET', '/me/events/1', membersCalendar)).toEqual(['mail:* read']);
  });

  test('is treated as any operation when the listed operation may carry others', () => {
    expect(namesOfMail('POST', '/$batch', calendar)).toEqual(['mail:* write']);
    expect(namesOfMail('POST', '/mcp', tools)).toEqual(['mail:* write']);
    expect(namesOfMail('POST', '/MCP/', tools)).toEqual(['mail:* write']);
  });

  test('is treated as any operation when a template is too large to be searched', () => {
    const path = '/a'.repeat(60);
    const long = templateOf(
      Array.from({ length: 1_000 }, (_, at) =>
        actionOf(`get${at}`, { path: `${path}/{id}/${at}` }),
      ),
      { key: 'long', tier: 'user' },
    );
    const listing = templateOf([actionOf('get', { path: `${path}/x/1` })], { key: 'listing' });
    const names = namesAt(
      [listing, ...Array.from({ length: 20 }, () => long)],
      'GET',
      `${path}/x/1`,
    );
    expect(names).toContain('long:* read');
  });

  test("is treated, for policy's own call of a tool, as that tool of every MCP server on the host", () => {
    expect(namesAt([mail, tools], 'POST', '/mcp', { tool: 'wipe' })).toEqual(['tools:wipe delete']);
    expect(namesAt([mail, tools], 'POST', '/mcp', { tool: 'new' })).toEqual(['tools:new write']);
  });
});

describe('an action call whose parameter values produce the path of another action', () => {
  const hub = templateOf(Object.values(github), { key: 'hub' });
  const namesOfCall = (path: string) =>
    listShadowedNames(['hub'], hub, { action: github.getUser, path, risk: 'read' }).map(
      ({ action }) => action,
    );

  test('also has the name of the other action, in any letter case', () => {
    expect(namesOfCall('/users/me')).toEqual(['users.me']);
    expect(namesOfCall('/users/ME')).toEqual(['users.me']);
    expect(namesOfCall('/users/ann')).toEqual([]);
  });

  const params = ['a', 'b', 'id'].map((each) => paramOf(each, 'path'));
  const openParams = ['repo', 'path'].map((each) => paramOf(each, 'path', { allowReserved: true }));
  const siblings = templateOf(
    [
      actionOf('id', { path: '/users/{id}', params }),
      actionOf('json', { path: '/users/{id}.json', params }),
      actionOf('copy', { path: '/users/{id}:copy', params }),
      actionOf('range', { path: '/users/{a}..{b}', params }),
      actionOf('first', { path: '/x/{id}/c/d', params }),
      actionOf('second', { path: '/x/b/{a}/{b}', params }),
      actionOf('file', { path: '/repos/{repo}/files/{path}', params: openParams }),
      actionOf('raw_file', { path: '/repos/{repo}/files/{path}/raw', params: openParams }),
      actionOf('issues', { path: '/repos/{repo}/issues', params: openParams }),
    ],
    { key: 'hub' },
  );

  test.for<[action: string, path: string, others: string[]]>([
    ['id', '/users/x', []],
    ['id', '/users/x.json', ['json']],
    ['id', '/users/x.JSON', ['json']],
    ['id', '/users/x:copy', ['copy']],
    ['id', '/users/x%3Acopy', ['copy']],
    ['id', '/users/a..b', ['range']],
    ['id', '/users/a.b', []],
    ['json', '/users/x.json', []],
    ['copy', '/users/x:copy', []],
    ['copy', '/users/x.json:copy', []],
    ['range', '/users/a..b', []],
    ['first', '/x/b/c/d', ['second']],
    ['first', '/x/q/c/d', []],
    ['second', '/x/b/c/d', ['first']],
    ['second', '/x/b/q/d', []],
    ['file', '/repos/acme/site/files/a/raw', ['raw_file']],
    ['file', '/repos/acme/site/files/src/issues', []],
  ])('also has, for the action %s at %s, the names %j', ([key, path, others]) => {
    const action = siblings.actions[key]!;
    const names = listShadowedNames(['hub'], siblings, { action, path, risk: 'read' });
    expect(names.map((each) => each.action)).toEqual(others);
  });

  test('does not have the names of actions on another server, and these do not hide other names', () => {
    const server = { url: 'https://b.example', variables: [], baseUrlAllowed: false };
    const me = actionOf('me', { path: '/users/me', server });
    const two = templateOf([...Object.values(siblings.actions), me], { key: 'hub' });
    const namesOfId = (path: string) =>
      listShadowedNames(['hub'], two, { action: two.actions['id']!, path, risk: 'read' });
    expect(namesOfId('/users/me')).toEqual([]);
    expect(namesOfId('/users/x.json').map(({ action }) => action)).toEqual(['json']);
  });

  test('does not have the names of actions with the same path, which differ only in their body', () => {
    const actions = ['a', 'b'].map((key) => actionOf(key, { method: 'POST', path: '/graphql' }));
    const graph = templateOf(actions, { key: 'graph' });
    expect(
      listShadowedNames(['graph'], graph, { action: actions[0]!, path: '/graphql', risk: 'write' }),
    ).toEqual([]);
  });
});

test('a service is known by its name, its name without org/, and its template key', () => {
  expect(namesOf('org/hub', 'github')).toEqual(['org/hub', 'hub', 'github']);
  expect(namesOf('github', 'github')).toEqual(['github']);
});

test('risks are ordered read, write, delete', () => {
  expect([
    isAtLeast('read', 'write'),
    isAtLeast('write', 'write'),
    isAtLeast('delete', 'write'),
  ]).toEqual([false, true, true]);
});
