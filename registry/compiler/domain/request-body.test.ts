import { describe, expect, test } from 'vitest';

import type { CompiledAction } from '#contracts/template';
import { compileExample, setMember } from './compile-example.testing.ts';
import { createNote, jsonBody } from './example-document.testing.ts';
import type { ExampleDocument } from './example-document.testing.ts';
import type { FindingCode } from '../../document/domain/findings.ts';

function compileBody(body: unknown, more: (d: ExampleDocument) => void = () => undefined) {
  const { report, template } = compileExample((document) => {
    setMember(createNote(document), 'requestBody', body);
    setMember(createNote(document), 'summary', 'Write');
    setMember(createNote(document), 'redact', undefined);
    more(document);
  });
  return { report, action: template?.actions['create_note'] };
}

function listBodyParams(action: CompiledAction | undefined): string[] {
  return (action?.params ?? []).filter((param) => param.in === 'body').map((param) => param.name);
}

/** Compiles the document and returns its action `create_note`. */
function createNoteOperationOf(d: ExampleDocument): object {
  return Object.values(d.paths)[0]?.['post'] ?? {};
}

const note = {
  type: 'object',
  required: ['title'],
  properties: {
    title: { type: 'string', description: 'In one line.' },
    text: { type: 'string' },
    id: { type: 'string', readOnly: true },
  },
};

describe('compiling request bodies', () => {
  test('turns an object into one parameter per property', () => {
    const { report, action } = compileBody(jsonBody(note));

    expect(report).toEqual({ valid: true, errors: [], warnings: [] });
    expect(action?.body).toEqual({
      mediaType: 'application/json',
      wholeBody: false,
      required: true,
      parts: {},
    });
    expect(listBodyParams(action)).toEqual(['title', 'text']);
    expect(action?.paramsSchema).toEqual({
      type: 'object',
      properties: {
        project: { type: 'string', minLength: 1 },
        title: { type: 'string', description: 'In one line.' },
        text: { type: 'string' },
      },
      required: ['project', 'title'],
      additionalProperties: false,
    });
  });

  test('requires all required properties of an optional body when one property is given', () => {
    const { action } = compileBody(jsonBody(note, false));

    expect(action?.paramsSchema).toMatchObject({
      required: ['project'],
      dependentRequired: { title: [], text: ['title'] },
    });
  });

  test('keeps the condition that at least one of several properties is given', () => {
    const anyOf = [{ required: ['title'] }, { required: ['text'] }];
    const { action } = compileBody(jsonBody({ ...note, required: [], anyOf }));

    expect(action?.body?.wholeBody).toBe(false);
    expect(action?.paramsSchema).toMatchObject({ anyOf });
  });

  test.for<[what: string, schema: unknown]>([
    ['a list', { type: 'array', items: { type: 'string' } }],
    ['a text', { type: 'string' }],
    ['an object without properties', { type: 'object' }],
    ['an object with additional properties', { ...note, additionalProperties: true }],
    ['an object with alternatives', { ...note, oneOf: [{ properties: { a: {} } }] }],
    ['an object with conditions', { ...note, if: { required: ['text'] } }],
    ['an object with minProperties: 2', { ...note, minProperties: 2 }],
    ['an object that requires an undeclared property', { ...note, required: ['colour'] }],
    ['an allOf with additional properties', { allOf: [note, { additionalProperties: true }] }],
    ['an allOf with overlapping properties', { allOf: [note, note] }],
  ])('makes one parameter of a body that is %s', ([, schema]) => {
    const { report, action } = compileBody(jsonBody(schema));

    expect(report.valid).toBe(true);
    expect(action?.body).toEqual({
      mediaType: 'application/json',
      wholeBody: true,
      required: true,
      parts: {},
    });
    expect(listBodyParams(action)).toEqual(['body']);
    expect(action?.paramsSchema['required']).toEqual(['project', 'body']);
  });

  test('renames a property that has the name of a parameter', () => {
    const schema = {
      type: 'object',
      required: ['project'],
      properties: { project: { type: 'string' }, text: { type: 'string' } },
      anyOf: [{ required: ['project'] }, { required: ['text'] }],
    };
    const { report, action } = compileBody(jsonBody(schema));

    expect(report).toMatchObject({ valid: true, warnings: [{ code: 'parameter_renamed' }] });
    expect(action?.params.at(-2)).toMatchObject({ name: 'body_project', wireName: 'project' });
    expect(action?.paramsSchema).toMatchObject({
      required: ['project', 'body_project'],
      anyOf: [{ required: ['body_project'] }, { required: ['text'] }],
    });
  });

  test('calls the single parameter for a whole body "body", and renames other parameters of that name', () => {
    const { action } = compileBody(jsonBody({ type: 'array' }), (d) => {
      const item = d.paths['/projects/{project}/notes'] ?? {};
      delete d.paths['/projects/{project}/notes'];
      d.paths['/projects/{body}/notes'] = { post: item['post'] ?? {} };
      setMember(createNoteOperationOf(d), 'scope_param', 'path_body');
      setMember(createNoteOperationOf(d), 'parameters', [
        { name: 'body', in: 'path', required: true, schema: { type: 'string' } },
        { name: 'body', in: 'query', schema: { type: 'string' } },
      ]);
    });

    expect(action?.path).toBe('/projects/{path_body}/notes');
    expect(action?.params.map((param) => param.name)).toEqual(['path_body', 'query_body', 'body']);
  });

  test('splits an allOf of plain objects as if it were one object', () => {
    const more = { type: 'object', required: ['owner'], properties: { owner: { type: 'string' } } };
    const { action } = compileBody(
      jsonBody({ allOf: [{ $ref: '#/components/schemas/Note' }, more] }),
      (d) => {
        d.components.schemas['Note'] = note;
      },
    );

    expect(listBodyParams(action)).toEqual(['title', 'text', 'owner']);
    expect(action?.paramsSchema['required']).toEqual(['project', 'title', 'owner']);
  });

  test('turns minProperties: 1 into the condition that at least one of the properties is given', () => {
    const { action } = compileBody(jsonBody({ ...note, required: [], minProperties: 1 }));

    expect(action?.paramsSchema['anyOf']).toEqual([
      { required: ['title'] },
      { required: ['text'] },
    ]);
  });

  test('makes one parameter of an optional body that has conditions', () => {
    const anyOf = [{ required: ['title'] }, { required: ['text'] }];
    const { action } = compileBody(jsonBody({ ...note, required: [], anyOf }, false));

    expect(listBodyParams(action)).toEqual(['body']);
  });

  test('describes files as base64 text with a size limit', () => {
    const file = { type: 'string', format: 'binary', description: 'The picture.' };
    const schema = {
      type: 'object',
      properties: {
        picture: file,
        others: { type: 'array', items: { type: 'string', contentMediaType: 'image/png' } },
        name: { type: 'string' },
      },
    };
    const encoding = { picture: { contentType: 'image/*, image/png' }, name: { style: 'form' } };
    const { report, action } = compileBody({
      required: true,
      content: { 'multipart/form-data': { schema, encoding } },
    });

    expect(report).toEqual({ valid: true, errors: [], warnings: [] });
    expect(action?.body?.parts).toMatchObject({
      picture: { isBinary: true, contentType: 'image/png' },
      others: { isBinary: true, contentType: null },
      name: { isBinary: false, style: 'form' },
    });
    const limits = { contentEncoding: 'base64', maxLength: 960_000 };
    const given = {
      type: ['string', 'object'],
      ...limits,
      properties: { base64: { type: 'string', ...limits }, filename: {}, content_type: {} },
      required: ['base64'],
      additionalProperties: false,
    };
    expect(action?.paramsSchema['properties']).toMatchObject({
      picture: { ...given, description: expect.stringMatching(/^The picture. A file.* Base64/) },
      others: { type: 'array', items: given },
    });
  });

  test('makes one base64 parameter of a binary body', () => {
    const content = { 'image/png': { schema: { type: 'string', format: 'binary' } } };
    const { action } = compileBody({ required: true, content });

    expect(action?.body).toMatchObject({ mediaType: 'image/png', wholeBody: true });
    expect(action?.paramsSchema['properties']).toMatchObject({
      body: { type: 'string', contentEncoding: 'base64' },
    });
  });

  test('treats a body with a binary schema as binary, whatever its media type', () => {
    const content = { '*/*': { schema: { type: 'string', format: 'binary' } } };
    const { action } = compileBody({ required: true, content });

    expect(action?.body).toMatchObject({ mediaType: 'application/octet-stream', wholeBody: true });
  });

  test('makes one text parameter of an XML body', () => {
    const content = { 'application/xml': { schema: note } };
    const { report, action } = compileBody({ required: true, content });

    expect(report).toMatchObject({ valid: true, warnings: [{ code: 'body_as_text' }] });
    expect(action?.paramsSchema['properties']).toMatchObject({ body: { type: 'string' } });
  });

  test('splits a body that has a property named body', () => {
    const schema = { type: 'object', required: ['body'], properties: { body: { type: 'string' } } };
    const { action } = compileBody(jsonBody(schema));

    expect(action?.body?.wholeBody).toBe(false);
    expect(listBodyParams(action)).toEqual(['body']);
  });

  test.for<[types: string[], chosen: string, wholeBody: boolean]>([
    [['application/xml', 'application/json'], 'application/json', false],
    [
      ['application/x-www-form-urlencoded', 'application/vnd.a+json'],
      'application/vnd.a+json',
      false,
    ],
    [
      ['multipart/form-data', 'application/x-www-form-urlencoded'],
      'application/x-www-form-urlencoded',
      false,
    ],
    [['multipart/form-data'], 'multipart/form-data', false],
    [['application/octet-stream'], 'application/octet-stream', true],
    [['application/json; charset=UTF-8'], 'application/json; charset=UTF-8', false],
    [['text/plain', 'application/merge-patch+json'], 'application/merge-patch+json', false],
    [['*/*'], 'application/json', false],
    [['application/*+json'], 'application/json', false],
    [['application/json;version=2018-01-01'], 'application/json;version=2018-01-01', false],
    [['image/*'], 'application/octet-stream', true],
  ])('chooses from the media types %j the type %s', ([types, mediaType, wholeBody]) => {
    const content = Object.fromEntries(types.map((type) => [type, { schema: note }]));
    const { action } = compileBody({ required: true, content });

    expect(action?.body).toMatchObject({ mediaType, wholeBody });
  });

  test('keeps the default of a property for callers, but never sends it', () => {
    const state = { type: 'string', default: 'open' };
    const { action } = compileBody(jsonBody({ type: 'object', properties: { state } }));

    expect(action?.paramsSchema['properties']).toMatchObject({ state });
    expect(action?.params.at(-1)?.schema).toEqual({ type: 'string' });
  });

  test('reads the extension resolve of a property', () => {
    const resolve = { get: '/people/{owner}', pick: 'name' };
    const schema = { type: 'object', properties: { owner: { type: 'string', resolve } } };
    const { report, action } = compileBody(jsonBody(schema));

    expect(report.warnings).toEqual([]);
    expect(action?.params.at(-1)).toMatchObject({
      name: 'owner',
      schema: { type: 'string' },
      resolve,
    });
  });

  test('follows a reference to a shared schema', () => {
    const { action } = compileBody(jsonBody({ $ref: '#/components/schemas/Note' }), (d) => {
      d.components.schemas['Note'] = note;
    });

    expect(listBodyParams(action)).toEqual(['title', 'text']);
  });

  test.for<[what: string, code: FindingCode, body: unknown]>([
    ['without content', 'body_invalid', { required: true }],
    ['without media type', 'body_invalid', { content: {} }],
    [
      'with multipart content other than a form',
      'unsupported',
      { content: { 'multipart/mixed': {} } },
    ],
    ['with a malformed media type', 'body_invalid', { content: { 'a/b\r\nX: y': { schema: {} } } }],
    [
      'with a misspelled field',
      'unknown_field',
      { requird: true, content: { 'application/json': {} } },
    ],
    ['with an invalid schema', 'schema_invalid', jsonBody({ type: 'objekt' })],
    [
      'with a property whose schema is invalid',
      'schema_invalid',
      jsonBody({ type: 'object', properties: { a: 7 } }),
    ],
    [
      'with a remote reference',
      'ref_remote',
      jsonBody({ $ref: 'https://example.com/schema.json' }),
    ],
  ])('refuses a body %s', ([, code, body]) => {
    expect(compileBody(body).report.errors.map((finding) => finding.code)).toContain(code);
  });
});

describe('the compiler of schemas', () => {
  test('accepts anything below the first level of a recursive schema', () => {
    const { report, action } = compileBody(jsonBody({ $ref: '#/components/schemas/Tree' }), (d) => {
      d.components.schemas['Tree'] = {
        type: 'object',
        properties: { children: { type: 'array', items: { $ref: '#/components/schemas/Tree' } } },
      };
    });

    expect(report).toMatchObject({ valid: true, warnings: [{ code: 'ref_cycle' }] });
    expect(action?.paramsSchema['properties']).toMatchObject({
      children: { type: 'array', items: {} },
    });
  });

  test('refuses references that grow without end', () => {
    const { report } = compileBody(jsonBody({ $ref: '#/components/schemas/L0' }), (d) => {
      for (let level = 0; level < 20; level += 1) {
        const next = { $ref: `#/components/schemas/L${level + 1}` };
        d.components.schemas[`L${level}`] = {
          type: 'object',
          properties: { a: next, b: next, c: next },
        };
      }
      d.components.schemas['L20'] = { type: 'string' };
    });

    expect(report.errors.map((finding) => finding.code)).toEqual(['too_complex']);
  });

  test('keeps the keywords beside a reference', () => {
    const schema = {
      type: 'object',
      properties: {
        described: { $ref: '#/components/schemas/Id', description: 'Of the note.' },
        narrowed: { $ref: '#/components/schemas/Id', minLength: 3 },
      },
    };
    const { action } = compileBody(jsonBody(schema), (d) => {
      d.components.schemas['Id'] = { type: 'string', description: 'An id.' };
    });

    expect(action?.paramsSchema['properties']).toMatchObject({
      described: { type: 'string', description: 'Of the note.' },
      narrowed: { minLength: 3, allOf: [{ type: 'string', description: 'An id.' }] },
    });
  });

  test('drops examples and other annotations, and warns about unknown keywords', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string', example: 'x', nullable: true, enmu: ['y'] } },
    };
    const { report, action } = compileBody(jsonBody(schema));

    expect(action?.paramsSchema['properties']).toMatchObject({ a: { type: 'string' } });
    expect(report.warnings.map(({ path }) => path.split('/').at(-1))).toEqual(['nullable', 'enmu']);
  });
});
