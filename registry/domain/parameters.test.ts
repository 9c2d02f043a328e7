import { describe, expect, test } from 'vitest';

import { compile, put } from '../test-support/compile-example.ts';
import { createNote, listNotes } from '../test-support/example-document.ts';
import type { ExampleDocument } from '../test-support/example-document.ts';
import type { FindingCode } from './findings.ts';

/** The example with one more parameter on `list_notes`. */
function compileWith(
  parameter: Record<string, unknown>,
  more: (d: ExampleDocument) => void = () => undefined,
) {
  const { report, template } = compile((document) => {
    (listNotes(document)['parameters'] as unknown[]).push(parameter);
    more(document);
  });
  const action = template?.actions['list_notes'];
  const name = String(parameter['name'] ?? 'shared');
  return { report, action, param: action?.params.find((candidate) => candidate.name === name) };
}

describe('parameters', () => {
  const text = { type: 'string' };

  test.for<[what: string, code: FindingCode, parameter: Record<string, unknown>]>([
    ['without name', 'required_field_missing', { in: 'query', schema: text }],
    ['without schema', 'required_field_missing', { name: 'a', in: 'query' }],
    ['without type', 'required_field_missing', { name: 'a', in: 'query', schema: {} }],
    [
      'with a schema that is no schema',
      'schema_invalid',
      { name: 'a', in: 'query', schema: 'string' },
    ],
    [
      'with an unknown type',
      'schema_invalid',
      { name: 'a', in: 'query', schema: { type: 'text' } },
    ],
    [
      'with a pattern that is none',
      'schema_invalid',
      { name: 'a', in: 'query', schema: { type: 'string', pattern: '(' } },
    ],
    ['described by no content', 'unsupported', { name: 'a', in: 'query', content: {} }],
    [
      'described by content that is no JSON',
      'unsupported',
      { name: 'a', in: 'query', content: { 'application/xml': { schema: text } } },
    ],
    [
      'described by content without type',
      'required_field_missing',
      { name: 'a', in: 'query', content: { 'application/json': {} } },
    ],
    [
      'with a constant that its own schema refuses',
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
      'that changes the method as a member',
      'parameter_invalid',
      { name: '_method[]', in: 'query', schema: text },
    ],
    [
      'that changes the method',
      'parameter_invalid',
      { name: '_method', in: 'query', schema: text },
    ],
    [
      'that must override the method',
      'header_not_allowed',
      { name: 'X_HTTP_Method_Override', in: 'header', required: true, schema: text },
    ],
    [
      'that must set a cookie',
      'header_not_allowed',
      { name: 'Cookie', in: 'header', required: true, schema: text },
    ],
    [
      'that must speak for a proxy',
      'header_not_allowed',
      { name: 'X-Forwarded-Host', in: 'header', required: true, schema: text },
    ],
    ['that is no header name', 'header_not_allowed', { name: 'a:b', in: 'header', schema: text }],
    ['twice', 'parameter_duplicate', { name: 'topic', in: 'query', schema: text }],
    [
      'of a path that has no such place',
      'path_param_unused',
      { name: 'a', in: 'path', required: true, schema: text },
    ],
    [
      'of a path that is not required',
      'parameter_invalid',
      { name: 'a', in: 'path', schema: text },
    ],
    ['by a remote reference', 'ref_remote', { $ref: 'https://example.com/a.yaml#/b' }],
    ['by a reference to a file', 'ref_remote', { $ref: './a.yaml' }],
    ['by a reference to nothing', 'ref_not_found', { $ref: '#/components/parameters/none' }],
    ['by a reference to an inherited property', 'ref_not_found', { $ref: '#/components/toString' }],
    [
      'with a look-up on another host',
      'resolve_invalid',
      { name: 'a', in: 'query', schema: text, resolve: { get: 'https://evil.com/{a}', pick: 'b' } },
    ],
    [
      'with a look-up by a protocol-relative URL',
      'resolve_invalid',
      { name: 'a', in: 'query', schema: text, resolve: { get: '//evil.com/{a}', pick: 'b' } },
    ],
    [
      'with a look-up with dot segments',
      'resolve_invalid',
      { name: 'a', in: 'query', schema: text, resolve: { get: '/../{a}', pick: 'b' } },
    ],
    [
      'with a look-up by an unknown parameter',
      'resolve_invalid',
      { name: 'a', in: 'query', schema: text, resolve: { get: '/users/{user}', pick: 'b' } },
    ],
    [
      'with a look-up that picks nothing',
      'required_field_missing',
      { name: 'a', in: 'query', schema: text, resolve: { get: '/users/{a}' } },
    ],
    [
      'with a look-up that picks by a malformed path',
      'resolve_invalid',
      { name: 'a', in: 'query', schema: text, resolve: { get: '/users/{a}', pick: 'a..b' } },
    ],
  ])('are refused %s', ([, code, parameter]) => {
    const { report } = compileWith(parameter);

    expect(report.errors.map((finding) => finding.code)).toContain(code);
  });

  test('must be declared for every placeholder of the path', () => {
    const { report } = compile((d) => put(listNotes(d), 'parameters', []));

    expect(report.errors.map((finding) => finding.code)).toContain('path_param_undeclared');
  });

  test('of the path item hold for its operations, which may replace them', () => {
    const { template } = compile((d) => {
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
      put(createNote(d), 'parameters', undefined);
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

  test('show agents their description', () => {
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

  test('that are constant are sent without being asked for', () => {
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

  test('that are required but have a default need not be given', () => {
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

  test('keep how lists and reserved characters are written', () => {
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
    ['anything in a cookie', { name: 'session', in: 'cookie', required: true }],
  ])('that would set %s are dropped with a warning', ([, parameter]) => {
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
  ])('of %j have the style %s', ([parameter, style, explode]) => {
    const list = { type: 'array', items: text };
    const { report, param } = compileWith({ name: 'a', schema: list, ...parameter });

    expect(report).toEqual({ valid: true, errors: [], warnings: [] });
    expect(param).toMatchObject({ style, explode });
  });

  test('of a style that their place does not have are written as usual there', () => {
    const { report, param } = compileWith({
      name: 'a',
      in: 'query',
      style: 'matrix',
      schema: text,
    });

    expect(report).toMatchObject({ valid: true, warnings: [{ code: 'style_ignored' }] });
    expect(param).toMatchObject({ style: 'form', explode: true });
  });

  test('described by JSON content are written as JSON text', () => {
    const content = { 'application/json': { schema: { type: 'object' } } };
    const { report, param } = compileWith({ name: 'a', in: 'query', content });

    expect(report.valid).toBe(true);
    expect(param).toMatchObject({ style: 'json', schema: { type: 'object' } });
  });

  test('may be called anything that can be read', () => {
    const { param } = compileWith({ name: 'filter[größe] $top', in: 'query', schema: text });

    expect(param).toMatchObject({ name: 'filter[größe] $top', wireName: 'filter[größe] $top' });
  });

  test('with a default that their own schema refuses leave it to the server', () => {
    const schema = { type: 'string', enum: ['x'], default: 'y' };
    const { report, param } = compileWith({ name: 'a', in: 'query', schema });

    expect(report).toMatchObject({ valid: true, warnings: [{ code: 'default_ignored' }] });
    expect(param?.schema).toEqual({ type: 'string', enum: ['x'] });
  });

  test('with a default that would be searched for ever are compiled all the same', () => {
    const schema = { type: 'string', pattern: '^(a+)+$', default: `${'a'.repeat(40)}!` };
    const { report } = compileWith({ name: 'a', in: 'query', schema });

    expect(report).toMatchObject({ valid: true, warnings: [{ code: 'default_ignored' }] });
  });

  test('of one name in several places keep it in the first, and are called after theirs in the others', () => {
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

  test('keep how their value becomes a readable name', () => {
    const resolve = { get: '/users/{a}?fields=name&project={project}', pick: 'user.0.name' };
    const { param } = compileWith({ name: 'a', in: 'query', schema: text, resolve });

    expect(param?.resolve).toEqual(resolve);
  });

  test('may be shared by reference', () => {
    const { param } = compileWith({ $ref: '#/components/parameters/shared' }, (d) => {
      put(d.components, 'parameters', { shared: { name: 'shared', in: 'query', schema: text } });
    });

    expect(param).toMatchObject({ name: 'shared', in: 'query' });
  });
});
