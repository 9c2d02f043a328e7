import { describe, expect, test } from 'vitest';

import { templateDigest } from '#templates';
import { compileExample, setMember } from './compile-example.testing.ts';
import type { Change } from './compile-example.testing.ts';
import { createNote } from './example-document.testing.ts';

const codesOf = (change: Change, options = {}) =>
  compileExample(change, options).report.errors.map(({ code }) => code);

describe('`failure`', () => {
  test('applies to all actions if the document declares it, and an action may override it', () => {
    const { template, report } = compileExample((d) => {
      setMember(d, 'failure', {
        when: '.ok == false',
        code: '.error',
        kinds: { not_found: ['no_such_note'] },
        nothing_done: ['not_found', 'invalid'],
      });
      setMember(createNote(d), 'x-service-failure', '.errors != null');
    });
    expect(report.errors).toEqual([]);
    expect(template?.failure).toEqual({
      when: '.ok == false',
      code: '.error',
      kinds: { not_found: ['no_such_note'] },
      nothingDone: ['not_found', 'invalid'],
    });
    expect(template?.actions['create_note']?.failure).toEqual({ when: '.errors != null' });
    expect(template?.actions['list_notes']).not.toHaveProperty('failure');
  });

  test('is part of the digest, which stays the same for templates without it', () => {
    const { template: without } = compileExample();
    const { template: said } = compileExample((d) => setMember(d, 'failure', '.ok == false'));
    expect(without).not.toHaveProperty('failure');
    expect(templateDigest(said!)).not.toBe(templateDigest(without!));
  });

  test.for<[what: string, value: unknown, code: string]>([
    ['a list', ['.ok'], 'failure_invalid'],
    ['a number', 5, 'failure_invalid'],
    ['an empty filter', '', 'required_field_missing'],
    ['a filter that is too long', `.${'a'.repeat(2_000)}`, 'out_of_bounds'],
    ['a block without when', { code: '.error' }, 'required_field_missing'],
    ['a misspelled field', { when: '.ok', kind: {} }, 'unknown_field'],
    ['a code that is not a path', { when: '.ok', code: '.a | .b' }, 'failure_invalid'],
    ['kinds without a code', { when: '.ok', kinds: { invalid: ['x'] } }, 'failure_invalid'],
    ['an unknown kind', { when: '.ok', code: '.e', kinds: { odd: ['x'] } }, 'failure_invalid'],
    ['a code as a number', { when: '.ok', code: '.e', kinds: { invalid: [5] } }, 'failure_invalid'],
    ['an unknown kind in nothing_done', { when: '.ok', nothing_done: ['odd'] }, 'failure_invalid'],
  ])('is refused when it is %s', ([, value, code]) => {
    expect(codesOf((d) => setMember(d, 'failure', value))).toContain(code);
  });

  test('is refused when it is not valid jq', () => {
    const checkFilter = (filter: string) => (filter === '.ok ==' ? 'syntax error' : undefined);
    expect(codesOf((d) => setMember(d, 'failure', '.ok =='), { checkFilter })).toEqual([
      'failure_invalid',
    ]);
  });

  test('is not allowed in a template of an MCP server, because MCP reports failures itself', () => {
    const { report } = compileExample((d) => {
      setMember(d, 'runtime', 'mcp');
      setMember(d, 'failure', '.ok == false');
    });
    expect(report.errors.map(({ path }) => path)).toContain('/failure');
  });
});
