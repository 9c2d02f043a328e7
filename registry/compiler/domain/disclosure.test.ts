import { describe, expect, test } from 'vitest';

import { compileExample, setMember } from './compile-example.testing.ts';
import { createNote, jsonBody } from './example-document.testing.ts';
import type { CompileOptions } from '../../document/domain/context.ts';
import type { FindingCode } from '../../document/domain/findings.ts';

function compileNote(changes: Record<string, unknown>, options: Partial<CompileOptions> = {}) {
  const { report, template } = compileExample((document) => {
    for (const [key, value] of Object.entries(changes)) setMember(createNote(document), key, value);
  }, options);
  return { report, action: template?.actions['create_note'] };
}

describe('compiling the extension disclose of an operation', () => {
  test('keeps labels, filters and limits', () => {
    const { action } = compileNote({
      disclose: [
        { label: 'Title', filter: '.body.title' },
        { label: 'Text', filter: '.body.text', max_chars: 200 },
      ],
    });

    expect(action?.disclose).toEqual([
      { label: 'Title', filter: '.body.title', maxChars: null },
      { label: 'Text', filter: '.body.text', maxChars: 200 },
    ]);
  });

  test.for<[what: string, code: FindingCode, disclose: unknown]>([
    ['an object instead of a list', 'wrong_type', { label: 'a', filter: '.a' }],
    ['entries that are strings', 'disclose_invalid', ['.body.title']],
    ['an entry without label', 'required_field_missing', [{ filter: '.a' }]],
    ['an entry without filter', 'required_field_missing', [{ label: 'a' }]],
    ['a label that is too long', 'out_of_bounds', [{ label: 'a'.repeat(101), filter: '.a' }]],
    ['a misspelled limit', 'unknown_field', [{ label: 'a', filter: '.a', maxchars: 5 }]],
    ['a limit of zero', 'disclose_invalid', [{ label: 'a', filter: '.a', max_chars: 0 }]],
    [
      'a limit above the cap',
      'disclose_invalid',
      [{ label: 'a', filter: '.a', max_chars: 10_241 }],
    ],
    [
      'a limit that is not an integer',
      'disclose_invalid',
      [{ label: 'a', filter: '.a', max_chars: 1.5 }],
    ],
    [
      'too many entries',
      'out_of_bounds',
      Array.from({ length: 51 }, () => ({ label: 'a', filter: '.a' })),
    ],
  ])('refuses %s', ([, code, disclose]) => {
    expect(compileNote({ disclose }).report.errors.map((finding) => finding.code)).toContain(code);
  });

  test('checks the syntax of filters with the function that the caller passes', () => {
    const checkFilter = (filter: string) => (filter === '.a |' ? 'unexpected end' : undefined);
    const disclose = [{ label: 'A', filter: '.a |' }];

    expect(compileNote({ disclose }, { checkFilter }).report.errors).toEqual([
      expect.objectContaining({
        code: 'disclose_invalid',
        message: expect.stringContaining('unexpected end'),
      }),
    ]);
    expect(compileNote({ disclose }).report.valid).toBe(true);
  });
});

describe('compiling the extension redact of an operation', () => {
  test.for<[path: string, expected: string[]]>([
    ['body.text', ['body.text', 'params.text']],
    ['params.text', ['params.text', 'body.text']],
    ['body.text.*.secret', ['body.text.*.secret', 'params.text.*.secret']],
    ['params.project', ['params.project']],
    ['url', ['url']],
    ['body', ['body', 'params']],
    ['params', ['params', 'body']],
  ])('redacts the values of the path %s at %j', ([path, expected]) => {
    expect(compileNote({ redact: [path] }).action?.redact).toEqual(expected);
  });

  test.for(['body.project', 'params.body_project'])(
    'redacts a renamed property (%s) in params and body',
    (path) => {
      const properties = { project: { type: 'string' } };
      const changes = {
        requestBody: jsonBody({ type: 'object', properties }),
        summary: 'Write',
        redact: [path],
      };
      const redacted = compileNote(changes).action?.redact ?? [];

      expect(new Set(redacted)).toEqual(new Set(['body.project', 'params.body_project']));
    },
  );

  test('accepts a path into a body that is a single parameter', () => {
    const changes = {
      requestBody: jsonBody({ type: 'object' }),
      summary: 'Write',
      redact: ['body.a.b'],
    };

    expect(compileNote(changes).action?.redact).toEqual(['body.a.b', 'params.body.a.b']);
  });

  test.for<[path: unknown]>([
    ['text'],
    ['headers.Authorization'],
    ['method'],
    ['body.txet'],
    ['params.txet'],
    ['body..text'],
    ['body.'],
    ['.body.text'],
    [''],
    [7],
    [null],
  ])('refuses the path %j, which matches no value of the call', ([path]) => {
    expect(compileNote({ redact: [path] }).report.errors).toEqual([
      expect.objectContaining({ code: 'redact_invalid' }),
    ]);
  });
});
