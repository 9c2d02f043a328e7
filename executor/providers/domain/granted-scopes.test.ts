import { describe, expect, test } from 'vitest';

import { builtInProviders } from '#providers';
import { readGrantedScopes } from './granted-scopes.ts';

const scopePrefix = 'https://id.example/auth/';
const read = (asked: readonly string[], reported: readonly string[] | null) =>
  readGrantedScopes({}, { asked, reported });

describe('all requested scopes count as granted if the answer lists them', () => {
  const bothScopes = ['things.read', 'things.write'];
  test.for<[string, string[], string[] | null]>([
    ['in the same words', bothScopes, bothScopes],
    ['in another order, and twice', bothScopes, ['things.write', 'things.read', 'things.write']],
    ['or lists no scopes', bothScopes, null],
    [
      'with an address in front',
      bothScopes,
      [`${scopePrefix}things.read`, `${scopePrefix}things.write`],
    ],
    ['in capitals', bothScopes, ['Things.Read', 'THINGS.WRITE']],
    ['with other separators', bothScopes, ['things:read', 'things_write']],
    ['as URNs', bothScopes, ['urn:example:things.read', 'urn:example:things.write']],
    ['in two of these ways', bothScopes, ['things.read', `${scopePrefix}THINGS:WRITE`]],
    [
      'with further scopes',
      bothScopes,
      ['openid', `${scopePrefix}things.read`, 'x', ...bothScopes],
    ],
    ['in other words', bothScopes, ['Reader', 'Editor']],
    ['in other words, beside scopes of OpenID Connect', bothScopes, ['openid', 'email', 'r', 'w']],
    [
      'one in another spelling, and one in another word',
      bothScopes,
      [`${scopePrefix}things.read`, `${scopePrefix}things`],
    ],
    ['without the address', [`${scopePrefix}things.read`], ['things.read']],
    [
      'without the address, which ends with a slash',
      [`${scopePrefix}things.read/`],
      ['things.read'],
    ],
    ['except openid', ['openid', ...bothScopes], bothScopes],
    [
      'except offline_access',
      [...bothScopes, 'offline_access'],
      [`${scopePrefix}things.read`, 'things.write'],
    ],
  ])('%s', ([, asked, reported]) => {
    expect(read(asked, reported).scopes).toEqual(expect.arrayContaining(asked));
  });
});

describe('not all requested scopes count as granted if the answer lists', () => {
  test.for<[string, string[], string[], string[]]>([
    ['one of two in the same words', ['read', 'write'], ['read'], ['read']],
    ['one of two with an address', ['read', 'write'], [`${scopePrefix}read`], ['read']],
    ['one of two in other words', ['read', 'write'], ['Reader'], []],
    [
      'one of two beside openid',
      ['read', 'write'],
      ['openid', `${scopePrefix}read`],
      ['openid', 'read'],
    ],
    [
      'one of two in another word, beside scopes of OpenID Connect',
      ['read', 'write'],
      ['openid', 'profile', 'email', 'Reader'],
      ['openid', 'profile', 'email'],
    ],
    ['only openid', ['write'], ['openid'], ['openid']],
    [
      'one of two in the same words beside one that the provider always adds',
      ['repo', 'gist'],
      ['repo', 'basics'],
      ['repo', 'basics'],
    ],
    [
      'one of two, in two spellings',
      ['read', 'write'],
      ['read', `${scopePrefix}read`],
      ['read', `${scopePrefix}read`],
    ],
    [
      'a longer name that contains the requested one',
      ['read', 'write'],
      ['read', 'rewrite'],
      ['read', 'rewrite'],
    ],
  ])('%s', ([, asked, reported, granted]) => {
    expect(read(asked, reported).scopes).toEqual(granted);
  });

  test('another scope of the provider’s definition instead', () => {
    const google = builtInProviders().get('google');
    const sendScope = 'https://www.googleapis.com/auth/gmail.send';
    const asked = ['https://www.googleapis.com/auth/gmail.modify'];
    expect(readGrantedScopes(google ?? {}, { asked, reported: [sendScope] }).scopes).toEqual([
      sendScope,
    ]);
  });
});

test('the provider’s own spelling of scopes is kept where it differs, and is not requested', () => {
  expect(read(['read'], ['openid', `${scopePrefix}read`])).toEqual({
    scopes: ['openid', 'read'],
    reported: ['openid', `${scopePrefix}read`],
  });
  expect(read(['read', 'write'], ['Reader', 'Editor', 'openid'])).toEqual({
    scopes: ['openid', 'read', 'write'],
    reported: ['Reader', 'Editor', 'openid'],
  });
  expect(read(['read'], ['read', 'admin'])).toEqual({ scopes: ['read', 'admin'], reported: null });
});

test('a broader scope that the provider’s definition lists covers the requested one', () => {
  const google = builtInProviders().get('google');
  const broadScope = 'https://mail.google.com/';
  const asked = ['https://www.googleapis.com/auth/gmail.readonly'];
  expect(readGrantedScopes(google ?? {}, { asked, reported: [broadScope] })).toEqual({
    scopes: [broadScope],
    reported: null,
  });
});

test('all requested scopes are granted when the definition says that scopes are opaque', () => {
  const opaqueProvider = { scopes: 'opaque' as const };
  const answer = { asked: ['read', 'write'], reported: ['Reader'] };
  expect(readGrantedScopes(opaqueProvider, answer)).toEqual({
    scopes: ['read', 'write'],
    reported: ['Reader'],
  });
});
