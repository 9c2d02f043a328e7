import { describe, expect, test } from 'vitest';

import { compiledTemplate } from '#contracts/template';
import { compileExample, compileOptions, setMember } from './compile-example.testing.ts';
import type { Change } from './compile-example.testing.ts';
import { listNotes } from './example-document.testing.ts';
import type { FindingCode } from '../../document/domain/findings.ts';
import { compileTemplate } from './template.ts';

describe('compiling a template (compileTemplate)', () => {
  test('compiles a valid document to a template that matches the contract', () => {
    const { report, template } = compileExample();

    expect(report).toEqual({ valid: true, errors: [], warnings: [] });
    expect(compiledTemplate.parse(template)).toMatchObject({
      key: 'example',
      tier: 'org',
      ownerId: '0197e2b4-0000-7000-8000-000000000001',
      version: 3,
      title: 'Example',
      category: 'Testing',
      runtime: 'http',
      server: { url: 'https://api.example.com/v1', variables: [], baseUrlAllowed: false },
      hosts: ['api.example.com'],
      security: [['token']],
    });
  });

  test('returns the document with canonical extension names', () => {
    expect(compileExample().document).toMatchObject({ info: { 'x-service-key': 'example' } });
  });

  test('returns no template when there is an error', () => {
    const { report, template } = compileExample((document) =>
      setMember(document.info, 'key', 'Bad Key'),
    );

    expect(report.valid).toBe(false);
    expect(template).toBeUndefined();
  });

  test('reports every mistake at once, with its line', () => {
    const { report } = compileExample((document) => {
      setMember(document, 'openapi', '3.0.3');
      setMember(listNotes(document), 'risk', 'harmless');
    });

    expect(report.errors.map(({ code, path, line }) => ({ code, path, line }))).toEqual([
      { code: 'openapi_version', path: '/openapi', line: 2 },
      {
        code: 'risk_invalid',
        path: '/paths/~1projects~1{project}~1notes/get/risk',
        line: expect.any(Number),
      },
    ]);
  });

  test.for<[what: string, code: FindingCode, change: Change]>([
    [
      'an unsupported version of OpenAPI',
      'openapi_version',
      (d) => setMember(d, 'openapi', '3.1.1'),
    ],
    ['a missing OpenAPI version', 'openapi_version', (d) => setMember(d, 'openapi', undefined)],
    ['a misspelled field', 'unknown_field', (d) => setMember(d, 'path', {})],
    ['an extension on the wrong object', 'unknown_field', (d) => setMember(d, 'key', 'example')],
    ['an unknown extension', 'unknown_extension', (d) => setMember(d.info, 'x-service-kye', 'a')],
    [
      'two forms of one extension',
      'ambiguous_alias',
      (d) => setMember(d.info, 'x_service_key', 'a'),
    ],
    ['webhooks', 'unsupported', (d) => setMember(d, 'webhooks', {})],
    ['an unknown runtime', 'runtime_unsupported', (d) => setMember(d, 'runtime', 'grpc')],
    [
      'the runtime platform, which only the gateway itself has',
      'runtime_unsupported',
      (d) => setMember(d, 'runtime', 'platform'),
    ],
    ['no field info', 'required_field_missing', (d) => setMember(d, 'info', undefined)],
    ['no title', 'required_field_missing', (d) => setMember(d.info, 'title', undefined)],
    ['an empty title', 'required_field_missing', (d) => setMember(d.info, 'title', ' ')],
    ['a title that is not a string', 'wrong_type', (d) => setMember(d.info, 'title', 7)],
    [
      'a title that is too long',
      'out_of_bounds',
      (d) => setMember(d.info, 'title', 'x'.repeat(201)),
    ],
    ['no key', 'required_field_missing', (d) => setMember(d.info, 'key', undefined)],
    ['a key in upper case', 'key_invalid', (d) => setMember(d.info, 'key', 'Example')],
    ['a key with a colon', 'key_invalid', (d) => setMember(d.info, 'key', 'a:b')],
    ['a reserved key', 'key_invalid', (d) => setMember(d.info, 'key', 'secret')],
    [
      'the key http in a template of an org',
      'key_invalid',
      (d) => setMember(d.info, 'key', 'http'),
    ],
  ])('refuses a document with %s', ([, code, change]) => {
    expect(compileExample(change).report.errors.map((finding) => finding.code)).toContain(code);
  });

  test('allows a built-in file only one of the reserved keys, http', () => {
    const builtInOwner = { tier: 'global', ownerId: null } as const;

    expect(compileExample((d) => setMember(d.info, 'key', 'http'), builtInOwner).report.valid).toBe(
      true,
    );
    expect(compileExample((d) => setMember(d.info, 'key', 'org'), builtInOwner).report.valid).toBe(
      false,
    );
  });

  test.for<[text: string]>([['[]'], ['42'], ['""'], ['null'], ['']])(
    'refuses the text %j, which is not a document',
    ([text]) => {
      expect(compileTemplate(text, compileOptions)).toMatchObject({
        report: { valid: false },
        template: undefined,
      });
    },
  );
});

describe('compiling the servers of a template', () => {
  test.for<[what: string, code: FindingCode, servers: unknown]>([
    ['no field servers', 'required_field_missing', undefined],
    ['an empty list of servers', 'required_field_missing', []],
    ['servers that are not a list', 'wrong_type', { url: 'https://a.example.com' }],
    ['a server that is not an object', 'wrong_type', ['https://a.example.com']],
    ['a plain http server', 'server_not_https', [{ url: 'http://api.example.com' }]],
    ['a relative server URL', 'server_invalid', [{ url: '/v1' }]],
    ['a user name in the server URL', 'server_invalid', [{ url: 'https://me@api.example.com' }]],
    ['a query in the server URL', 'server_invalid', [{ url: 'https://api.example.com?a=b' }]],
    [
      'dot segments in the server URL',
      'server_invalid',
      [{ url: 'https://api.example.com/a/../b' }],
    ],
    ['an undeclared variable', 'server_variable', [{ url: 'https://{a}.example.com' }]],
    [
      'an unused variable',
      'server_variable',
      [{ url: 'https://api.example.com', variables: { a: {} } }],
    ],
    [
      'a variable as the whole host',
      'server_variable',
      [{ url: 'https://{a}', variables: { a: {} } }],
    ],
    [
      'a variable directly below a top-level domain',
      'server_variable',
      [{ url: 'https://{a}.com', variables: { a: {} } }],
    ],
    [
      'a variable as a part of a path segment',
      'server_variable',
      [{ url: 'https://api.example.com/v{a}', variables: { a: {} } }],
    ],
    [
      'a variable in the query',
      'server_variable',
      [{ url: 'https://api.example.com/{a}?b={a}', variables: { a: {} } }],
    ],
    [
      'a variable twice in the path',
      'server_variable',
      [{ url: 'https://api.example.com/{a}/{a}', variables: { a: {} } }],
    ],
    [
      'a variable in the host and in the path',
      'server_variable',
      [{ url: 'https://{a}.example.com/{a}', variables: { a: {} } }],
    ],
    [
      'a default that is a dot segment of the path',
      'server_variable',
      [{ url: 'https://api.example.com/{a}', variables: { a: { default: '..' } } }],
    ],
    [
      'a variable as the end of the host',
      'server_variable',
      [{ url: 'https://api.example.{a}', variables: { a: {} } }],
    ],
    [
      'a default that is not a label',
      'server_variable',
      [{ url: 'https://{a}.example.com', variables: { a: { default: 'x/y' } } }],
    ],
  ])('refuses a document with %s', ([, code, servers]) => {
    const { report } = compileExample((document) => setMember(document, 'servers', servers));

    expect(report.errors.map((finding) => finding.code)).toEqual([code]);
  });

  test('uses the first server as the base URL, and keeps the hosts of all servers', () => {
    const { template } = compileExample((document) => {
      document.servers = [
        { url: 'https://{site}.example.com/', variables: { site: { description: 'Your site' } } },
        { url: 'https://API.example.com:8443/v1/' },
        { url: 'https://uploads.example.com' },
      ];
    });

    expect(template).toMatchObject({
      server: {
        url: 'https://{site}.example.com',
        variables: [{ name: 'site', description: 'Your site', default: null, enum: null }],
      },
      hosts: ['api.example.com:8443', 'uploads.example.com'],
    });
  });

  test('keeps the host of a server that has variables in its path alone', () => {
    const { template } = compileExample((document) => {
      document.servers = [
        { url: 'https://api.example.com/ex/{tenant}', variables: { tenant: { default: '' } } },
      ];
    });

    expect(template).toMatchObject({
      server: {
        url: 'https://api.example.com/ex/{tenant}',
        variables: [{ name: 'tenant', default: null }],
      },
      hosts: ['api.example.com'],
    });
  });

  test('accepts plain http for a host that the operator allows', () => {
    const isPlainHttpAllowed = (host: string) => host === 'localhost:4010';
    const change: Change = (document) =>
      setMember(document, 'servers', [{ url: 'http://localhost:4010' }]);

    expect(compileExample(change, { isPlainHttpAllowed }).template?.server?.url).toBe(
      'http://localhost:4010',
    );
    expect(compileExample(change).report.valid).toBe(false);
  });
});
