import { describe, expect, test } from 'vitest';

import { compileExample, setMember } from './compile-example.testing.ts';
import { createNote, listNotes } from './example-document.testing.ts';
import type { ExampleDocument } from './example-document.testing.ts';
import type { FindingCode } from '../../document/domain/findings.ts';

/** Compiles the example document with an additional parameter of the operation `list_notes`. */
function compileWith(
  parameter: Record<string, unknown>,
  changeDocument: (d: ExampleDocument) => void = () => undefined,
) {
  const { report, template } = compileExample((document) => {
    (listNotes(document)['parameters'] as unknown[]).push(parameter);
    changeDocument(document);
  });
  const action = template?.actions['list_notes'];
  const name = String(parameter['name'] ?? 'shared');
  return { report, action, param: action?.params.find((candidate) => candidate.name === name) };
}

describe('compiling parameters', () => {
  const text = { type: 'string' };

  test.for<[what: string, code: FindingCode, parameter: Record<string, unknown>]>([
    ['without name', 'required_field_missing', { in: 'query', schema: text }],
    ['without schema', 'required_field_missing', { name: 'a', in: 'query' }],
    ['without type', 'required_field_missing', { name: 'a', in: 'query', schema: {} }],
    ['with an invalid schema', 'schema_invalid', { name: 'a', in: 'query', schema: 'string' }],
    [
      'with an unknown type',
      'schema_invalid',
      { name: 'a', in: 'query', schema: { type: 'text' } },
    ],
    [
      'with an invalid pattern',
      'schema_invalid',
      { name: 'a', in: 'query', schema: { type: 'string', pattern: '(' } },
    ],
    ['with empty content', 'unsupported', { name: 'a', in: 'query', content: {} }],
    [
      'with content other than JSON',
      'unsupported',
      { name: 'a', in: 'query', content: { 'application/xml': { schema: text } } },
    ],
    [
      'with content that has no type',
      'required_field_missing',
      { name: 'a', in: 'query', content: { 'application/json': {} } },
    ],
    [
      'with a constant that does not match its schema',
      'schema_invalid',
      { name: 'a', in: 'query', schema: { type: 'string', const: 7 } },
    ],
    [
      'with a misspelled field',
      'unknown_field',
      { name: 'a', in: 'query', requierd: true, schema: text },
    ],
    ['called __proto__', 'parameter_invalid', { name: '__proto__', in: 'query', schema: text }],
    ['called constructor', 'parameter_invalid', { name: 'constructor', in: 'query', schema: text }],
    [
      'with a line feed in its name',
      'parameter_invalid',
      { name: 'a\nb', in: 'query', schema: text },
    ],
    [
      'with a bidirectional mark in its name',
      'parameter_invalid',
      { name: 'a\u202eb', in: 'query', schema: text },
    ],
    [
      'named _method[], which some servers read as the method',
      'parameter_invalid',
      { name: '_method[]', in: 'query', schema: text },
    ],
    [
      'named _method, which some servers read as the method',
      'parameter_invalid',
      { name: '_method', in: 'query', schema: text },
    ],
    [
      'that is required and overrides the method',
      'header_not_allowed',
      { name: 'X_HTTP_Method_Override', in: 'header', required: true, schema: text },
    ],
    [
      'that is required and names a second resource',
      'header_not_allowed',
      { name: 'x-amz-copy-source', in: 'header', required: true, schema: text },
    ],
    [
      'that is required and sets a cookie',
      'header_not_allowed',
      { name: 'Cookie', in: 'header', required: true, schema: text },
    ],
    [
      'that is required and set by proxies',
      'header_not_allowed',
      { name: 'X-Forwarded-Host', in: 'header', required: true, schema: text },
    ],
    [
      'with an invalid header name',
      'header_not_allowed',
      { name: 'a:b', in: 'header', schema: text },
    ],
    ['declared twice', 'parameter_duplicate', { name: 'topic', in: 'query', schema: text }],
    [
      'in a path without its placeholder',
      'path_param_unused',
      { name: 'a', in: 'path', required: true, schema: text },
    ],
    ['in a path but not required', 'parameter_invalid', { name: 'a', in: 'path', schema: text }],
    ['with a remote reference', 'ref_remote', { $ref: 'https://example.com/a.yaml#/b' }],
    ['with a reference to a file', 'ref_remote', { $ref: './a.yaml' }],
    ['with a reference without target', 'ref_not_found', { $ref: '#/components/parameters/none' }],
    [
      'with a reference to an inherited property',
      'ref_not_found',
      { $ref: '#/components/toString' },
    ],
    [
      'with a resolve request to another host',
      'resolve_invalid',
      { name: 'a', in: 'query', schema: text, resolve: { get: 'https://evil.com/{a}', pick: 'b' } },
    ],
    [
      'with a resolve request to a protocol-relative URL',
      'resolve_invalid',
      { name: 'a', in: 'query', schema: text, resolve: { get: '//evil.com/{a}', pick: 'b' } },
    ],
    [
      'with a resolve request whose path has dot segments',
      'resolve_invalid',
      { name: 'a', in: 'query', schema: text, resolve: { get: '/../{a}', pick: 'b' } },
    ],
    [
      'with a resolve request that uses an unknown parameter',
      'resolve_invalid',
      { name: 'a', in: 'query', schema: text, resolve: { get: '/users/{user}', pick: 'b' } },
    ],
    [
      'with a resolve request that picks nothing from the answer',
      'required_field_missing',
      { name: 'a', in: 'query', schema: text, resolve: { get: '/users/{a}' } },
    ],
    [
      'with a resolve request that picks by a malformed path',
      'resolve_invalid',
      { name: 'a', in: 'query', schema: text, resolve: { get: '/users/{a}', pick: 'a..b' } },
    ],
  ])('refuses a parameter %s', ([, code, parameter]) => {
    const { report } = compileWith(parameter);

    expect(report.errors.map((finding) => finding.code)).toContain(code);
  });

  test('refuses a path with an undeclared placeholder', () => {
    const { report } = compileExample((d) => setMember(listNotes(d), 'parameters', []));

    expect(report.errors.map((finding) => finding.code)).toContain('path_param_undeclared');
  });

  test('applies parameters of a path to its operations, which may override them', () => {
    const { template } = compileExample((d) => {
      const item: Record<string, unknown> = d.paths['/projects/{project}/notes'] ?? {};
      item['parameters'] = [
        {
          name: 'project',
          in: 'path',
          required: true,
          description: 'shared',
          schema: { type: 'string' },
        },
        { name: 'page', in: 'query', schema: { type: 'integer' } },
      ];
      setMember(createNote(d), 'parameters', undefined);
    });

    expect(template?.actions['create_note']?.params.slice(0, 2)).toEqual([
      expect.objectContaining({ name: 'project', description: 'shared' }),
      expect.objectContaining({ name: 'page' }),
    ]);
    expect(
      template?.actions['list_notes']?.params.map(({ name, description }) => [name, description]),
    ).toEqual([
      ['page', ''],
      ['project', ''],
      ['topic', ''],
    ]);
  });

  test('keeps the description of a parameter for agents', () => {
    const { action } = compileWith({
      name: 'a',
      in: 'query',
      description: 'What it does.',
      schema: text,
    });

    expect(action?.paramsSchema['properties']).toMatchObject({
      a: { description: 'What it does.' },
    });
  });

  test('turns a constant into a default that callers do not see', () => {
    const header = {
      name: 'Api-Version',
      in: 'header',
      required: true,
      schema: { type: 'string', const: '7' },
    };
    const { report, action, param } = compileWith(header);

    expect(report).toEqual({ valid: true, errors: [], warnings: [] });
    expect(param).toMatchObject({
      in: 'header',
      required: false,
      schema: { const: '7', default: '7' },
    });
    expect(action?.paramsSchema['properties']).not.toHaveProperty('Api-Version');
  });

  test('makes a required parameter with a default optional for callers', () => {
    const { action, param } = compileWith({
      name: 'a',
      in: 'query',
      required: true,
      schema: { type: 'integer', default: 10 },
    });

    expect(param?.required).toBe(false);
    expect(action?.paramsSchema['required']).toEqual(['project']);
    expect(action?.paramsSchema['properties']).toHaveProperty('a');
  });

  test('keeps the values of style, explode and allowReserved', () => {
    const list = { type: 'array', items: { type: 'string' } };
    const { param } = compileWith({
      name: 'a',
      in: 'query',
      explode: false,
      allowReserved: true,
      schema: list,
    });

    expect(param).toMatchObject({ explode: false, allowReserved: true });
  });

  test.for<[what: string, parameter: Record<string, unknown>]>([
    ['Accept, as OpenAPI says', { name: 'Accept', in: 'header' }],
    ['Content-Type, as OpenAPI says', { name: 'content-type', in: 'header' }],
    ['Authorization, as OpenAPI says', { name: 'Authorization', in: 'header', required: true }],
    ['Host, which the gateway sets', { name: 'Host', in: 'header', required: true }],
    ['Content-Length, which the gateway sets', { name: 'Content-Length', in: 'header' }],
    [
      'X-HTTP-Method-Override, unless it must be sent',
      { name: 'X-HTTP-Method-Override', in: 'header' },
    ],
    ['Cookie, unless it must be sent', { name: 'Cookie', in: 'header' }],
    ['X-Forwarded-For, unless it must be sent', { name: 'X-Forwarded-For', in: 'header' }],
    ['a cookie', { name: 'session', in: 'cookie', required: true }],
  ])('drops a parameter that would set %s, with a warning', ([, parameter]) => {
    const { report, param } = compileWith({ schema: text, ...parameter });

    expect(report).toMatchObject({ valid: true, warnings: [{ code: 'parameter_ignored' }] });
    expect(param).toBeUndefined();
  });

  test.for<[parameter: Record<string, unknown>, style: string, explode: boolean]>([
    [{ in: 'query' }, 'form', true],
    [{ in: 'query', explode: false }, 'form', false],
    [{ in: 'query', style: 'spaceDelimited' }, 'spaceDelimited', false],
    [{ in: 'query', style: 'pipeDelimited', explode: true }, 'pipeDelimited', true],
    [{ in: 'query', style: 'deepObject' }, 'deepObject', true],
    [{ in: 'header' }, 'simple', false],
    [{ in: 'header', explode: true }, 'simple', true],
  ])(
    'compiles a list parameter of %j to the style %s, explode %s',
    ([parameter, style, explode]) => {
      const list = { type: 'array', items: text };
      const { report, param } = compileWith({ name: 'a', schema: list, ...parameter });

      expect(report).toEqual({ valid: true, errors: [], warnings: [] });
      expect(param).toMatchObject({ style, explode });
    },
  );

  test('replaces a style that the location does not support by the default style', () => {
    const { report, param } = compileWith({
      name: 'a',
      in: 'query',
      style: 'matrix',
      schema: text,
    });

    expect(report).toMatchObject({ valid: true, warnings: [{ code: 'style_ignored' }] });
    expect(param).toMatchObject({ style: 'form', explode: true });
  });

  test('marks a parameter with JSON content as JSON text', () => {
    const content = { 'application/json': { schema: { type: 'object' } } };
    const { report, param } = compileWith({ name: 'a', in: 'query', content });

    expect(report.valid).toBe(true);
    expect(param).toMatchObject({ style: 'json', schema: { type: 'object' } });
  });

  test('accepts a parameter name with spaces, punctuation and non-ASCII letters', () => {
    const { param } = compileWith({ name: 'filter[größe] $top', in: 'query', schema: text });

    expect(param).toMatchObject({ name: 'filter[größe] $top', wireName: 'filter[größe] $top' });
  });

  test('drops a default that does not match its own schema', () => {
    const schema = { type: 'string', enum: ['x'], default: 'y' };
    const { report, param } = compileWith({ name: 'a', in: 'query', schema });

    expect(report).toMatchObject({ valid: true, warnings: [{ code: 'default_ignored' }] });
    expect(param?.schema).toEqual({ type: 'string', enum: ['x'] });
  });

  test('checks a default against a slow pattern in a short time', () => {
    const schema = { type: 'string', pattern: '^(a+)+$', default: `${'a'.repeat(40)}!` };
    const { report } = compileWith({ name: 'a', in: 'query', schema });

    expect(report).toMatchObject({ valid: true, warnings: [{ code: 'default_ignored' }] });
  });

  test('renames parameters that share a name, except the one in the first location', () => {
    const { report, action } = compileWith({ name: 'project', in: 'header', schema: text }, (d) => {
      (listNotes(d)['parameters'] as unknown[]).push(
        { name: 'project', in: 'query', schema: text },
        { name: 'query_project', in: 'query', schema: text },
      );
    });

    expect(report).toMatchObject({
      valid: true,
      warnings: [{ code: 'parameter_renamed' }, { code: 'parameter_renamed' }],
    });
    expect(action?.params.map((param) => [param.name, param.in, param.wireName])).toEqual([
      ['project', 'path', 'project'],
      ['topic', 'query', 'topic'],
      ['header_project', 'header', 'project'],
      ['query_project_2', 'query', 'project'],
      ['query_project', 'query', 'query_project'],
    ]);
    expect(Object.keys(action?.paramsSchema['properties'] ?? {})).toContain('query_project_2');
  });

  test('keeps the extension resolve of a parameter', () => {
    const resolve = { get: '/users/{a}?fields=name&project={project}', pick: 'user.0.name' };
    const { param } = compileWith({ name: 'a', in: 'query', schema: text, resolve });

    expect(param?.resolve).toEqual(resolve);
  });

  test('follows references to shared parameters', () => {
    const { param } = compileWith({ $ref: '#/components/parameters/shared' }, (d) => {
      setMember(d.components, 'parameters', {
        shared: { name: 'shared', in: 'query', schema: text },
      });
    });

    expect(param).toMatchObject({ name: 'shared', in: 'query' });
  });
});
