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
    ['in a cookie', 'parameter_invalid', { name: 'a', in: 'cookie', schema: text }],
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
    [
      'with a default that its own schema refuses',
      'schema_invalid',
      { name: 'a', in: 'query', schema: { type: 'string', enum: ['x'], default: 'y' } },
    ],
    ['described by content', 'unsupported', { name: 'a', in: 'query', content: {} }],
    [
      'of another style',
      'unsupported',
      { name: 'a', in: 'query', style: 'deepObject', schema: text },
    ],
    [
      'with a misspelled field',
      'unknown_field',
      { name: 'a', in: 'query', requierd: true, schema: text },
    ],
    ['called __proto__', 'parameter_invalid', { name: '__proto__', in: 'query', schema: text }],
    ['called constructor', 'parameter_invalid', { name: 'constructor', in: 'query', schema: text }],
    ['with a space in its name', 'parameter_invalid', { name: 'a b', in: 'query', schema: text }],
    [
      'that changes the method',
      'parameter_invalid',
      { name: '_method', in: 'query', schema: text },
    ],
    [
      'that overrides the method',
      'header_not_allowed',
      { name: 'X-HTTP-Method-Override', in: 'header', schema: text },
    ],
    [
      'that sets the credential',
      'header_not_allowed',
      { name: 'authorization', in: 'header', schema: text },
    ],
    ['that sets the host', 'header_not_allowed', { name: 'Host', in: 'header', schema: text }],
    ['that sets a cookie', 'header_not_allowed', { name: 'Cookie', in: 'header', schema: text }],
    [
      'that frames the request',
      'header_not_allowed',
      { name: 'Transfer-Encoding', in: 'header', schema: text },
    ],
    [
      'that speaks for a proxy',
      'header_not_allowed',
      { name: 'X-Forwarded-Host', in: 'header', schema: text },
    ],
    ['that is no header name', 'header_not_allowed', { name: 'a:b', in: 'header', schema: text }],
    ['twice', 'parameter_duplicate', { name: 'topic', in: 'query', schema: text }],
    [
      'of the same name elsewhere',
      'parameter_duplicate',
      { name: 'project', in: 'query', schema: text },
    ],
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

  test('called Accept or Content-Type are dropped with a warning, as OpenAPI says', () => {
    const { report, param } = compileWith({ name: 'Accept', in: 'header', schema: text });

    expect(report).toMatchObject({ valid: true, warnings: [{ code: 'parameter_ignored' }] });
    expect(param).toBeUndefined();
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
