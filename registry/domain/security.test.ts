import { describe, expect, test } from 'vitest';

import { compile, put } from '../test-support/compile-example.ts';
import type { Change } from '../test-support/compile-example.ts';
import { listNotes } from '../test-support/example-document.ts';
import type { ExampleDocument } from '../test-support/example-document.ts';
import type { FindingCode } from './findings.ts';

const token = (document: ExampleDocument) => document.components.securitySchemes['token'] ?? {};

describe('security', () => {
  test.for<[what: string, code: FindingCode, change: Change]>([
    ['an unknown type', 'security_scheme_invalid', (d) => put(token(d), 'type', 'mutualTLS')],
    ['an unknown http scheme', 'security_scheme_invalid', (d) => put(token(d), 'scheme', 'digest')],
    [
      'no name of a secret',
      'required_field_missing',
      (d) => put(token(d), 'default_secret_name', undefined),
    ],
    [
      'a bad name of a secret',
      'security_scheme_invalid',
      (d) => put(token(d), 'default_secret_name', 'A b'),
    ],
    [
      'a prefix that the scheme sets itself',
      'security_scheme_invalid',
      (d) => put(token(d), 'prefix', 'x'),
    ],
    [
      'a key in a cookie',
      'security_scheme_invalid',
      (d) =>
        (d.components.securitySchemes['token'] = {
          type: 'apiKey',
          in: 'cookie',
          name: 'a',
          default_secret_name: 'b',
        }),
    ],
    [
      'a key in a header that decides where the request goes',
      'header_not_allowed',
      (d) =>
        (d.components.securitySchemes['token'] = {
          type: 'apiKey',
          in: 'header',
          name: 'Host',
          default_secret_name: 'b',
        }),
    ],
    [
      'a header that is none',
      'header_not_allowed',
      (d) =>
        (d.components.securitySchemes['token'] = {
          type: 'apiKey',
          in: 'header',
          name: 'A: b',
          default_secret_name: 'b',
        }),
    ],
    [
      'a prefix with a line break',
      'security_scheme_invalid',
      (d) =>
        (d.components.securitySchemes['token'] = {
          type: 'apiKey',
          in: 'header',
          name: 'X-Key',
          prefix: 'a\r\n',
          default_secret_name: 'b',
        }),
    ],
    [
      'a scheme that is not declared',
      'security_scheme_unknown',
      (d) => (d.security = [{ tokn: [] }]),
    ],
    ['scopes that are no list', 'wrong_type', (d) => put(d, 'security', [{ token: 'a' }])],
    [
      'OAuth without the authorization code flow',
      'security_scheme_invalid',
      (d) =>
        (d.components.securitySchemes['token'] = {
          type: 'oauth2',
          provider: 'a',
          flows: { implicit: {} },
        }),
    ],
    [
      'OAuth endpoints over plain http',
      'security_scheme_invalid',
      (d) =>
        (d.components.securitySchemes['token'] = oauth({
          tokenUrl: 'http://auth.example.com/token',
        })),
    ],
    [
      'a built-in provider at other addresses',
      'provider_url_mismatch',
      (d) => (d.components.securitySchemes['token'] = { ...oauth({}), provider: 'github' }),
    ],
    [
      'a built-in provider whose tokens come from elsewhere',
      'provider_url_mismatch',
      (d) =>
        (d.components.securitySchemes['token'] = {
          ...oauth({
            authorizationUrl: 'https://github.com/login/oauth/authorize',
            tokenUrl: 'https://github.com.evil.example/login/oauth/access_token',
          }),
          provider: 'github',
        }),
    ],
    [
      'an action that asks for a scope nobody can grant',
      'scope_unknown',
      (d) => {
        d.components.securitySchemes['token'] = oauth({});
        listNotes(d)['security'] = [{ token: ['notes.raed'] }];
      },
    ],
  ])('refuses %s', ([, code, change]) => {
    expect(compile(change).report.errors.map((finding) => finding.code)).toContain(code);
  });

  test.for<[what: string, scheme: Record<string, unknown>, method: Record<string, unknown>]>([
    [
      'a bearer token',
      { type: 'http', scheme: 'Bearer' },
      { type: 'apiKey', in: 'header', name: 'Authorization', prefix: 'Bearer ', encoding: 'raw' },
    ],
    [
      'basic authentication',
      { type: 'http', scheme: 'basic' },
      { type: 'apiKey', in: 'header', name: 'Authorization', prefix: 'Basic ', encoding: 'basic' },
    ],
    [
      'a key in a header',
      { type: 'apiKey', in: 'header', name: 'X-Key', prefix: 'Key ' },
      { type: 'apiKey', in: 'header', name: 'X-Key', prefix: 'Key ', encoding: 'raw' },
    ],
    [
      'a key in the query',
      { type: 'apiKey', in: 'query', name: 'key' },
      { type: 'apiKey', in: 'query', name: 'key', prefix: '', encoding: 'raw' },
    ],
  ])('compiles %s', ([, scheme, method]) => {
    const { template } = compile((d) => {
      d.components.securitySchemes['token'] = { ...scheme, default_secret_name: 'example_token' };
    });

    expect(template?.auth).toEqual([
      { ...method, scheme: 'token', defaultSecretName: 'example_token' },
    ]);
  });

  test('compiles OAuth and the scopes an action needs', () => {
    const { template } = compile((d) => {
      d.components.securitySchemes['token'] = oauth({});
      listNotes(d)['security'] = [{ token: ['notes.read'] }];
    });

    expect(template?.auth).toEqual([
      {
        type: 'oauth2',
        scheme: 'token',
        provider: 'example',
        authorizationUrl: 'https://auth.example.com/authorize',
        tokenUrl: 'https://auth.example.com/token',
        scopes: ['notes.read', 'notes.write'],
      },
    ]);
    expect(template?.actions['list_notes']?.minimumScopes).toEqual(['notes.read']);
    expect(template?.actions['create_note']?.minimumScopes).toBeNull();
  });

  test.for<[what: string, security: Record<string, string[]>[] | undefined, expected: string[][]]>([
    ['without `security` each scheme is one way in', undefined, [['token'], ['other']]],
    ['an empty list needs no credential', [], []],
    ['alternatives', [{ token: [] }, { other: [] }], [['token'], ['other']]],
    ['schemes together', [{ token: [], other: [] }], [['token', 'other']]],
    ['optional', [{ token: [] }, {}], [['token'], []]],
  ])('%s', ([, security, expected]) => {
    const { template } = compile((d) => {
      d.components.securitySchemes['other'] = {
        type: 'apiKey',
        in: 'query',
        name: 'k',
        default_secret_name: 'k',
      };
      put(d, 'security', security);
    });

    expect(template?.security).toEqual(expected);
  });
});

function oauth(flow: Record<string, unknown>): Record<string, unknown> {
  return {
    type: 'oauth2',
    provider: 'example',
    flows: {
      authorizationCode: {
        authorizationUrl: 'https://auth.example.com/authorize',
        tokenUrl: 'https://auth.example.com/token',
        scopes: { 'notes.read': 'Read', 'notes.write': 'Write' },
        ...flow,
      },
    },
  };
}
