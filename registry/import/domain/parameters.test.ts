import { describe, expect, test } from 'vitest';

import type { JsonObject } from '../../document/domain/context.ts';
import { importOperation } from './import-changed.testing.ts';

const importParameter = (parameter: JsonObject, documentFields: JsonObject = {}) =>
  importOperation({ parameters: [{ name: 'it', in: 'query', ...parameter }] }, documentFields);

describe('the body of an operation in an imported document', () => {
  const text = { type: 'string' };
  test.for<[what: string, schema: JsonObject, given: boolean | undefined, isRequired: boolean]>([
    [
      'required members',
      { type: 'object', required: ['a'], properties: { a: text } },
      undefined,
      true,
    ],
    ['optional members', { type: 'object', properties: { a: text } }, undefined, false],
    ['members that it says are optional', { type: 'object', required: ['a'] }, false, false],
    [
      'members required by a branch',
      { allOf: [{ required: ['a'] }, { minProperties: 0 }] },
      undefined,
      true,
    ],
    [
      'members required by all alternatives',
      { oneOf: [{ required: ['a'] }, { required: ['b'] }] },
      undefined,
      true,
    ],
    [
      'members required by one alternative',
      { oneOf: [{ required: ['a'] }, { type: 'object' }] },
      undefined,
      false,
    ],
    ['elements', { type: 'array', minItems: 1, items: text }, undefined, true],
    [
      'required members in answers alone',
      { required: ['a'], properties: { a: { ...text, readOnly: true } } },
      undefined,
      false,
    ],
  ])(
    'with %s in the schema %j and required: %j is required: %j',
    ([, schema, given, isRequired]) => {
      const required = given === undefined ? {} : { required: given };
      const { action, codes } = importOperation({
        requestBody: { ...required, content: { 'application/json': { schema } } },
      });
      expect(action?.body?.required).toBe(isRequired);
      expect(codes.includes('body_required')).toBe(isRequired && given === undefined);
    },
  );
});

describe('a parameter of an imported document', () => {
  test.for<[what: string, parameter: JsonObject]>([
    ['a cookie', { in: 'cookie', schema: { type: 'string' } }],
    ['in an unknown location', { in: 'matrix', schema: { type: 'string' } }],
    ['a header that the gateway sets', { in: 'header', name: 'Host', schema: { type: 'string' } }],
    ['named __proto__', { name: '__proto__', schema: { type: 'string' } }],
    [
      'of a kind that templates cannot have',
      { content: { 'application/xml': { schema: { type: 'string' } } } },
    ],
  ])('is left out when it is %s', ([, parameter]) => {
    const { action, codes, findings } = importParameter(parameter);
    expect(action?.params).toEqual([]);
    expect(codes).toContain('parameter_dropped');
    expect(findings.find(({ code }) => code === 'parameter_dropped')?.path).toBe(
      '/paths/~1things/post/parameters/0',
    );
  });

  test('causes its operation to be skipped when it is required but requests cannot contain it', () => {
    const { operations } = importParameter({
      in: 'header',
      name: 'X-HTTP-Method-Override',
      required: true,
      schema: { type: 'string' },
    });
    expect(operations).toMatchObject([
      { included: false, skipped: { code: 'header_not_allowed' } },
    ]);
  });

  test('is a string when it has no type, and is added for an undeclared placeholder of the path', () => {
    const { action } = importParameter({ schema: {} }, { path: '/things/{id}' });
    expect(action?.params).toMatchObject([
      { name: 'it', schema: { type: 'string' } },
      { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
    ]);
  });

  test('becomes a constant when it has only one possible value', () => {
    const { action } = importParameter({
      required: true,
      schema: { type: 'string', enum: ['v2'] },
    });
    expect(action?.params).toMatchObject([{ schema: { const: 'v2', default: 'v2' } }]);
    expect(action?.paramsSchema['properties']).toEqual({});
  });

  test('is left out when it carries the credential of a security scheme', () => {
    const components = {
      securitySchemes: { key: { type: 'apiKey', in: 'query', name: 'api_key' } },
    };
    const { action } = importParameter(
      { name: 'api_key', required: true, schema: { type: 'string' } },
      { components },
    );
    expect(action?.params).toEqual([]);
  });

  test('keeps a default only when the default matches the type', () => {
    const importDefault = (schema: JsonObject) =>
      importParameter({ schema }).action?.params[0]?.schema['default'];
    expect(importDefault({ type: 'integer', default: '7' })).toBe(7);
    expect(importDefault({ type: 'boolean', default: 'true' })).toBe(true);
    expect(importDefault({ type: 'integer', default: 'many' })).toBeUndefined();
    expect(importDefault({ type: 'string', enum: ['a'], default: 'b' })).toBeUndefined();
  });
});
