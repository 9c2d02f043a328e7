import { loadJq } from 'jq-wasm';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';

import { compileTemplate } from '../../registry/domain/template.ts';
import { hiddenPlaces } from './disclosure.ts';

const jq = await loadJq();

/** Where the check finds values that nobody is shown, in an action with this body. */
function hiddenIn(properties: Record<string, unknown>, filters: string[], more: object = {}) {
  const schema = { type: 'object', properties, additionalProperties: false, ...more };
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
  return hiddenPlaces(action, {}, jq)
    .map(({ at }) => at)
    .toSorted();
}

const text = { type: 'string', minLength: 1 };
const open = { type: 'object', required: ['key'], properties: { key: text } };

describe('the check of what a person is shown', () => {
  test.for<
    [what: string, properties: Record<string, unknown>, filters: string[], hidden: string[]]
  >([
    ['a parameter without a filter', { title: text, note: text }, ['.body.title'], ['note']],
    ['a parameter in the sentence', { board: { ...text, maxLength: 40 } }, [], []],
    [
      'a member of an open object beside the one that is shown',
      { parent: open },
      ['.body.parent.key'],
      ['parent.*'],
    ],
    ['an open object that is shown whole', { parent: open }, ['.body.parent'], []],
    [
      'all but the first item of a list',
      { labels: { type: 'array', minItems: 1, items: text } },
      ['.body.labels // empty | .[0]'],
      ['labels[]'],
    ],
  ])('%s', ([, properties, filters, hidden]) => {
    expect(hiddenIn(properties, filters)).toEqual(hidden);
  });

  test('a text that is cut by its filter is not all shown', () => {
    expect(hiddenIn({ note: text }, ['.body.note // empty | .[:200]'])).toEqual(['note']);
  });

  test('a switch that is shown in words is shown', () => {
    const loud = { type: 'boolean' };
    expect(hiddenIn({ loud }, ['if .body.loud == false then "in silence" else empty end'])).toEqual(
      [],
    );
    expect(hiddenIn({ loud }, ['"loud or not"'])).toEqual(['loud']);
  });

  test('null empties a field, which is not the same as leaving it as it is', () => {
    const note = { type: ['string', 'null'], minLength: 1 };
    expect(hiddenIn({ note }, ['.body.note // empty'])).toEqual(['note = null']);
    expect(
      hiddenIn({ note }, ['.body | if has("note") then .note // "nothing" else empty end']),
    ).toEqual([]);
  });

  test('a value that one alternative can have and its filter does not show', () => {
    const to = {
      oneOf: [
        {
          type: 'object',
          required: ['user'],
          additionalProperties: false,
          properties: { user: text },
        },
        {
          type: 'object',
          required: ['team'],
          additionalProperties: false,
          properties: { team: text },
        },
      ],
    };
    expect(hiddenIn({ to }, ['.body.to.user // empty'])).toEqual(['to.team']);
  });

  test('a value that hides behind another one', () => {
    const page = text;
    const block = text;
    const more = { anyOf: [{ required: ['page'] }, { required: ['block'] }] };
    expect(hiddenIn({ page, block }, ['.body | .page // .block'], more)).toEqual(['block']);
  });

  test('the order of a list', () => {
    const labels = { type: 'array', items: text };
    expect(hiddenIn({ labels }, ['.body.labels // empty | sort | join(", ")'])).toEqual([
      'labels[]',
    ]);
  });

  test('a filter that fails shows nothing', () => {
    expect(hiddenIn({ note: text }, ['.body.note | length | join(", ")'])).toEqual(['note']);
  });

  test('a keyword that it does not understand is no reason to say yes', () => {
    const note = { type: 'object', patternProperties: { '^x': text } };
    expect(() => hiddenIn({ note }, ['.body.note'])).toThrow('patternProperties');
  });
});
