import { describe, expect, test } from 'vitest';

import type { JsonObject } from '../../document/domain/context.ts';
import { importOperation } from './import-changed.testing.ts';

const importBody = (schema: JsonObject, documentFields: JsonObject = {}) =>
  importOperation(
    { requestBody: { required: true, content: { 'application/json': { schema } } } },
    documentFields,
  ).action?.params.find((param) => param.in === 'body');
const importProperty = (schema: JsonObject, documentFields: JsonObject = {}) =>
  importBody(
    { type: 'object', properties: { it: schema, other: { type: 'string' } } },
    documentFields,
  )?.schema;

describe('a schema of OpenAPI 3.0 in an imported document', () => {
  test.for<[what: string, given: JsonObject, becomes: JsonObject]>([
    ['the keyword nullable', { type: 'string', nullable: true }, { type: ['string', 'null'] }],
    [
      'nullable and an enum',
      { type: 'string', nullable: true, enum: ['a'] },
      { type: ['string', 'null'], enum: ['a', null] },
    ],
    [
      'nullable alternatives',
      { nullable: true, oneOf: [{ type: 'string' }, { type: 'integer' }] },
      { anyOf: [{ oneOf: [{ type: 'string' }, { type: 'integer' }] }, { type: 'null' }] },
    ],
    [
      'exclusiveMinimum',
      { type: 'number', minimum: 1, exclusiveMinimum: true },
      { type: 'number', exclusiveMinimum: 1 },
    ],
    [
      'exclusiveMaximum',
      { type: 'number', maximum: 1, exclusiveMaximum: false },
      { type: 'number', maximum: 1 },
    ],
    [
      'format byte',
      { type: 'string', format: 'byte' },
      { type: 'string', format: 'byte', contentEncoding: 'base64' },
    ],
    ['an example', { type: 'string', example: 'x', examples: ['y'] }, { type: 'string' }],
    ['xml and discriminator', { type: 'object', xml: {}, discriminator: {} }, { type: 'object' }],
    [
      'an inherited object',
      { allOf: [{ properties: { a: { type: 'string' } } }, { required: ['a'] }] },
      { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
    ],
    [
      'enum values of another type',
      { type: 'string', enum: [1, true, 'x'] },
      { type: 'string', enum: ['1', 'true', 'x'] },
    ],
    ['an empty enum', { type: 'string', enum: [] }, { type: 'string' }],
    ['a type name of another language', { type: 'float' }, { type: 'number' }],
    ['an unknown type', { type: 'money' }, {}],
    ['a list without items', { type: 'array' }, { type: 'array' }],
    [
      'keywords of the wrong type',
      { type: 'string', minLength: '1', maxLength: -1, pattern: 7, required: true },
      { type: 'string' },
    ],
    ['an invalid pattern', { type: 'string', pattern: '(?i)x' }, { type: 'string' }],
    ['extensions of other vendors', { type: 'string', 'x-order': 1 }, { type: 'string' }],
    [
      'read-only properties',
      {
        type: 'object',
        required: ['a', 'b'],
        properties: { a: { type: 'string', readOnly: true }, b: { type: 'string' } },
      },
      { type: 'object', required: ['b'], properties: { b: { type: 'string' } } },
    ],
  ])('is converted, with %s, to the JSON Schema $2', ([, given, becomes]) => {
    expect(importProperty(given)).toEqual(becomes);
  });

  test('loses the keywords beside a reference, which a schema of OpenAPI 3.1 keeps', () => {
    const components = { schemas: { Name: { type: 'string', maxLength: 9 } } };
    const schema = { $ref: '#/components/schemas/Name', description: 'Other', minLength: 2 };

    expect(importProperty(schema, { components })).toEqual({ type: 'string', maxLength: 9 });
    expect(
      importProperty({ items: schema, type: 'array' }, { components, openapi: '3.1.0' }),
    ).toEqual({
      type: 'array',
      items: { description: 'Other', minLength: 2, allOf: [{ type: 'string', maxLength: 9 }] },
    });
  });

  test('accepts anything below the first level when the schema is recursive', () => {
    const Tree = { type: 'object', properties: { left: { $ref: '#/components/schemas/Tree' } } };
    const schema = { $ref: '#/components/schemas/Tree' };

    expect(importProperty(schema, { components: { schemas: { Tree } } })).toEqual({
      type: 'object',
      properties: { left: {} },
    });
  });

  test('has anyOf in place of oneOf when an alternative accepts more than before', () => {
    const branches = [
      { $ref: 'https://a.example/pet.yaml' },
      { type: 'object', properties: { a: { type: 'string' } } },
    ];
    expect(importProperty({ oneOf: branches })).toEqual({ anyOf: [{}, branches[1]] });
    expect(importProperty({ type: 'object', not: { $ref: 'https://a.example/pet.yaml' } })).toEqual(
      {
        type: 'object',
      },
    );
    const oneOf = [{ type: 'string' }, { type: 'integer' }];
    expect(importProperty({ oneOf, not: { type: 'null' } })).toEqual({
      oneOf,
      not: { type: 'null' },
    });
  });

  test('is cut at its deepest levels when replacing references makes it too large', () => {
    const schemas = Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => {
        const next = { $ref: `#/components/schemas/S${n + 1}` };
        return [`S${n}`, { type: 'object', properties: { a: next, b: next, c: next } }];
      }),
    );
    const { action, codes } = importOperation(
      {
        requestBody: {
          content: { 'application/json': { schema: { $ref: '#/components/schemas/S0' } } },
        },
      },
      { components: { schemas } } as never,
    );

    expect(action?.params.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    expect(action?.params[0]?.schema).toMatchObject({
      properties: { a: { properties: { a: {} } } },
    });
    expect(codes).toContain('schema_opened');
  });
});
