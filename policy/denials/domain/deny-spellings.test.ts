import { describe, expect, test } from 'vitest';

import type { CompiledTemplate } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { actionKey, compilePattern, httpKey } from '#permission-key';
import { actionOf, paramOf, templateOf } from '../../action.testing.ts';
import { parseHttpTarget } from '../../calls/domain/http-target.ts';
import { parsePattern } from '../../rules/domain/pattern-text.ts';
import { listAddressNames, neighbourNames, listOwnNames } from './deny-names.ts';
import type { Neighbour } from './deny-names.ts';
import { couldDeny, deniesKey } from './deny-patterns.ts';
import { compileParamCheck } from './param-check.ts';

const denyPattern = (text: string) => compilePattern(parsePattern(text), false);
const fits: Neighbour['fits'] = (param, value) => compileParamCheck(param.schema)(value);

describe('a deny rule for an address', () => {
  const cases: [pattern: string, path: string][] = [
    ['/users/bob@b.example', '/users/bob%40b.example'],
    ['/users/bob%40b.example', '/users/bob@b.example'],
    ['/jobs/7:cancel', '/jobs/7%3Acancel'],
    ['/repos/acme/site', '//repos/acme/site'],
    ['/repos/acme/site', '/repos//acme/site/'],
    ['/repos/acme/site', '/repos/acme/site/'],
    ['/repos/acme/site', '/repos/acme/site;v=1'],
    ['/repos/acme/site', '/repos/acme/site%3Bv=1'],
    ['/repos/acme/*', '//repos/acme/site'],
    ['/repos/**', '/repos;v=1/acme/site'],
    ['/repos/**', '//repos/'],
    ['/straße', '/STRA%E1%BA%9EE'],
    ['/notes/1', '/notes/01'],
    ['/notes/1/text', '/notes/1-title/text'],
    ['/notes/1', '/notes//1.0;v=1'],
    ['/notes/2f26ee68-df30-4251-aad4-8ddc420cba3d', '/notes/2F26ee68df304251aad48ddc420cba3d'],
    ['/notes/2f26ee68df304251aad48ddc420cba3d/*', '/notes/2f26ee68-df30-4251-aad4-8ddc420cba3d/x'],
  ];

  test.for(cases)('with the path %s matches a request to %s', ([pattern, path]) => {
    const target = parseHttpTarget(`https://a.example${path}`, null);
    const key = httpKey('DELETE', target.host, target.path);
    expect(deniesKey(denyPattern(`http:DELETE:a.example${pattern}`), key)).toBe(true);
    const names = listAddressNames({ method: 'DELETE', ...target, risk: 'delete' }, []);
    expect(names.some((name) => couldDeny(denyPattern(`http:*:a.example${pattern}`), name))).toBe(
      true,
    );
  });

  test.for(['/repos/acme/sites', '/repos/acme', '/repos/acme/site/x', '/v1/repos/acme/site'])(
    'with the path /repos/acme/site does not match a request to %s',
    (path) => {
      const key = httpKey('DELETE', 'a.example', path);
      expect(deniesKey(denyPattern('http:DELETE:a.example/repos/acme/site'), key)).toBe(false);
    },
  );
});

test.for([
  'Team: ann@a.example, bob@b.example;',
  'Team:bob@b.example;',
  'bob@b.example (hello)',
  '(hello)bob@b.example',
  'bob(hello)@b.example',
  '"bob"@b.example',
  'bob @ b.example',
  '<bob@b.example> (<x>)',
  'ann@a.example bob@b.example',
  'bob@b.example.',
  'bob@b.example\u0001',
])('a deny rule for the mail address bob@b.example matches the recipient %j', (to) => {
  const { arg } = actionKey('mail', 'send', to);
  const names = listOwnNames(['mail'], { action: 'send', keyArg: arg, risk: 'write' });
  const isDenied = (text: string) => names.some((name) => couldDeny(denyPattern(text), name));
  expect(isDenied('mail:send:bob@b.example')).toBe(true);
  expect(isDenied('mail:send:ob@b.example')).toBe(false);
});

test('a pattern with a wildcard after a capital sigma matches longer words in lower case', () => {
  const name = { service: 'files', action: 'delete', args: ['οδοσα'] };
  expect(couldDeny(denyPattern('files:delete:ΟΔΟΣ*'), name)).toBe(true);
});

describe('a deny rule for a parameter', () => {
  const template: CompiledTemplate = templateOf([
    actionOf('send', {
      method: 'POST',
      path: '/send',
      scopeParam: 'to',
      params: [paramOf('to', 'query')],
    }),
    actionOf('jobs.run', { method: 'POST', path: '/jobs/{id}', params: [paramOf('id', 'path')] }),
    actionOf('jobs.cancel', {
      method: 'POST',
      path: '/jobs/{id}:cancel',
      scopeParam: 'id',
      params: [paramOf('id', 'path')],
    }),
  ]);
  const isDenied = (text: string, path: string, query: Record<string, JsonValue> = {}) =>
    neighbourNames(
      [{ names: ['mail'], prefix: '', template, fits }],
      { method: 'POST', path, query, body: null },
      { risk: 'write' },
    ).some((name) => couldDeny(denyPattern(text), name));

  test.for(['to[0]', 'to[x]', 'To[0]', ' to', 'to.', 'to\u0000'])(
    'matches any value when the request also has the name %j, which a server may read as the same',
    (name) => {
      expect(isDenied('mail:send:bob', '/send', { to: 'ann', [name]: 'bob' })).toBe(true);
    },
  );

  test('is not affected by a parameter with an unrelated name', () => {
    expect(isDenied('mail:send:bob', '/send', { to: 'ann', too: 'bob' })).toBe(false);
  });

  test('matches when the literal text beside a path parameter is percent-encoded', () => {
    expect(isDenied('mail:jobs.cancel:7', '/jobs/7%3Acancel')).toBe(true);
    expect(isDenied('mail:jobs.cancel:7', '/jobs/8%3Acancel')).toBe(false);
  });
});

test('a path of many segments is compared with many operations in bounded time', () => {
  const longPath = '/a'.repeat(900);
  const templateOfMany = (allowReserved: boolean) =>
    templateOf(
      Array.from({ length: 500 }, (_, index) =>
        actionOf(`get${index}`, {
          path: `${longPath}/{id}/${index}/{part}`,
          params: [paramOf('id', 'path', { allowReserved }), paramOf('part', 'path')],
        }),
      ),
    );
  for (const template of [templateOfMany(false), templateOfMany(true)]) {
    const neighbours = [{ names: ['own'], prefix: '', template, fits }];
    const path = `${longPath}/x/y/z`;
    const findNames = () =>
      neighbourNames(neighbours, { method: 'GET', path, query: {}, body: null }, { risk: 'read' });
    findNames();
    const before = process.cpuUsage();
    findNames();
    const { user, system } = process.cpuUsage(before);
    // Without a budget, this comparison took six seconds.
    expect((user + system) / 1000).toBeLessThan(1000);
  }
});

test.for([
  ['/notes/s', '/notes/%2573'],
  ['/notes/s', '/x/%252e%252e/notes/s'],
  ['/notes/s', '/notes%252Fs'],
  ['/caf\u00e9', '/cafe%CC%81'],
  ['/notes/s', '/notes/%EF%BD%93'],
])('a deny rule for the path %s matches a request to %s', ([pattern, path]) => {
  const { host, path: sentPath } = parseHttpTarget(`https://a.example${path}`, null);
  const key = httpKey('GET', host, sentPath);
  expect(deniesKey(denyPattern(`http:GET:a.example${pattern}`), key)).toBe(true);
  expect(deniesKey(denyPattern('http:GET:a.example/notes/t'), key)).toBe(false);
});
