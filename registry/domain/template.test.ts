import { describe, expect, test } from 'vitest';

import { compiledTemplate } from '#contracts/template';
import { compile, compileOptions, put } from '../test-support/compile-example.ts';
import type { Change } from '../test-support/compile-example.ts';
import { listNotes } from '../test-support/example-document.ts';
import type { FindingCode } from './findings.ts';
import { compileTemplate } from './template.ts';

describe('compileTemplate', () => {
  test('compiles a valid document to what the contract says', () => {
    const { report, template } = compile();

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

  test('returns the document with canonical names', () => {
    expect(compile().document).toMatchObject({ info: { 'x-service-key': 'example' } });
  });

  test('returns no template as soon as there is one error', () => {
    const { report, template } = compile((document) => put(document.info, 'key', 'Bad Key'));

    expect(report.valid).toBe(false);
    expect(template).toBeUndefined();
  });

  test('reports every mistake at once, with its line', () => {
    const { report } = compile((document) => {
      put(document, 'openapi', '3.0.3');
      put(listNotes(document), 'risk', 'harmless');
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
    ['another version of OpenAPI', 'openapi_version', (d) => put(d, 'openapi', '3.1.1')],
    ['no version of OpenAPI', 'openapi_version', (d) => put(d, 'openapi', undefined)],
    ['a misspelled field', 'unknown_field', (d) => put(d, 'path', {})],
    ['an extension on the wrong object', 'unknown_field', (d) => put(d, 'key', 'example')],
    ['an unknown extension', 'unknown_extension', (d) => put(d.info, 'x-service-kye', 'a')],
    ['two spellings of one extension', 'ambiguous_alias', (d) => put(d.info, 'x_service_key', 'a')],
    ['webhooks', 'unsupported', (d) => put(d, 'webhooks', {})],
    ['an unknown runtime', 'runtime_unsupported', (d) => put(d, 'runtime', 'grpc')],
    [
      'the runtime that is the gateway’s own',
      'runtime_unsupported',
      (d) => put(d, 'runtime', 'platform'),
    ],
    ['no info', 'required_field_missing', (d) => put(d, 'info', undefined)],
    ['no title', 'required_field_missing', (d) => put(d.info, 'title', undefined)],
    ['an empty title', 'required_field_missing', (d) => put(d.info, 'title', ' ')],
    ['a title that is no text', 'wrong_type', (d) => put(d.info, 'title', 7)],
    ['a title without end', 'out_of_bounds', (d) => put(d.info, 'title', 'x'.repeat(201))],
    ['no key', 'required_field_missing', (d) => put(d.info, 'key', undefined)],
    ['a key in upper case', 'key_invalid', (d) => put(d.info, 'key', 'Example')],
    ['a key with a colon', 'key_invalid', (d) => put(d.info, 'key', 'a:b')],
    ['a reserved key', 'key_invalid', (d) => put(d.info, 'key', 'secret')],
    ['the key http of an org', 'key_invalid', (d) => put(d.info, 'key', 'http')],
  ])('refuses %s', ([, code, change]) => {
    expect(compile(change).report.errors.map((finding) => finding.code)).toContain(code);
  });

  test('lets a built-in file claim the key http, and no other reserved one', () => {
    const builtIn = { tier: 'global', ownerId: null } as const;

    expect(compile((d) => put(d.info, 'key', 'http'), builtIn).report.valid).toBe(true);
    expect(compile((d) => put(d.info, 'key', 'org'), builtIn).report.valid).toBe(false);
  });

  test.for<[text: string]>([['[]'], ['42'], ['""'], ['null'], ['']])(
    'refuses %j as a document',
    ([text]) => {
      expect(compileTemplate(text, compileOptions)).toMatchObject({
        report: { valid: false },
        template: undefined,
      });
    },
  );
});

describe('servers', () => {
  test.for<[what: string, code: FindingCode, servers: unknown]>([
    ['none', 'required_field_missing', undefined],
    ['an empty list', 'required_field_missing', []],
    ['no list', 'wrong_type', { url: 'https://a.example.com' }],
    ['an entry that is no object', 'wrong_type', ['https://a.example.com']],
    ['plain http', 'server_not_https', [{ url: 'http://api.example.com' }]],
    ['a relative URL', 'server_invalid', [{ url: '/v1' }]],
    ['a user in the URL', 'server_invalid', [{ url: 'https://me@api.example.com' }]],
    ['a query', 'server_invalid', [{ url: 'https://api.example.com?a=b' }]],
    ['dot segments', 'server_invalid', [{ url: 'https://api.example.com/a/../b' }]],
    ['an undeclared variable', 'server_variable', [{ url: 'https://{a}.example.com' }]],
    [
      'a variable that is not used',
      'server_variable',
      [{ url: 'https://api.example.com', variables: { a: {} } }],
    ],
    [
      'a variable as the whole host',
      'server_variable',
      [{ url: 'https://{a}', variables: { a: {} } }],
    ],
    [
      'a variable below a top-level domain',
      'server_variable',
      [{ url: 'https://{a}.com', variables: { a: {} } }],
    ],
    [
      'a variable in the path',
      'server_variable',
      [{ url: 'https://api.example.com/{a}', variables: { a: {} } }],
    ],
    [
      'a variable as the end of the host',
      'server_variable',
      [{ url: 'https://api.example.{a}', variables: { a: {} } }],
    ],
    [
      'a default that is no label',
      'server_variable',
      [{ url: 'https://{a}.example.com', variables: { a: { default: 'x/y' } } }],
    ],
  ])('refuses %s', ([, code, servers]) => {
    const { report } = compile((document) => put(document, 'servers', servers));

    expect(report.errors.map((finding) => finding.code)).toEqual([code]);
  });

  test('takes the first as the base URL and the hosts of all', () => {
    const { template } = compile((document) => {
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

  test('takes plain http to a host the operator allows', () => {
    const isPlainHttpAllowed = (host: string) => host === 'localhost:4010';
    const change: Change = (document) =>
      put(document, 'servers', [{ url: 'http://localhost:4010' }]);

    expect(compile(change, { isPlainHttpAllowed }).template?.server?.url).toBe(
      'http://localhost:4010',
    );
    expect(compile(change).report.valid).toBe(false);
  });
});
