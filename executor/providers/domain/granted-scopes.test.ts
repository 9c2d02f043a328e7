import { describe, expect, test } from 'vitest';

import { builtInProviders } from '#providers';
import { readGrantedScopes } from './granted-scopes.ts';

const base = 'https://id.example/auth/';
const read = (asked: readonly string[], reported: readonly string[] | null) =>
  readGrantedScopes({}, { asked, reported });

describe('what was asked for is granted', () => {
  const both = ['things.read', 'things.write'];
  test.for<[string, string[], string[] | null]>([
    ['in the same words', both, both],
    ['in another order, and twice', both, ['things.write', 'things.read', 'things.write']],
    ['without words', both, null],
    ['with an address in front', both, [`${base}things.read`, `${base}things.write`]],
    ['in capitals', both, ['Things.Read', 'THINGS.WRITE']],
    ['with other separators', both, ['things:read', 'things_write']],
    ['as URNs', both, ['urn:example:things.read', 'urn:example:things.write']],
    ['in two of these ways', both, ['things.read', `${base}THINGS:WRITE`]],
    ['with scopes that nobody asked for', both, ['openid', `${base}things.read`, 'x', ...both]],
    ['in other words', both, ['Reader', 'Editor']],
    ['in other words beside those of OpenID Connect', both, ['openid', 'email', 'r', 'w']],
    ['in a word of which one is spelled alike', both, [`${base}things.read`, `${base}things`]],
    ['without the address', [`${base}things.read`], ['things.read']],
    ['without the address, which ends with a slash', [`${base}things.read/`], ['things.read']],
    ['without openid', ['openid', ...both], both],
    ['without offline_access', [...both, 'offline_access'], [`${base}things.read`, 'things.write']],
  ])('%s', ([, asked, reported]) => {
    expect(read(asked, reported).scopes).toEqual(expect.arrayContaining(asked));
  });
});

describe('less than was asked for is granted', () => {
  test.for<[string, string[], string[], string[]]>([
    ['one of two in the same words', ['read', 'write'], ['read'], ['read']],
    ['one of two with an address', ['read', 'write'], [`${base}read`], ['read']],
    ['one of two in other words', ['read', 'write'], ['Reader'], []],
    ['one of two beside openid', ['read', 'write'], ['openid', `${base}read`], ['openid', 'read']],
    [
      'one of two beside all that OpenID Connect adds',
      ['read', 'write'],
      ['openid', 'profile', 'email', 'Reader'],
      ['openid', 'profile', 'email'],
    ],
    ['none of one beside openid', ['write'], ['openid'], ['openid']],
    [
      'one of two in the same words beside one that the provider always adds',
      ['repo', 'gist'],
      ['repo', 'basics'],
      ['repo', 'basics'],
    ],
    ['one in two spellings', ['read', 'write'], ['read', `${base}read`], ['read', `${base}read`]],
    ['a longer name', ['read', 'write'], ['read', 'rewrite'], ['read', 'rewrite']],
  ])('%s', ([, asked, reported, granted]) => {
    expect(read(asked, reported).scopes).toEqual(granted);
  });

  test('a known scope of the provider, which is no other word for the asked one', () => {
    const google = builtInProviders().get('google');
    const send = 'https://www.googleapis.com/auth/gmail.send';
    const asked = ['https://www.googleapis.com/auth/gmail.modify'];
    expect(readGrantedScopes(google ?? {}, { asked, reported: [send] }).scopes).toEqual([send]);
  });
});

test('the words of the provider are kept where they differ, and not asked for', () => {
  expect(read(['read'], ['openid', `${base}read`])).toEqual({
    scopes: ['openid', 'read'],
    reported: ['openid', `${base}read`],
  });
  expect(read(['read', 'write'], ['Reader', 'Editor', 'openid'])).toEqual({
    scopes: ['openid', 'read', 'write'],
    reported: ['Reader', 'Editor', 'openid'],
  });
  expect(read(['read'], ['read', 'admin'])).toEqual({ scopes: ['read', 'admin'], reported: null });
});

test('a broader scope of the provider’s row stands for the asked one', () => {
  const google = builtInProviders().get('google');
  const broad = 'https://mail.google.com/';
  const asked = ['https://www.googleapis.com/auth/gmail.readonly'];
  expect(readGrantedScopes(google ?? {}, { asked, reported: [broad] })).toEqual({
    scopes: [broad],
    reported: null,
  });
});

test('with opaque scopes what was asked for is granted, whatever the provider lists', () => {
  const opaque = { scopes: 'opaque' as const };
  const answer = { asked: ['read', 'write'], reported: ['Reader'] };
  expect(readGrantedScopes(opaque, answer)).toEqual({
    scopes: ['read', 'write'],
    reported: ['Reader'],
  });
});
