import { describe, expect, test } from 'vitest';

import { compiledTemplate, compiledAction } from '#contracts/template';
import { deriveTolerantSchema } from '#contracts/tolerant';
import { z } from 'zod';
import { compileExample, setMember } from './compile-example.testing.ts';
import { createNote } from './example-document.testing.ts';
import type { ExampleDocument } from './example-document.testing.ts';

const text = { type: 'string' };
const project = { type: 'object', properties: { key: text, size: { type: 'integer' } } };
const parent = { oneOf: [{ properties: { page: text } }, { properties: { base: text } }] };
const properties = {
  fields: { type: 'object', properties: { project, tags: { type: 'array', items: text }, parent } },
  to: { type: 'array', items: text },
  cc: { type: 'array', items: text },
  owner: text,
  amount: { type: 'integer' },
};

function compileWithScope(scope: unknown) {
  const change = (d: ExampleDocument) => {
    const content = { 'application/json': { schema: { type: 'object', properties } } };
    setMember(createNote(d), 'requestBody', { required: true, content });
    setMember(createNote(d), 'disclose', undefined);
    setMember(createNote(d), 'redact', undefined);
    setMember(createNote(d), 'scope_param', scope);
    setMember(createNote(d), 'summary', 'Create a note');
  };
  const { template, report } = compileExample(change);
  const action = Object.values(template?.actions ?? {}).find(({ method }) => method === 'POST');
  return { action, template, codes: report.errors.map(({ code }) => code) };
}
const createOnePosition = (param: unknown, more: object = {}) => [
  { param, label: 'value', ...more },
];

describe('scope_param', () => {
  test.for<[string, unknown, unknown]>([
    ['a parameter by its name', 'owner', 'owner'],
    ['a dotted path', 'fields.project.key', [{ params: ['fields.project.key'] }]],
    ['a position', createOnePosition('owner'), [{ params: ['owner'], label: 'value' }]],
    [
      'items of lists',
      createOnePosition(['to[]', 'cc[]'], { as: 'email' }),
      [{ params: ['to[]', 'cc[]'], label: 'value', as: 'email' }],
    ],
    [
      'members of alternatives',
      createOnePosition(['fields.parent.page', 'fields.parent.base']),
      [{ params: ['fields.parent.page', 'fields.parent.base'], label: 'value' }],
    ],
    [
      'three positions',
      [...createOnePosition('owner'), ...createOnePosition('amount'), ...createOnePosition('to[]')],
      expect.any(Array),
    ],
  ])('may be %s', ([, scope, compiled]) => {
    const { action, codes } = compileWithScope(scope);
    expect(codes).toEqual([]);
    expect(action?.scopeParam).toEqual(compiled);
  });

  test.for<[string, unknown, string]>([
    ['an unknown member', 'fields.project.id', 'scope_param_unknown'],
    ['an unknown parameter', createOnePosition('nobody'), 'scope_param_unknown'],
    ['an object', 'fields.project', 'scope_param_unsuited'],
    ['a list without []', createOnePosition('to'), 'scope_param_unsuited'],
    [
      'a number as an address',
      createOnePosition('amount', { as: 'email' }),
      'scope_param_unsuited',
    ],
    [
      'two positions with several values',
      [...createOnePosition('to[]'), ...createOnePosition('cc[]')],
      'scope_param_unsuited',
    ],
    [
      'four positions',
      [
        ...createOnePosition('owner'),
        ...createOnePosition('owner'),
        ...createOnePosition('owner'),
        ...createOnePosition('owner'),
      ],
      'wrong_type',
    ],
    ['no position', [], 'wrong_type'],
    ['a position without label', [{ param: 'owner' }], 'wrong_type'],
    ['a label that looks like a key', createOnePosition('owner', { label: 'a:*' }), 'wrong_type'],
    ['an unknown value of as', createOnePosition('owner', { as: 'upper' }), 'wrong_type'],
    ['a number', 5, 'wrong_type'],
  ])('may not be %s', ([, scope, code]) => {
    expect(compileWithScope(scope).codes).toContain(code);
  });

  test('is refused with positions by a component that knows only parameter names', () => {
    const scopeParam = z.string().max(200).nullable();
    const earlierSchema = deriveTolerantSchema(compiledAction.extend({ scopeParam }), 'refuse');
    expect(earlierSchema.safeParse(compileWithScope('fields.project.key').action).success).toBe(
      false,
    );
    expect(earlierSchema.safeParse(compileWithScope('owner').action).success).toBe(true);
    expect(
      compiledTemplate.safeParse(compileWithScope('fields.project.key').template).success,
    ).toBe(true);
  });
});
