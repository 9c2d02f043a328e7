import { loadJq } from 'jq-wasm';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';

import { compileTemplate } from '../../registry/compiler/domain/template.ts';
import { findHiddenPlaces } from './disclosure.ts';

const jq = await loadJq();

/** The places in an action's body whose values the check reports as hidden. */
function listHidden(
  properties: Record<string, unknown>,
  filters: string[],
  schemaChanges: object = {},
) {
  const schema = { type: 'object', properties, additionalProperties: false, ...schemaChanges };
  const document = {
    openapi: '3.1.0',
    info: { title: 'Notes', key: 'notes', version: '1.0.0' },
    servers: [{ url: 'https://notes.example.com' }],
    paths: {
      '/notes': {
        post: {
          operationId: 'write_note',
          summary: 'board' in properties ? 'Write a note[ to {board}]' : 'Write a note',
          risk: 'write',
          requestBody: { required: true, content: { 'application/json': { schema } } },
          disclose: filters.map((filter) => ({ label: filter.slice(0, 100), filter })),
        },
      },
    },
  };
  const options = { tier: 'global', ownerId: null, version: 1 } as const;
  const { template, report } = compileTemplate(stringify(document), options);
  const action = template?.actions['write_note'];
  if (action === undefined) throw new Error(JSON.stringify(report.errors));
  return findHiddenPlaces(action, {}, jq)
    .map(({ at }) => at)
    .toSorted();
}

const textSchema = { type: 'string', minLength: 1 };
const openSchema = { type: 'object', required: ['key'], properties: { key: textSchema } };

describe('the check for values that the approval card does not show', () => {
  test.for<
    [what: string, properties: Record<string, unknown>, filters: string[], hidden: string[]]
  >([
    [
      'finds a parameter without a filter',
      { title: textSchema, note: textSchema },
      ['.body.title'],
      ['note'],
    ],
    [
      'accepts a parameter that the sentence contains',
      { board: { ...textSchema, maxLength: 40 } },
      [],
      [],
    ],
    [
      'finds the members of a free-form object if no filter shows them',
      { parent: openSchema },
      ['.body.parent.key'],
      ['parent.*'],
    ],
    [
      'accepts a free-form object that a filter shows whole',
      { parent: openSchema },
      ['.body.parent'],
      [],
    ],
    [
      'finds a list if a filter shows only its first item',
      { labels: { type: 'array', minItems: 1, items: textSchema } },
      ['.body.labels // empty | .[0]'],
      ['labels[]'],
    ],
  ])('%s', ([, properties, filters, hidden]) => {
    expect(listHidden(properties, filters)).toEqual(hidden);
  });

  test('finds a text if a filter shows only its beginning', () => {
    expect(listHidden({ note: textSchema }, ['.body.note // empty | .[:200]'])).toEqual(['note']);
  });

  test('accepts a boolean that a filter shows in words, but not if both values have the same words', () => {
    const loudSchema = { type: 'boolean' };
    expect(
      listHidden({ loud: loudSchema }, ['if .body.loud == false then "in silence" else empty end']),
    ).toEqual([]);
    expect(listHidden({ loud: loudSchema }, ['"loud or not"'])).toEqual(['loud']);
  });

  test('finds the value null if a filter shows it with the same text as a missing field', () => {
    const noteSchema = { type: ['string', 'null'], minLength: 1 };
    expect(listHidden({ note: noteSchema }, ['.body.note // empty'])).toEqual(['note = null']);
    expect(
      listHidden({ note: noteSchema }, [
        '.body | if has("note") then .note // "nothing" else empty end',
      ]),
    ).toEqual([]);
  });

  test('finds an alternative of a union if the filter does not show it', () => {
    const to = {
      oneOf: [
        {
          type: 'object',
          required: ['user'],
          additionalProperties: false,
          properties: { user: textSchema },
        },
        {
          type: 'object',
          required: ['team'],
          additionalProperties: false,
          properties: { team: textSchema },
        },
      ],
    };
    expect(listHidden({ to }, ['.body.to.user // empty'])).toEqual(['to.team']);
  });

  test('finds a value if a filter shows it only when another value is absent', () => {
    const page = textSchema;
    const block = textSchema;
    const schemaChanges = { anyOf: [{ required: ['page'] }, { required: ['block'] }] };
    expect(listHidden({ page, block }, ['.body | .page // .block'], schemaChanges)).toEqual([
      'block',
    ]);
  });

  test('finds a list if a filter hides the order of its items', () => {
    const labelsSchema = { type: 'array', items: textSchema };
    expect(
      listHidden({ labels: labelsSchema }, ['.body.labels // empty | sort | join(", ")']),
    ).toEqual(['labels[]']);
  });

  test('finds a value if the filter that should show it fails', () => {
    expect(listHidden({ note: textSchema }, ['.body.note | length | join(", ")'])).toEqual([
      'note',
    ]);
  });

  test('throws on a schema keyword that it does not know', () => {
    const noteSchema = { type: 'object', patternProperties: { '^x': textSchema } };
    expect(() => listHidden({ note: noteSchema }, ['.body.note'])).toThrow('patternProperties');
  });
});
