import { describe, expect, test } from 'vitest';

import type { CompiledTemplate } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { actionKey, compilePattern, httpKey } from '#permission-key';
import { actionOf, paramOf, templateOf } from './action.testing.ts';
import { addressNames, neighbourNames, ownNames } from './deny-names.ts';
import type { Neighbour } from './deny-names.ts';
import { couldDeny, deniesKey } from './deny-patterns.ts';
import { parseHttpTarget } from './http-target.ts';
import { parsePattern } from './pattern-text.ts';
import { compileParamCheck } from './validate-params.ts';

const deny = (text: string) => compilePattern(parsePattern(text), false);
const fits: Neighbour['fits'] = (param, value) => compileParamCheck(param.schema)(value);

describe('a deny of an address holds however the path is spelled', () => {
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

  test.for(cases)('%s, asked for as %s', ([pattern, path]) => {
    const target = parseHttpTarget(`https://a.example${path}`, null);
    const key = httpKey('DELETE', target.host, target.path);
    expect(deniesKey(deny(`http:DELETE:a.example${pattern}`), key)).toBe(true);
    const names = addressNames({ method: 'DELETE', ...target, risk: 'delete' }, []);
    expect(names.some((name) => couldDeny(deny(`http:*:a.example${pattern}`), name))).toBe(true);
  });

  test.for(['/repos/acme/sites', '/repos/acme', '/repos/acme/site/x', '/v1/repos/acme/site'])(
    'another path is left alone: %s',
    (path) => {
      const key = httpKey('DELETE', 'a.example', path);
      expect(deniesKey(deny('http:DELETE:a.example/repos/acme/site'), key)).toBe(false);
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
])('a deny of an address holds for %s', (to) => {
  const { arg } = actionKey('mail', 'send', to);
  const names = ownNames(['mail'], { action: 'send', keyArg: arg, risk: 'write' });
  const isDenied = (text: string) => names.some((name) => couldDeny(deny(text), name));
  expect(isDenied('mail:send:bob@b.example')).toBe(true);
  expect(isDenied('mail:send:ob@b.example')).toBe(false);
});

test('a pattern with a wildcard after a capital sigma matches words that go on', () => {
  const name = { service: 'files', action: 'delete', args: ['οδοσα'] };
  expect(couldDeny(deny('files:delete:ΟΔΟΣ*'), name)).toBe(true);
});

describe('a parameter that is there by two names is unknown', () => {
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
    ).some((name) => couldDeny(deny(text), name));

  test.for(['to[0]', 'to[x]', 'To[0]', ' to', 'to.', 'to\u0000'])('%j', (name) => {
    expect(isDenied('mail:send:bob', '/send', { to: 'ann', [name]: 'bob' })).toBe(true);
  });

  test('one of another name is not', () => {
    expect(isDenied('mail:send:bob', '/send', { to: 'ann', too: 'bob' })).toBe(false);
  });

  test('the text beside a path parameter may be encoded', () => {
    expect(isDenied('mail:jobs.cancel:7', '/jobs/7%3Acancel')).toBe(true);
    expect(isDenied('mail:jobs.cancel:7', '/jobs/8%3Acancel')).toBe(false);
  });
});

test('a path of many segments is compared with many operations in bounded time', () => {
  const long = '/a'.repeat(900);
  const many = (allowReserved: boolean) =>
    templateOf(
      Array.from({ length: 500 }, (_, index) =>
        actionOf(`get${index}`, {
          path: `${long}/{id}/${index}/{part}`,
          params: [paramOf('id', 'path', { allowReserved }), paramOf('part', 'path')],
        }),
      ),
    );
  for (const template of [many(false), many(true)]) {
    const neighbours = [{ names: ['own'], prefix: '', template, fits }];
    const path = `${long}/x/y/z`;
    const find = () =>
      neighbourNames(neighbours, { method: 'GET', path, query: {}, body: null }, { risk: 'read' });
    find();
    const before = process.cpuUsage();
    find();
    const { user, system } = process.cpuUsage(before);
    // Without a bound these took six seconds.
    expect((user + system) / 1000).toBeLessThan(1000);
  }
});

test.for([
  ['/notes/s', '/notes/%2573'],
  ['/notes/s', '/x/%252e%252e/notes/s'],
  ['/notes/s', '/notes%252Fs'],
  ['/caf\u00e9', '/cafe%CC%81'],
  ['/notes/s', '/notes/%EF%BD%93'],
])('a deny of the address %s holds for %s', ([pattern, path]) => {
  const { host, path: sent } = parseHttpTarget(`https://a.example${path}`, null);
  const key = httpKey('GET', host, sent);
  expect(deniesKey(deny(`http:GET:a.example${pattern}`), key)).toBe(true);
  expect(deniesKey(deny('http:GET:a.example/notes/t'), key)).toBe(false);
});
