import { describe, expect, test } from 'vitest';

import { oauthProvider } from '#contracts/oauth-provider';
import { loadBuiltInProviders } from './load.ts';
import {
  checkImplications,
  coveredScopesOf,
  listMissingScopes,
  normaliseScopes,
  tokenKindOf,
} from './scopes.ts';

const providerOf = (key: string) => loadBuiltInProviders().get(key);
const toGoogleScope = (name: string) => `https://www.googleapis.com/auth/${name}`;

const createProvider = (scopes: unknown, moreFields: object = {}) =>
  oauthProvider.parse({
    key: 'made',
    title: 'Made',
    authorization_url: 'https://made.example/authorize',
    token_url: 'https://made.example/token',
    pkce: true,
    client_authentication: 'none',
    hosts: ['api.made.example'],
    scopes,
    ...moreFields,
  });

describe('listMissingScopes', () => {
  test.for<[string, string, string[], string[][], string[]]>([
    [
      'nothing, when a granted scope implies it',
      'google',
      [toGoogleScope('gmail.modify')],
      [[toGoogleScope('gmail.readonly')]],
      [],
    ],
    [
      'nothing, when it follows over several steps',
      'google',
      ['https://mail.google.com/'],
      [[toGoogleScope('gmail.send')], [toGoogleScope('gmail.metadata')]],
      [],
    ],
    [
      'a scope that implies a granted one',
      'google',
      [toGoogleScope('drive.readonly')],
      [[toGoogleScope('drive')]],
      [toGoogleScope('drive')],
    ],
    [
      'nothing, when one of several alternatives is met',
      'github',
      ['repo'],
      [['admin:org'], ['public_repo']],
      [],
    ],
    ['nothing, where a call needs nothing', 'github', [], [[]], []],
    [
      'the smallest addition',
      'slack',
      ['users:read'],
      [
        ['search:read', 'team:read'],
        ['users:read', 'users:read.email'],
      ],
      ['users:read.email'],
    ],
    [
      'the narrowest of several additions of the same size',
      'github',
      [],
      [['repo'], ['public_repo']],
      ['public_repo'],
    ],
    [
      'the one without a review by the provider, of several additions of the same size',
      'google',
      [],
      [[toGoogleScope('drive.metadata.readonly')], [toGoogleScope('spreadsheets')]],
      [toGoogleScope('spreadsheets')],
    ],
    [
      'no scope that another missing one implies',
      'github',
      [],
      [['repo', 'public_repo']],
      ['repo'],
    ],
    ['everything for an unknown provider', 'of-an-org', ['a'], [['a', 'b']], ['b']],
    ['nothing for a provider that reports no scopes', 'notion', [], [['anything']], []],
  ])('finds %s', ([, provider, granted, alternatives, missing]) => {
    expect(listMissingScopes(providerOf(provider), { granted, alternatives })).toEqual(missing);
  });

  test('recognises a scope that the provider reports under another name', () => {
    expect(
      normaliseScopes(providerOf('google'), ['openid', toGoogleScope('userinfo.email')]),
    ).toEqual(['openid', 'email']);
    const granted = ['https://graph.microsoft.com/Mail.ReadWrite', 'User.Read'];
    expect(normaliseScopes(providerOf('microsoft'), granted)).toEqual([
      'Mail.ReadWrite',
      'User.Read',
    ]);
    const alternatives = [['Mail.Read']];
    expect(listMissingScopes(providerOf('microsoft'), { granted, alternatives })).toEqual([]);
  });

  test('counts write access of Shopify as read access, because Shopify leaves the read scope out of its answers', () => {
    const scopeNeed = { granted: ['write_products'], alternatives: [['read_products']] };
    expect(listMissingScopes(providerOf('shopify'), scopeNeed)).toEqual([]);
    expect(coveredScopesOf(providerOf('shopify'), ['write_orders'])).not.toContain('read_products');
  });
});

describe('the scopes of a provider', () => {
  test('show the kind of token that can have them', () => {
    expect(tokenKindOf(providerOf('slack'), 'channels:manage')).toBe('bot');
    expect(tokenKindOf(providerOf('slack'), 'channels:write')).toBe('user');
    expect(tokenKindOf(providerOf('slack'), 'chat:write')).toBeUndefined();
  });

  test('may imply each other, but not in a circle', () => {
    expect(() =>
      checkImplications(createProvider({ a: { implies: ['b', 'c'] }, b: { implies: ['c'] } })),
    ).not.toThrow();
    for (const circularScopes of [
      { a: { implies: ['a'] } },
      { a: { implies: ['b'] }, b: { implies: ['c'] }, c: { implies: ['a'] } },
    ]) {
      expect(() => checkImplications(createProvider(circularScopes))).toThrow('implies itself');
    }
  });

  test('must be names as in RFC 6749, with no unknown members in their rules', () => {
    for (const scopes of [
      { 'a b': {} },
      { a: { implied: ['b'] } },
      { a: { acts_as: 'admin' } },
      'none',
    ]) {
      expect(() => createProvider(scopes)).toThrow();
    }
  });
});
