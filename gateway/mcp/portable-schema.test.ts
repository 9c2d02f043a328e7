import { expect, test } from 'vitest';

import { portableSchema } from './portable-schema.ts';

const anything = {
  anyOf: ['object', 'array', 'string', 'number', 'boolean', 'null'].map((type) => ({ type })),
};
const schemaOf = (property: object) =>
  portableSchema({ type: 'object', properties: { it: JSON.parse(JSON.stringify(property)) } });

test.for([
  [
    'several types are branches',
    { type: ['string', 'null'], maxLength: 9 },
    { maxLength: 9, anyOf: [{ type: 'string' }, { type: 'null' }] },
  ],
  ['what accepts anything says so', { description: 'Any.' }, { description: 'Any.', ...anything }],
  ['a reference is any JSON', { $ref: '#/$defs/__schema0' }, anything],
  ['items are looked into', { type: 'array', items: {} }, { type: 'array', items: anything }],
  [
    'branches are looked into',
    { anyOf: [{}, { type: 'null' }] },
    { anyOf: [anything, { type: 'null' }] },
  ],
  [
    'open objects stay open',
    { type: 'object', additionalProperties: {} },
    { type: 'object', additionalProperties: true },
  ],
  [
    'maps are looked into',
    { type: 'object', additionalProperties: { type: ['integer', 'null'] } },
    { type: 'object', additionalProperties: { anyOf: [{ type: 'integer' }, { type: 'null' }] } },
  ],
  [
    'closed objects stay closed',
    { type: 'object', properties: {}, additionalProperties: false },
    { type: 'object', properties: {}, additionalProperties: false },
  ],
  ['values are no schemas', { const: {}, enum: ['a'] }, { const: {}, enum: ['a'] }],
  [
    'nor are names of properties',
    { type: 'object', properties: { type: { type: 'string' }, items: {} } },
    { type: 'object', properties: { type: { type: 'string' }, items: anything } },
  ],
] as const)('%s', ([, given, expected]) => {
  expect(schemaOf(given)).toEqual({ type: 'object', properties: { it: expected } });
});
