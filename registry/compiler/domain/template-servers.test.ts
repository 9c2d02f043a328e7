import { describe, expect, test } from 'vitest';

import { credentialHostsFor, fixedHostsFor, serverFor, templateDigest } from '#templates';
import { compileExample, setMember } from './compile-example.testing.ts';
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
  test('are chosen by the schemes of the service: the first server that fits', () => {
    const last = { url: 'https://else.example.org' };
    const { template } = compileExample(withServers(byToken, byAccount, last));

    expect(template && serverFor(template, ['token'])?.url).toBe('https://{site}.example.net');
    expect(template && serverFor(template, ['account'])?.url).toBe('https://api.example.com/notes');
    expect(template && serverFor(template, ['other'])?.url).toBe('https://else.example.org');
    expect(template && serverFor(template, undefined)?.url).toBe('https://{site}.example.net');
  });

  test('let a credential go only to the host of the chosen server', () => {
    const other = { url: 'https://else.example.org' };
    const { template } = compileExample(withServers(byToken, byAccount, other));
    expect(template && credentialHostsFor(template, ['token'])).toEqual([]);
    expect(template && credentialHostsFor(template, ['account'])).toEqual(['api.example.com']);
    const { template: plain } = compileExample(
      withServers(other, { url: 'https://api.example.com' }),
    );
    expect(plain?.hosts).toEqual(['else.example.org', 'api.example.com']);
    expect(plain && credentialHostsFor(plain, ['token'])).toEqual(['else.example.org']);
  });

  test('are reached by deny rules at the hosts for the schemes of the service', () => {
    const { template } = compileExample(
      withServers(byToken, byAccount, { url: 'https://else.example.org' }),
    );

    expect(template && fixedHostsFor(template, ['token'])).toEqual(['else.example.org']);
    expect(template && fixedHostsFor(template, ['account'])).toEqual([
      'api.example.com',
      'else.example.org',
    ]);
  });

  test('let an earlier release read the first server, without its schemes', () => {
    const { template } = compileExample(withServers(byToken, byAccount));

    expect(template?.server).toEqual({
      url: 'https://{site}.example.net',
      variables: [{ name: 'site', description: '', default: null, enum: null }],
      baseUrlAllowed: false,
    });
    expect(template?.hosts).toEqual(['api.example.com']);
  });

  test('are not stored separately when they are for all schemes, so that the digest stays the same', () => {
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
    [
      'the name of a scheme instead of a list',
      [{ ...byToken, 'x-service-for': 'token' }],
      'wrong_type /servers/0/x-service-for',
    ],
  ])('are refused with %s', ([, servers, finding]) => {
    expect(codesAt(...servers)).toContain(finding);
  });
});

describe('a server variable with a value from the account', () => {
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
    ['on a server for tokens', server({ account }, { for: ['token'] })],
    ['on a server for all schemes', server({ account }, { for: undefined })],
    ['with a default', server({ account, default: 'a1' })],
    ['with a list of values', server({ account, enum: ['a1'] })],
    ['if it stands in the host', server({ account }, { url: 'https://{site}.api.example.com' })],
    [
      'if its look-up uses plain http',
      server({ account: { ...account, get: 'http://api.example.com/sites' } }),
    ],
    [
      'if its look-up has a URL with variables',
      server({ account: { ...account, get: 'https://{x}.example' } }),
    ],
    [
      'if its value is a filter and not a path',
      server({ account: { ...account, value: '.id | env' } }),
    ],
    ['if its look-up has no path to a list', server({ account: { ...account, items: '.sites' } })],
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

describe('further addresses of an API (also_at)', () => {
  const compileWith = (alsoAt: unknown, change: Change = () => undefined) =>
    compileExample((document) => {
      setMember(document, 'also_at', alsoAt);
      change(document);
    });

  test('are kept apart from the servers, so that no credential goes there', () => {
    const { template, report } = compileWith([
      'https://www.Example.com/notes/v1/',
      'https://www.example.com/notes/v1',
      'https://api.example.com/ex/{site}',
    ]);

    expect(report.errors).toEqual([]);
    expect(template?.alsoAt).toEqual([
      'https://www.example.com/notes/v1',
      'https://api.example.com/ex/{site}',
    ]);
    expect(template?.hosts).toEqual(['api.example.com']);
    expect(template?.server?.url).toBe('https://api.example.com/v1');
  });

  test('are part of the digest, and do not change the digest of a template without them', () => {
    const { template: without } = compileExample();
    const { template: withNone } = compileWith([]);
    const { template: withOne } = compileWith(['https://www.example.com']);
    const digests = [without, withNone, withOne].map((each) => each && templateDigest(each));

    expect(withNone).not.toHaveProperty('alsoAt');
    expect(digests[1]).toBe(digests[0]);
    expect(digests[2]).not.toBe(digests[0]);
  });

  test.for<[what: string, alsoAt: unknown, finding: string, message: string]>([
    ['a text', 'https://a.example', 'wrong_type /also_at', '"also_at" must be a list.'],
    [
      'eleven addresses',
      Array.from({ length: 11 }, (_, index) => `https://a${index}.example`),
      'out_of_bounds /also_at',
      'at most 10',
    ],
    ['an object', [{ url: 'https://a.example' }], 'wrong_type /also_at/0', 'Write a base URL'],
    ['plain http', ['http://a.example'], 'server_not_https /also_at/0', 'Use https.'],
    ['no URL', ['a.example/v1'], 'server_invalid /also_at/0', 'absolute URL'],
    ['a query', ['https://a.example?v=1'], 'server_invalid /also_at/0', 'query'],
    ['dot segments', ['https://a.example/v1/../v2'], 'server_invalid /also_at/0', 'dot segments'],
    [
      'a variable in the host',
      ['https://{site}.example.com/v1'],
      'server_variable /also_at/0',
      'Write the host out',
    ],
    [
      'a variable that is part of a segment',
      ['https://a.example/v{n}'],
      'server_variable /also_at/0',
      'whole segment',
    ],
  ])('are refused as %s', ([, alsoAt, finding, message]) => {
    const [error] = compileWith(alsoAt).report.errors;

    expect(`${error?.code} ${error?.path}`).toBe(finding);
    expect(error?.message).toContain(message);
  });

  test('are allowed on the document, and not on a server or for an MCP server', () => {
    const misplaced = compileExample((document) => {
      setMember(document.servers[0] ?? {}, 'x-service-also-at', ['https://a.example']);
    });
    expect(misplaced.report.errors[0]?.code).toBe('misplaced_extension');

    const { report } = compileWith(['https://a.example'], (document) => {
      setMember(document, 'runtime', 'mcp');
      setMember(document, 'mcp', { url: 'https://mcp.example.com/mcp', auth: 'none' });
      for (const key of ['servers', 'paths', 'components', 'security'])
        setMember(document, key, undefined);
    });
    expect(report.errors.map(({ code, path }) => `${code} ${path}`)).toEqual([
      'mcp_unexpected /also_at',
    ]);
  });
});
