import { expect, test } from 'vitest';

import { toPortableSchema } from './portable-schema.ts';

const anySchema = {
  anyOf: ['object', 'array', 'string', 'number', 'boolean', 'null'].map((type) => ({ type })),
};
const schemaOf = (property: object) =>
  toPortableSchema({ type: 'object', properties: { it: JSON.parse(JSON.stringify(property)) } });

test.for([
  [
    'turns a list of types into an anyOf',
    { type: ['string', 'null'], maxLength: 9 },
    { maxLength: 9, anyOf: [{ type: 'string' }, { type: 'null' }] },
  ],
  [
    'turns a schema without a type into an anyOf of all types',
    { description: 'Any.' },
    { description: 'Any.', ...anySchema },
  ],
  ['turns a reference into an anyOf of all types', { $ref: '#/$defs/__schema0' }, anySchema],
  [
    'rewrites the schema of array items',
    { type: 'array', items: {} },
    { type: 'array', items: anySchema },
  ],
  [
    'rewrites the branches of an anyOf',
    { anyOf: [{}, { type: 'null' }] },
    { anyOf: [anySchema, { type: 'null' }] },
  ],
  [
    'keeps an object open to additional properties',
    { type: 'object', additionalProperties: {} },
    { type: 'object', additionalProperties: true },
  ],
  [
    'rewrites the schema of additional properties',
    { type: 'object', additionalProperties: { type: ['integer', 'null'] } },
    { type: 'object', additionalProperties: { anyOf: [{ type: 'integer' }, { type: 'null' }] } },
  ],
  [
    'keeps an object closed to additional properties',
    { type: 'object', properties: {}, additionalProperties: false },
    { type: 'object', properties: {}, additionalProperties: false },
  ],
  [
    'does not rewrite the values in const and enum',
    { const: {}, enum: ['a'] },
    { const: {}, enum: ['a'] },
  ],
  [
    'keeps property names that equal schema keywords',
    { type: 'object', properties: { type: { type: 'string' }, items: {} } },
    { type: 'object', properties: { type: { type: 'string' }, items: anySchema } },
  ],
] as const)('toPortableSchema %s', ([, given, expected]) => {
  expect(schemaOf(given)).toEqual({ type: 'object', properties: { it: expected } });
});
