import { describe, expect, test } from 'vitest';

import { compileExample, setMember } from './compile-example.testing.ts';
import type { Change } from './compile-example.testing.ts';
import { createNote, jsonBody, listNotes } from './example-document.testing.ts';
import type { ExampleDocument } from './example-document.testing.ts';
import type { FindingCode } from '../../document/domain/findings.ts';

const parametersOf = (document: ExampleDocument) => listNotes(document)['parameters'] as object[];

describe('a schema with many alternatives', () => {
  const compileAlternatives = (alternatives: number) =>
    compileExample((d) => {
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
      setMember(createNote(d), 'requestBody', { required: true, content });
      setMember(createNote(d), 'x-service-disclose', undefined);
      setMember(createNote(d), 'x-service-redact', undefined);
      setMember(createNote(d), 'summary', 'Create a note');
    }).report.errors.map(({ code }) => code);

  test('is refused when checking a call against the schema would take too long', () => {
    expect(compileAlternatives(200)).toContain('too_complex');
    expect(compileAlternatives(100)).not.toContain('too_complex');
  });
});

describe('compiling paths and operations', () => {
  test.for<[what: string, code: FindingCode, change: Change]>([
    ['a path without a leading slash', 'path_invalid', (d) => setMember(d.paths, 'notes', {})],
    ['a path with a query', 'path_invalid', (d) => setMember(d.paths, '/notes?a=b', {})],
    ['a path with dot segments', 'path_invalid', (d) => setMember(d.paths, '/a/../notes', {})],
    ['a path with empty segments', 'path_invalid', (d) => setMember(d.paths, '/a//notes', {})],
    ['a path with percent signs', 'path_invalid', (d) => setMember(d.paths, '/a%2Fb', {})],
    ['a path of 65 segments', 'path_invalid', (d) => setMember(d.paths, '/a'.repeat(65), {})],
    ['a placeholder that occurs twice', 'path_invalid', (d) => setMember(d.paths, '/{a}/{a}', {})],
    ['an unnamed placeholder', 'path_invalid', (d) => setMember(d.paths, '/a/{}', {})],
    [
      'two paths that differ only in placeholder names',
      'path_duplicate',
      (d) => setMember(d.paths, '/projects/{other}/notes', { get: {} }),
    ],
    [
      'a reference in place of a path',
      'unsupported',
      (d) => setMember(d.paths, '/a', { $ref: '#/components/pathItems/a' }),
    ],
    [
      'no server under servers of a path',
      'server_invalid',
      (d) => setMember(d.paths, '/a', { servers: [] }),
    ],
    ['the method trace', 'unsupported', (d) => setMember(d.paths, '/a', { trace: {} })],
    ['a misspelled method', 'unknown_field', (d) => setMember(d.paths, '/a', { gett: {} })],
    [
      'no server under servers of an operation',
      'server_invalid',
      (d) => setMember(listNotes(d), 'servers', []),
    ],
    ['callbacks', 'unsupported', (d) => setMember(listNotes(d), 'callbacks', {})],
    [
      'no operationId',
      'required_field_missing',
      (d) => setMember(listNotes(d), 'operationId', undefined),
    ],
    [
      'an operationId with a colon',
      'operation_id_invalid',
      (d) => setMember(listNotes(d), 'operationId', 'a:b'),
    ],
    [
      'an operationId with a star',
      'operation_id_invalid',
      (d) => setMember(listNotes(d), 'operationId', 'a*'),
    ],
    [
      'an operationId that is too long',
      'operation_id_invalid',
      (d) => setMember(listNotes(d), 'operationId', 'a'.repeat(129)),
    ],
    [
      'an operationId that is a property of all JavaScript objects',
      'operation_id_invalid',
      (d) => setMember(listNotes(d), 'operationId', 'constructor'),
    ],
    [
      'an operationId that occurs twice',
      'operation_id_duplicate',
      (d) => setMember(listNotes(d), 'operationId', 'create_note'),
    ],
    ['no summary', 'required_field_missing', (d) => setMember(listNotes(d), 'summary', undefined)],
    [
      'a summary with an open bracket',
      'summary_invalid',
      (d) => setMember(listNotes(d), 'summary', 'a [b {topic}'),
    ],
    [
      'a summary with an unknown parameter',
      'summary_param_unknown',
      (d) => setMember(listNotes(d), 'summary', '{projet}'),
    ],
    ['an unknown risk', 'risk_invalid', (d) => setMember(listNotes(d), 'risk', 'low')],
    [
      'a scope_param that names no parameter',
      'scope_param_unknown',
      (d) => setMember(listNotes(d), 'scope_param', 'projet'),
    ],
    [
      'a misspelled extension',
      'unknown_field',
      (d) => setMember(listNotes(d), 'scope_parm', 'project'),
    ],
    [
      'an unknown response_type',
      'wrong_type',
      (d) => setMember(listNotes(d), 'response_type', 'text'),
    ],
    [
      'disabled with a value other than true or false',
      'wrong_type',
      (d) => setMember(listNotes(d), 'disabled', 'yes'),
    ],
    [
      'a scope_param with a default',
      'scope_param_unsuited',
      (d) => {
        setMember(listNotes(d), 'scope_param', 'topic');
        setMember(parametersOf(d)[1] ?? {}, 'schema', { type: 'string', default: 'all' });
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
        setMember(listNotes(d), 'scope_param', 'topic');
        setMember(parametersOf(d)[1] ?? {}, 'schema', schema);
      },
    ]),
    [
      'the extension multiplex with a value other than true or false',
      'wrong_type',
      (d) => setMember(listNotes(d), 'multiplex', 'yes'),
    ],
  ])('refuses a document with %s', ([, code, change]) => {
    expect(compileExample(change).report.errors.map((finding) => finding.code)).toContain(code);
  });

  test('says to which object an unknown field does not belong', () => {
    const { report } = compileExample((d) => setMember(listNotes(d), 'scope_parm', 'project'));
    expect(report.errors.map(({ message }) => message)).toContainEqual(
      expect.stringContaining('"scope_parm" is not a field of an operation.'),
    );
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
  ])('accepts a scope_param whose parameter has the schema %j', (schema) => {
    const { report } = compileExample((d) => {
      setMember(listNotes(d), 'scope_param', 'topic');
      setMember(parametersOf(d)[1] ?? {}, 'schema', schema);
    });
    expect(report.errors).toEqual([]);
  });

  test.for(['multiplex', 'x-service-multiplex', 'x_service_multiplex'])(
    'reads the extension %s, which marks an operation that contains other operations',
    (name) => {
      const { template } = compileExample((d) => setMember(listNotes(d), name, true));
      expect(template?.actions['list_notes']?.multiplex).toBe(true);
    },
  );

  test('ignores the requestBody of a GET operation', () => {
    const { report, template } = compileExample((d) =>
      setMember(listNotes(d), 'requestBody', jsonBody({ type: 'object' })),
    );

    expect(report).toMatchObject({ valid: true, warnings: [{ code: 'body_ignored' }] });
    expect(template?.actions['list_notes']?.body).toBeNull();
  });

  test('accepts two operations of one path whose placeholders have different names', () => {
    const { report, template } = compileExample((d) => {
      const postOperation = createNote(d);
      setMember(d.paths, '/projects/{owner}/notes', { post: postOperation });
      Reflect.deleteProperty(d.paths['/projects/{project}/notes'] ?? {}, 'post');
      setMember(postOperation, 'parameters', [
        { name: 'owner', in: 'path', required: true, schema: { type: 'string' } },
      ]);
      setMember(postOperation, 'summary', 'Write');
      setMember(postOperation, 'scope_param', 'owner');
    });

    expect(report).toEqual({ valid: true, errors: [], warnings: [] });
    expect(template?.actions['create_note']?.path).toBe('/projects/{owner}/notes');
  });

  test('suggests the most similar parameter when a scope_param is misspelled', () => {
    const { report } = compileExample((d) => setMember(listNotes(d), 'scope_param', 'projet'));

    expect(report.errors[0]?.message).toContain('Did you mean "project"?');
  });

  test.for<[what: string, code: FindingCode, change: Change]>([
    [
      'an optional parameter outside brackets in the summary',
      'summary_invalid',
      (d) => setMember(listNotes(d), 'summary', 'List {topic}'),
    ],
    [
      'a DELETE with the risk read',
      'risk_understated',
      (d) => setMember(d.paths, '/a', { delete: { operationId: 'a', summary: 'A', risk: 'read' } }),
    ],
    [
      'a scope_param that is a list',
      'scope_param_unsuited',
      (d) => {
        setMember(listNotes(d), 'scope_param', 'topic');
        setMember(parametersOf(d)[1] ?? {}, 'schema', { type: 'array', items: { type: 'string' } });
      },
    ],
  ])('warns about %s', ([, code, change]) => {
    const { report } = compileExample(change);

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
  ])(
    'gives an operation with the method %s and without x-service-risk the risk %s',
    ([method, risk]) => {
      const { template } = compileExample((d) =>
        setMember(d.paths, '/a', { [method]: { operationId: 'a', summary: 'A' } }),
      );

      expect(template?.actions['a']).toMatchObject({ method: method.toUpperCase(), risk });
    },
  );

  test('compiles all fields of an operation', () => {
    const { template } = compileExample((d) => {
      setMember(listNotes(d), 'response_type', 'binary');
      setMember(listNotes(d), 'disabled', true);
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
