import { describe, expect, test } from 'vitest';

import type { CompiledAction } from '#contracts/template';
import { compile, put } from '../test-support/compile-example.ts';
import { createNote, jsonBody } from '../test-support/example-document.ts';
import type { ExampleDocument } from '../test-support/example-document.ts';
import type { FindingCode } from './findings.ts';

function compileBody(body: unknown, more: (d: ExampleDocument) => void = () => undefined) {
  const { report, template } = compile((document) => {
    put(createNote(document), 'requestBody', body);
    put(createNote(document), 'summary', 'Write');
    put(createNote(document), 'redact', undefined);
    more(document);
  });
  return { report, action: template?.actions['create_note'] };
}

function bodyParams(action: CompiledAction | undefined): string[] {
  return (action?.params ?? []).filter((param) => param.in === 'body').map((param) => param.name);
}

/** `create_note`, wherever its path is. */
function createNoteOf(d: ExampleDocument): object {
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

describe('request body', () => {
  test('of an object becomes one parameter per property', () => {
    const { report, action } = compileBody(jsonBody(note));

    expect(report).toEqual({ valid: true, errors: [], warnings: [] });
    expect(action?.body).toEqual({
      mediaType: 'application/json',
      wholeBody: false,
      required: true,
      parts: {},
    });
    expect(bodyParams(action)).toEqual(['title', 'text']);
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

  test('that is optional must still be complete when any of it is given', () => {
    const { action } = compileBody(jsonBody(note, false));

    expect(action?.paramsSchema).toMatchObject({
      required: ['project'],
      dependentRequired: { title: [], text: ['title'] },
    });
  });

  test('keeps the condition that one of several properties is there', () => {
    const anyOf = [{ required: ['title'] }, { required: ['text'] }];
    const { action } = compileBody(jsonBody({ ...note, required: [], anyOf }));

    expect(action?.body?.wholeBody).toBe(false);
    expect(action?.paramsSchema).toMatchObject({ anyOf });
  });

  test.for<[what: string, schema: unknown]>([
    ['a list', { type: 'array', items: { type: 'string' } }],
    ['a text', { type: 'string' }],
    ['an object of free form', { type: 'object' }],
    ['an object with further properties', { ...note, additionalProperties: true }],
    ['an object with alternatives', { ...note, oneOf: [{ properties: { a: {} } }] }],
    ['an object with conditions', { ...note, if: { required: ['text'] } }],
    ['an object that must be large', { ...note, minProperties: 2 }],
    ['an object that needs what it does not describe', { ...note, required: ['colour'] }],
    ['put together from what may be open', { allOf: [note, { additionalProperties: true }] }],
    ['put together from what overlaps', { allOf: [note, note] }],
  ])('is one parameter when it is %s', ([, schema]) => {
    const { report, action } = compileBody(jsonBody(schema));

    expect(report.valid).toBe(true);
    expect(action?.body).toEqual({
      mediaType: 'application/json',
      wholeBody: true,
      required: true,
      parts: {},
    });
    expect(bodyParams(action)).toEqual(['body']);
    expect(action?.paramsSchema['required']).toEqual(['project', 'body']);
  });

  test('with a property called like a parameter calls it after its place', () => {
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

  test('as a whole is called body, whatever else is called so', () => {
    const { action } = compileBody(jsonBody({ type: 'array' }), (d) => {
      const item = d.paths['/projects/{project}/notes'] ?? {};
      delete d.paths['/projects/{project}/notes'];
      d.paths['/projects/{body}/notes'] = { post: item['post'] ?? {} };
      put(createNoteOf(d), 'scope_param', 'path_body');
      put(createNoteOf(d), 'parameters', [
        { name: 'body', in: 'path', required: true, schema: { type: 'string' } },
        { name: 'body', in: 'query', schema: { type: 'string' } },
      ]);
    });

    expect(action?.path).toBe('/projects/{path_body}/notes');
    expect(action?.params.map((param) => param.name)).toEqual(['path_body', 'query_body', 'body']);
  });

  test('put together from plain objects is split like one object', () => {
    const more = { type: 'object', required: ['owner'], properties: { owner: { type: 'string' } } };
    const { action } = compileBody(
      jsonBody({ allOf: [{ $ref: '#/components/schemas/Note' }, more] }),
      (d) => {
        d.components.schemas['Note'] = note;
      },
    );

    expect(bodyParams(action)).toEqual(['title', 'text', 'owner']);
    expect(action?.paramsSchema['required']).toEqual(['project', 'title', 'owner']);
  });

  test('that must hold something says so of its properties', () => {
    const { action } = compileBody(jsonBody({ ...note, required: [], minProperties: 1 }));

    expect(action?.paramsSchema['anyOf']).toEqual([
      { required: ['title'] },
      { required: ['text'] },
    ]);
  });

  test('that is optional and has conditions is one parameter, since they hold only with a body', () => {
    const anyOf = [{ required: ['title'] }, { required: ['text'] }];
    const { action } = compileBody(jsonBody({ ...note, required: [], anyOf }, false));

    expect(bodyParams(action)).toEqual(['body']);
  });

  test('with files takes them as base64, with a limit that callers see', () => {
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

  test('of bytes is one base64 text', () => {
    const content = { 'image/png': { schema: { type: 'string', format: 'binary' } } };
    const { action } = compileBody({ required: true, content });

    expect(action?.body).toMatchObject({ mediaType: 'image/png', wholeBody: true });
    expect(action?.paramsSchema['properties']).toMatchObject({
      body: { type: 'string', contentEncoding: 'base64' },
    });
  });

  test('of any type is bytes where its schema says so', () => {
    const content = { '*/*': { schema: { type: 'string', format: 'binary' } } };
    const { action } = compileBody({ required: true, content });

    expect(action?.body).toMatchObject({ mediaType: 'application/octet-stream', wholeBody: true });
  });

  test('of XML is one text that callers write', () => {
    const content = { 'application/xml': { schema: note } };
    const { report, action } = compileBody({ required: true, content });

    expect(report).toMatchObject({ valid: true, warnings: [{ code: 'body_as_text' }] });
    expect(action?.paramsSchema['properties']).toMatchObject({ body: { type: 'string' } });
  });

  test('with a property called body is split like any other', () => {
    const schema = { type: 'object', required: ['body'], properties: { body: { type: 'string' } } };
    const { action } = compileBody(jsonBody(schema));

    expect(action?.body?.wholeBody).toBe(false);
    expect(bodyParams(action)).toEqual(['body']);
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
  ])('of %j is sent as %s', ([types, mediaType, wholeBody]) => {
    const content = Object.fromEntries(types.map((type) => [type, { schema: note }]));
    const { action } = compileBody({ required: true, content });

    expect(action?.body).toMatchObject({ mediaType, wholeBody });
  });

  test('keeps the default of a property as a note to callers, and never sends it', () => {
    const state = { type: 'string', default: 'open' };
    const { action } = compileBody(jsonBody({ type: 'object', properties: { state } }));

    expect(action?.paramsSchema['properties']).toMatchObject({ state });
    expect(action?.params.at(-1)?.schema).toEqual({ type: 'string' });
  });

  test('reads how a property becomes a readable name', () => {
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

  test('may be a shared schema', () => {
    const { action } = compileBody(jsonBody({ $ref: '#/components/schemas/Note' }), (d) => {
      d.components.schemas['Note'] = note;
    });

    expect(bodyParams(action)).toEqual(['title', 'text']);
  });

  test.for<[what: string, code: FindingCode, body: unknown]>([
    ['without content', 'body_invalid', { required: true }],
    ['without media type', 'body_invalid', { content: {} }],
    ['in several parts of no form', 'unsupported', { content: { 'multipart/mixed': {} } }],
    ['with a malformed media type', 'body_invalid', { content: { 'a/b\r\nX: y': { schema: {} } } }],
    [
      'with a misspelled field',
      'unknown_field',
      { requird: true, content: { 'application/json': {} } },
    ],
    ['with a schema that is no schema', 'schema_invalid', jsonBody({ type: 'objekt' })],
    [
      'with a property that is no schema',
      'schema_invalid',
      jsonBody({ type: 'object', properties: { a: 7 } }),
    ],
    [
      'with a remote reference',
      'ref_remote',
      jsonBody({ $ref: 'https://example.com/schema.json' }),
    ],
  ])('is refused %s', ([, code, body]) => {
    expect(compileBody(body).report.errors.map((finding) => finding.code)).toContain(code);
  });
});

describe('schemas', () => {
  test('that contain themselves accept anything from the second round on', () => {
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

  test('that unfold without end are refused', () => {
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

  test('that are referred to with words of their own keep both', () => {
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

  test('lose examples and other annotations, and warn of what is not JSON Schema', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string', example: 'x', nullable: true, enmu: ['y'] } },
    };
    const { report, action } = compileBody(jsonBody(schema));

    expect(action?.paramsSchema['properties']).toMatchObject({ a: { type: 'string' } });
    expect(report.warnings.map(({ path }) => path.split('/').at(-1))).toEqual(['nullable', 'enmu']);
  });
});
