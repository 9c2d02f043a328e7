import { describe, expect, test } from 'vitest';

import { fixedHostsFor, serverFor } from '#templates';
import { compileExample } from './compile-example.testing.ts';
import type { Change } from './compile-example.testing.ts';
import type { ExampleDocument } from './example-document.testing.ts';

const site = { site: { default: '' } };
const byToken = { url: 'https://{site}.example.net', variables: site, 'x-service-for': ['token'] };
const byAccount = { url: 'https://api.example.com/notes', for: ['account'] };

/** Adds an account beside the token, as a second way to connect, and these servers. */
function withServers(...servers: Record<string, unknown>[]): Change {
  return (document: ExampleDocument) => {
    document.components.securitySchemes['account'] = {
      type: 'oauth2',
      provider: 'acme',
      flows: {
        authorizationCode: {
          authorizationUrl: 'https://acme.example/authorize',
          tokenUrl: 'https://acme.example/token',
          scopes: { 'notes.read': 'Read' },
        },
      },
    };
    document.security = [{ token: [] }, { account: [] }];
    document.servers = servers;
  };
}

function codesAt(...servers: Record<string, unknown>[]): string[] {
  return compileExample(withServers(...servers)).report.errors.map(
    ({ code, path }) => `${code} ${path}`,
  );
}

describe('servers that are for certain security schemes', () => {
  test('are chosen by the schemes of the service, the first that fits', () => {
    const last = { url: 'https://else.example.org' };
    const { template } = compileExample(withServers(byToken, byAccount, last));

    expect(template && serverFor(template, ['token'])?.url).toBe('https://{site}.example.net');
    expect(template && serverFor(template, ['account'])?.url).toBe('https://api.example.com/notes');
    expect(template && serverFor(template, ['other'])?.url).toBe('https://else.example.org');
    expect(template && serverFor(template, undefined)?.url).toBe('https://{site}.example.net');
  });

  test('let a credential go to no host that is for other schemes alone', () => {
    const { template } = compileExample(
      withServers(byToken, byAccount, { url: 'https://else.example.org' }),
    );

    expect(template && fixedHostsFor(template, ['token'])).toEqual(['else.example.org']);
    expect(template && fixedHostsFor(template, ['account'])).toEqual([
      'api.example.com',
      'else.example.org',
    ]);
  });

  test('leave what an earlier release reads: the first server, without its schemes', () => {
    const { template } = compileExample(withServers(byToken, byAccount));

    expect(template?.server).toEqual({
      url: 'https://{site}.example.net',
      variables: [{ name: 'site', description: '', default: null, enum: null }],
      baseUrlAllowed: false,
    });
    expect(template?.hosts).toEqual(['api.example.com']);
  });

  test('are not kept apart from servers for all, whose templates keep their digest', () => {
    const { template } = compileExample(withServers({ url: 'https://api.example.com' }));

    expect(template).not.toHaveProperty('servers');
  });

  test.for<[what: string, servers: Record<string, unknown>[], finding: string]>([
    [
      'an unknown scheme',
      [byToken, { ...byAccount, for: ['acount'] }, { url: 'https://else.example.org' }],
      'security_scheme_unknown /servers/1/for',
    ],
    ['a way without server', [byToken], 'server_invalid /servers'],
    ['an empty list', [{ ...byToken, 'x-service-for': [] }], 'wrong_type /servers/0/x-service-for'],
    ['a name', [{ ...byToken, 'x-service-for': 'token' }], 'wrong_type /servers/0/x-service-for'],
  ])('are refused with %s', ([, servers, finding]) => {
    expect(codesAt(...servers)).toContain(finding);
  });
});

describe('a server variable whose value the account has', () => {
  const account = { get: 'https://api.example.com/sites?all=1', items: '.[]', value: '.id' };
  const server = (variable: object, more: object = {}) => ({
    url: 'https://api.example.com/ex/{site}',
    variables: { site: { default: '', ...variable } },
    for: ['account'],
    ...more,
  });

  test('is compiled with its look-up, and accepted by no component of an earlier release', () => {
    const { template, report } = compileExample(
      withServers(server({ 'x-service-account': { ...account, label: '.url' } }), {
        ...byToken,
      }),
    );

    expect(report.errors).toEqual([]);
    expect(template?.servers?.[0]?.variables).toEqual([
      {
        name: 'site',
        description: '',
        default: null,
        enum: null,
        account: { ...account, label: '.url' },
      },
    ]);
    expect(template?.server?.variables).toEqual([
      { name: 'site', description: '', default: null, enum: [] },
    ]);
  });

  test.for<[what: string, server: Record<string, unknown>]>([
    ['of a server for tokens', server({ account }, { for: ['token'] })],
    ['of a server for all', server({ account }, { for: undefined })],
    ['with a default', server({ account, default: 'a1' })],
    ['with a list of values', server({ account, enum: ['a1'] })],
    ['in the host', server({ account }, { url: 'https://{site}.api.example.com' })],
    ['by plain http', server({ account: { ...account, get: 'http://api.example.com/sites' } })],
    ['from a URL with variables', server({ account: { ...account, get: 'https://{x}.example' } })],
    ['by a filter', server({ account: { ...account, value: '.id | env' } })],
    ['without a list', server({ account: { ...account, items: '.sites' } })],
    [
      'beside another variable',
      server(
        {},
        {
          url: 'https://api.example.com/{region}/{site}',
          variables: { site: { account }, region: { default: 'eu' } },
        },
      ),
    ],
  ])('is refused %s', ([, given]) => {
    const { report } = compileExample(withServers(given, { url: 'https://else.example.org' }));

    expect(report.errors.map(({ code }) => code)).toContain('server_variable');
  });
});
