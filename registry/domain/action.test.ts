import { describe, expect, test } from 'vitest';

import { compile, put } from '../test-support/compile-example.ts';
import type { Change } from '../test-support/compile-example.ts';
import { createNote, jsonBody, listNotes } from '../test-support/example-document.ts';
import type { ExampleDocument } from '../test-support/example-document.ts';
import type { FindingCode } from './findings.ts';

const parameters = (document: ExampleDocument) => listNotes(document)['parameters'] as object[];

describe('a schema with many alternatives', () => {
  const compileWith = (alternatives: number) =>
    compile((d) => {
      const anyOf = Array.from({ length: alternatives }, (_, at) => ({
        type: 'object',
        properties: Object.fromEntries(
          Array.from({ length: 20 }, (_each, index) => [
            `p${at}_${index}`,
            { type: 'string', maxLength: 9 },
          ]),
        ),
      }));
      const content = {
        'application/json': { schema: { type: 'object', properties: { a: { anyOf } } } },
      };
      put(createNote(d), 'requestBody', { required: true, content });
      put(createNote(d), 'x-service-disclose', undefined);
      put(createNote(d), 'x-service-redact', undefined);
      put(createNote(d), 'summary', 'Create a note');
    }).report.errors.map(({ code }) => code);

  test('is refused when no call could be checked by it in time', () => {
    expect(compileWith(200)).toContain('too_complex');
    expect(compileWith(100)).not.toContain('too_complex');
  });
});

describe('paths and operations', () => {
  test.for<[what: string, code: FindingCode, change: Change]>([
    ['a path without its slash', 'path_invalid', (d) => put(d.paths, 'notes', {})],
    ['a path with a query', 'path_invalid', (d) => put(d.paths, '/notes?a=b', {})],
    ['a path with dot segments', 'path_invalid', (d) => put(d.paths, '/a/../notes', {})],
    ['a path with empty segments', 'path_invalid', (d) => put(d.paths, '/a//notes', {})],
    ['a path with percent signs', 'path_invalid', (d) => put(d.paths, '/a%2Fb', {})],
    ['a path of 65 segments', 'path_invalid', (d) => put(d.paths, '/a'.repeat(65), {})],
    ['a placeholder twice', 'path_invalid', (d) => put(d.paths, '/{a}/{a}', {})],
    ['an unnamed placeholder', 'path_invalid', (d) => put(d.paths, '/a/{}', {})],
    [
      'the same path twice',
      'path_duplicate',
      (d) => put(d.paths, '/projects/{other}/notes', { get: {} }),
    ],
    [
      'a reference instead of a path',
      'unsupported',
      (d) => put(d.paths, '/a', { $ref: '#/components/pathItems/a' }),
    ],
    ['a server of its own', 'unsupported', (d) => put(d.paths, '/a', { servers: [] })],
    ['the method trace', 'unsupported', (d) => put(d.paths, '/a', { trace: {} })],
    ['a misspelled method', 'unknown_field', (d) => put(d.paths, '/a', { gett: {} })],
    ['a server of an operation', 'unsupported', (d) => put(listNotes(d), 'servers', [])],
    ['callbacks', 'unsupported', (d) => put(listNotes(d), 'callbacks', {})],
    [
      'no operationId',
      'required_field_missing',
      (d) => put(listNotes(d), 'operationId', undefined),
    ],
    [
      'an operationId with a colon',
      'operation_id_invalid',
      (d) => put(listNotes(d), 'operationId', 'a:b'),
    ],
    [
      'an operationId with a star',
      'operation_id_invalid',
      (d) => put(listNotes(d), 'operationId', 'a*'),
    ],
    [
      'an operationId too long',
      'operation_id_invalid',
      (d) => put(listNotes(d), 'operationId', 'a'.repeat(129)),
    ],
    [
      'an operationId of JavaScript',
      'operation_id_invalid',
      (d) => put(listNotes(d), 'operationId', 'constructor'),
    ],
    [
      'an operationId twice',
      'operation_id_duplicate',
      (d) => put(listNotes(d), 'operationId', 'create_note'),
    ],
    ['no summary', 'required_field_missing', (d) => put(listNotes(d), 'summary', undefined)],
    [
      'a summary with an open bracket',
      'summary_invalid',
      (d) => put(listNotes(d), 'summary', 'a [b {topic}'),
    ],
    [
      'a summary with an unknown parameter',
      'summary_param_unknown',
      (d) => put(listNotes(d), 'summary', '{projet}'),
    ],
    ['an unknown risk', 'risk_invalid', (d) => put(listNotes(d), 'risk', 'low')],
    [
      'a scope_param that is no parameter',
      'scope_param_unknown',
      (d) => put(listNotes(d), 'scope_param', 'projet'),
    ],
    ['a misspelled extension', 'unknown_field', (d) => put(listNotes(d), 'scope_parm', 'project')],
    ['an unknown response_type', 'wrong_type', (d) => put(listNotes(d), 'response_type', 'text')],
    ['disabled that is no flag', 'wrong_type', (d) => put(listNotes(d), 'disabled', 'yes')],
    [
      'a scope_param with a default',
      'scope_param_unsuited',
      (d) => {
        put(listNotes(d), 'scope_param', 'topic');
        put(parameters(d)[1] ?? {}, 'schema', { type: 'string', default: 'all' });
      },
    ],
    ...[
      { type: ['string', 'integer'] },
      { type: 'null' },
      { type: ['string', 'object'] },
      { anyOf: [{ type: 'string' }, { type: 'object' }] },
      { oneOf: [{ type: 'string' }, { type: 'boolean' }] },
      { enum: ['1', 1] },
      { type: 'object' },
    ].map((schema): [string, FindingCode, Change] => [
      `a scope_param that is ${JSON.stringify(schema)}`,
      'scope_param_unsuited',
      (d) => {
        put(listNotes(d), 'scope_param', 'topic');
        put(parameters(d)[1] ?? {}, 'schema', schema);
      },
    ]),
    ['multiplex that is no flag', 'wrong_type', (d) => put(listNotes(d), 'multiplex', 'yes')],
  ])('refuses %s', ([, code, change]) => {
    expect(compile(change).report.errors.map((finding) => finding.code)).toContain(code);
  });

  test.for([
    { type: 'string' },
    { type: ['integer', 'null'] },
    { enum: ['open', 'closed'] },
    {
      anyOf: [
        { type: 'string', format: 'uuid' },
        { type: 'string', pattern: '^#' },
      ],
    },
    { type: ['string', 'null'], enum: ['open'] },
    { type: 'array', items: { type: 'string' } },
  ])('takes a scope_param that is %j', (schema) => {
    const { report } = compile((d) => {
      put(listNotes(d), 'scope_param', 'topic');
      put(parameters(d)[1] ?? {}, 'schema', schema);
    });
    expect(report.errors).toEqual([]);
  });

  test.for(['multiplex', 'x-service-multiplex', 'x_service_multiplex'])(
    'reads %s: an operation that carries others',
    (name) => {
      const { template } = compile((d) => put(listNotes(d), name, true));
      expect(template?.actions['list_notes']?.multiplex).toBe(true);
    },
  );

  test('leaves out the body of a GET, which has no meaning', () => {
    const { report, template } = compile((d) =>
      put(listNotes(d), 'requestBody', jsonBody({ type: 'object' })),
    );

    expect(report).toMatchObject({ valid: true, warnings: [{ code: 'body_ignored' }] });
    expect(template?.actions['list_notes']?.body).toBeNull();
  });

  test('tells apart operations of one path that name its parameters differently', () => {
    const { report, template } = compile((d) => {
      const post = createNote(d);
      put(d.paths, '/projects/{owner}/notes', { post });
      Reflect.deleteProperty(d.paths['/projects/{project}/notes'] ?? {}, 'post');
      put(post, 'parameters', [
        { name: 'owner', in: 'path', required: true, schema: { type: 'string' } },
      ]);
      put(post, 'summary', 'Write');
      put(post, 'scope_param', 'owner');
    });

    expect(report).toEqual({ valid: true, errors: [], warnings: [] });
    expect(template?.actions['create_note']?.path).toBe('/projects/{owner}/notes');
  });

  test('suggests the parameter that was probably meant', () => {
    const { report } = compile((d) => put(listNotes(d), 'scope_param', 'projet'));

    expect(report.errors[0]?.message).toContain('Did you mean "project"?');
  });

  test.for<[what: string, code: FindingCode, change: Change]>([
    [
      'a parameter that may be absent outside of brackets',
      'summary_invalid',
      (d) => put(listNotes(d), 'summary', 'List {topic}'),
    ],
    [
      'a DELETE that is called a read',
      'risk_understated',
      (d) => put(d.paths, '/a', { delete: { operationId: 'a', summary: 'A', risk: 'read' } }),
    ],
    [
      'a list as scope_param',
      'scope_param_unsuited',
      (d) => {
        put(listNotes(d), 'scope_param', 'topic');
        put(parameters(d)[1] ?? {}, 'schema', { type: 'array', items: { type: 'string' } });
      },
    ],
  ])('warns of %s', ([, code, change]) => {
    const { report } = compile(change);

    expect(report).toMatchObject({ valid: true, warnings: [{ code }] });
  });

  test.for<[method: string, risk: string]>([
    ['get', 'read'],
    ['head', 'read'],
    ['options', 'read'],
    ['post', 'write'],
    ['put', 'write'],
    ['patch', 'write'],
    ['delete', 'delete'],
  ])('%s is of risk %s when nothing is said', ([method, risk]) => {
    const { template } = compile((d) =>
      put(d.paths, '/a', { [method]: { operationId: 'a', summary: 'A' } }),
    );

    expect(template?.actions['a']).toMatchObject({ method: method.toUpperCase(), risk });
  });

  test('compiles an action', () => {
    const { template } = compile((d) => {
      put(listNotes(d), 'response_type', 'binary');
      put(listNotes(d), 'disabled', true);
    });

    expect(template?.actions['list_notes']).toEqual({
      key: 'list_notes',
      method: 'GET',
      path: '/projects/{project}/notes',
      summary: 'List notes of {project}[ about {topic}]',
      description: [
        { text: 'List notes of ' },
        { param: 'project' },
        { optional: [{ text: ' about ' }, { param: 'topic' }] },
      ],
      risk: 'read',
      scopeParam: 'project',
      params: [
        expect.objectContaining({
          name: 'project',
          in: 'path',
          required: true,
          allowReserved: false,
        }),
        expect.objectContaining({ name: 'topic', in: 'query', required: false, explode: true }),
      ],
      paramsSchema: {
        type: 'object',
        properties: { project: { type: 'string', minLength: 1 }, topic: { type: 'string' } },
        required: ['project'],
        additionalProperties: false,
      },
      body: null,
      disclose: [],
      redact: [],
      responseType: 'binary',
      minimumScopes: null,
      disabled: true,
    });
  });
});
