import { describe, expect, test } from 'vitest';

import { compileExample, setMember } from '../../compiler/domain/compile-example.testing.ts';
import type { Change } from '../../compiler/domain/compile-example.testing.ts';
import { listNotes } from '../../compiler/domain/example-document.testing.ts';
import type { ExampleDocument } from '../../compiler/domain/example-document.testing.ts';
import type { FindingCode } from '../../document/domain/findings.ts';

const tokenScheme = (document: ExampleDocument) =>
  document.components.securitySchemes['token'] ?? {};

describe('compiling security', () => {
  test.for<[what: string, code: FindingCode, change: Change]>([
    [
      'an unknown type',
      'security_scheme_invalid',
      (d) => setMember(tokenScheme(d), 'type', 'mutualTLS'),
    ],
    [
      'an unknown http scheme',
      'security_scheme_invalid',
      (d) => setMember(tokenScheme(d), 'scheme', 'digest'),
    ],
    [
      'a scheme without a default secret name',
      'required_field_missing',
      (d) => setMember(tokenScheme(d), 'default_secret_name', undefined),
    ],
    [
      'an invalid default secret name',
      'security_scheme_invalid',
      (d) => setMember(tokenScheme(d), 'default_secret_name', 'A b'),
    ],
    [
      'a prefix on a scheme that has its own',
      'security_scheme_invalid',
      (d) => setMember(tokenScheme(d), 'prefix', 'x'),
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
    ...['_method', '_method[x]', 'X-HTTP-Method-Override'].map(
      (name): [what: string, code: FindingCode, change: Change] => [
        `a key in the query parameter ${name}, which changes the method`,
        'security_scheme_invalid',
        (d) =>
          (d.components.securitySchemes['token'] = {
            type: 'apiKey',
            in: 'query',
            name,
            default_secret_name: 'b',
          }),
      ],
    ),
    [
      'an invalid header name',
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
    ['scopes that are not a list', 'wrong_type', (d) => setMember(d, 'security', [{ token: 'a' }])],
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
        (d.components.securitySchemes['token'] = createOAuthScheme({
          tokenUrl: 'http://auth.example.com/token',
        })),
    ],
    [
      'a built-in provider at other addresses',
      'provider_url_mismatch',
      (d) =>
        (d.components.securitySchemes['token'] = { ...createOAuthScheme({}), provider: 'github' }),
    ],
    [
      'a built-in provider with another token URL',
      'provider_url_mismatch',
      (d) =>
        (d.components.securitySchemes['token'] = {
          ...createOAuthScheme({
            authorizationUrl: 'https://github.com/login/oauth/authorize',
            tokenUrl: 'https://github.com.evil.example/login/oauth/access_token',
          }),
          provider: 'github',
        }),
    ],
    [
      'an action with a scope that the scheme does not list',
      'scope_unknown',
      (d) => {
        d.components.securitySchemes['token'] = createOAuthScheme({});
        listNotes(d)['security'] = [{ token: ['notes.raed'] }];
      },
    ],
    ...(
      [
        ['in one header', 'header', 'X-Key', 'x-key'],
        ['in one query parameter', 'query', 'key', 'KEY'],
      ] as const
    ).map(([where, location, name, other]): [what: string, code: FindingCode, change: Change] => [
      `two keys that are needed together ${where} of other letters`,
      'security_scheme_invalid',
      (d) => {
        const key = { type: 'apiKey', in: location, default_secret_name: 'a' };
        d.components.securitySchemes = {
          token: { ...key, name },
          between: { type: 'http', scheme: 'bearer', default_secret_name: 'b' },
          second: { ...key, name: other },
        };
        setMember(d, 'security', [{ token: [], between: [], second: [] }]);
      },
    ]),
    [
      'a bearer token and an OAuth token that are needed together',
      'security_scheme_invalid',
      (d) => {
        d.components.securitySchemes['second'] = createOAuthScheme({});
        setMember(d, 'security', [{ token: [], second: [] }]);
      },
    ],
  ])('refuses a document with %s', ([, code, change]) => {
    expect(compileExample(change).report.errors.map((finding) => finding.code)).toContain(code);
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
  ])('compiles a scheme for %s', ([, scheme, method]) => {
    const { template } = compileExample((d) => {
      d.components.securitySchemes['token'] = { ...scheme, default_secret_name: 'example_token' };
    });

    expect(template?.auth).toEqual([
      { ...method, scheme: 'token', defaultSecretName: 'example_token' },
    ]);
  });

  test('compiles OAuth and the scopes an action needs', () => {
    const { template } = compileExample((d) => {
      d.components.securitySchemes['token'] = createOAuthScheme({});
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
        scopeWords: { 'notes.read': 'Read', 'notes.write': 'Write' },
      },
    ]);
    expect(template?.actions['list_notes']?.minimumScopes).toEqual(['notes.read']);
    expect(template?.actions['create_note']?.minimumScopes).toBeNull();
    expect(template?.actions['create_note']).not.toHaveProperty('security');
  });

  test('keeps the label of a scheme and whom it acts as, and refuses scopes of other kinds of tokens', () => {
    const createSlackScheme = (acts_as: string, scope: string) => ({
      type: 'oauth2',
      provider: 'slack',
      label: 'Your Slack account',
      acts_as,
      flows: {
        authorizationCode: {
          authorizationUrl: 'https://slack.com/oauth/v2/authorize',
          tokenUrl: 'https://slack.com/api/oauth.v2.access',
          scopes: { 'chat:write': 'Post', [scope]: 'Channels' },
        },
      },
    });
    const compileSlack = (acts_as: string, scope: string) =>
      compileExample((d) => {
        d.components.securitySchemes['token'] = createSlackScheme(acts_as, scope);
      });

    expect(compileSlack('bot', 'channels:manage').template?.auth[0]).toMatchObject({
      label: 'Your Slack account',
      actsAs: 'bot',
    });
    for (const [acts_as, scope, code] of [
      ['user', 'channels:manage', 'scope_unknown'],
      ['bot', 'channels:write', 'scope_unknown'],
      ['admin', 'channels:write', 'security_scheme_invalid'],
    ] as const) {
      const { errors } = compileSlack(acts_as, scope).report;
      expect(errors.map((each) => each.code)).toContain(code);
    }
    // A document of the provider lists the scopes of all kinds of tokens in one scheme.
    const { report } = compileExample((d) => {
      const { acts_as: _unstated, ...scheme } = createSlackScheme('user', 'channels:manage');
      d.components.securitySchemes['token'] = scheme;
    });
    expect(report.errors).toEqual([]);
    expect(report.warnings.map((each) => each.code)).toContain('scope_unknown');
  });

  test.for([
    ['A restricted key (rk_…).', 'A restricted key (rk_…).'],
    ['  ', undefined],
    ['# Authentication\nSend the key.', undefined],
    ['x'.repeat(301), undefined],
    [7, undefined],
  ])('keeps a description that fits beside a field: %j', ([given, kept]) => {
    const { template } = compileExample((d) => {
      d.components.securitySchemes['token'] = {
        type: 'http',
        scheme: 'bearer',
        default_secret_name: 'key',
        description: given,
      };
    });
    expect(template?.auth[0]?.description).toBe(kept);
  });

  test('keeps all alternatives of scopes, each with its security schemes', () => {
    const security = [{ token: ['notes.write'] }, { token: ['notes.read'], key: [] }, {}];
    const { template } = compileExample((d) => {
      d.components.securitySchemes['token'] = createOAuthScheme({});
      d.components.securitySchemes['key'] = {
        type: 'apiKey',
        in: 'header',
        name: 'X-Key',
        default_secret_name: 'key',
      };
      listNotes(d)['security'] = security;
    });

    expect(template?.actions['list_notes']).toMatchObject({
      security,
      minimumScopes: ['notes.write'],
    });
  });

  test.for<[what: string, security: Record<string, string[]>[] | undefined, expected: string[][]]>([
    [
      'makes each scheme an alternative when the field security is absent',
      undefined,
      [['token'], ['other']],
    ],
    ['needs no credential when the field security is an empty list', [], []],
    ['keeps alternative schemes', [{ token: [] }, { other: [] }], [['token'], ['other']]],
    ['keeps schemes that are needed together', [{ token: [], other: [] }], [['token', 'other']]],
    [
      'keeps an empty alternative, which makes the credential optional',
      [{ token: [] }, {}],
      [['token'], []],
    ],
  ])('%s', ([, security, expected]) => {
    const { template } = compileExample((d) => {
      d.components.securitySchemes['other'] = {
        type: 'apiKey',
        in: 'query',
        name: 'k',
        default_secret_name: 'k',
      };
      setMember(d, 'security', security);
    });

    expect(template?.security).toEqual(expected);
  });
});

function createOAuthScheme(flow: Record<string, unknown>): Record<string, unknown> {
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
