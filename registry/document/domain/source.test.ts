import { describe, expect, test } from 'vitest';

import { documentBytesMax, parseSource } from './source.ts';

function codesOf(text: string): string[] {
  return parseSource(text)
    .findings.report()
    .errors.map((finding) => finding.code);
}

describe('parsing the text of a document (parseSource)', () => {
  test('reads YAML', () => {
    expect(parseSource('a:\n  - 1\n  - "x"\n').value).toEqual({ a: [1, 'x'] });
  });

  test('reads JSON', () => {
    expect(parseSource('{"a": [1, null, true]}').value).toEqual({ a: [1, null, true] });
  });

  test('reads a number that is used as a key as a string, as in JSON', () => {
    expect(parseSource('responses:\n  200: {}\n').value).toEqual({ responses: { '200': {} } });
  });

  test('replaces an alias by its anchor', () => {
    expect(parseSource('a: &x {b: 1}\nc: *x\n').value).toEqual({ a: { b: 1 }, c: { b: 1 } });
  });

  test.for<[what: string, text: string, code: string]>([
    ['text that is not YAML', 'a: [1, 2', 'syntax'],
    ['a second document', 'a: 1\n---\nb: 2\n', 'syntax'],
    ['an unknown tag', 'a: !thing x\n', 'syntax'],
    ['a value that JSON cannot express', 'a: !!binary aGk=\n', 'not_json'],
    ['a duplicate key', 'a: 1\na: 2\n', 'duplicate_key'],
    ['a duplicate key in JSON', '{"a": 1, "a": 2}', 'duplicate_key'],
    ['__proto__ as a key', '{"a": {"__proto__": {"x": 1}}}', 'forbidden_key'],
    ['constructor as a key', 'a:\n  constructor: 1\n', 'forbidden_key'],
    ['prototype as a key', 'prototype: 1\n', 'forbidden_key'],
    ['a number that JSON cannot express', 'a: .nan\n', 'not_json'],
    ['infinity', 'a: .inf\n', 'not_json'],
    ['a list as a key', '? [a, b]\n: 1\n', 'syntax'],
    ['an alias without anchor', 'a: *nowhere\n', 'syntax'],
    ['a value that contains itself', 'a: &x\n  b: *x\n', 'too_complex'],
    ['excessive nesting', '['.repeat(20_000) + ']'.repeat(20_000), 'too_complex'],
    ['more than 1 MiB', `a: ${'x'.repeat(documentBytesMax)}`, 'too_large'],
    ['more than 1 MiB of two-byte characters', 'é'.repeat(documentBytesMax / 2 + 1), 'too_large'],
  ])('refuses %s', ([, text, code]) => {
    expect(codesOf(text)).toContain(code);
    expect(parseSource(text).value).toBeUndefined();
  });

  test('finds the one duplicate key among sixty thousand, which must not be compared pair by pair', () => {
    const keys = Array.from({ length: 60_000 }, (_, index) => `k${index}: 1`);
    const { findings } = parseSource([...keys, 'k7: 2'].join('\n'));

    expect(findings.report().errors).toMatchObject([{ code: 'duplicate_key', line: 60_001 }]);
  });

  test('refuses a few lines of aliases that expand to billions of values', () => {
    const rows = Array.from({ length: 9 }, (_, row) =>
      row === 0
        ? 'a0: &a0 [x, x, x, x, x, x, x, x, x, x]'
        : `a${row}: &a${row} [${Array.from({ length: 10 }, () => `*a${row - 1}`).join(', ')}]`,
    );

    expect(codesOf(rows.join('\n'))).toEqual(['too_complex']);
  });

  test('refuses a large value that aliases repeat, even if their number is allowed', () => {
    const large = `a: &a [${Array.from({ length: 20_000 }, () => '1').join(',')}]`;
    const repeated = `b: [${Array.from({ length: 20 }, () => '*a').join(', ')}]`;

    expect(codesOf(`${large}\n${repeated}`)).toEqual(['too_complex']);
  });

  test('gives a finding its line in the text of the author and its JSON pointer', () => {
    const { findings } = parseSource('paths:\n  /a/b:\n    get:\n      scope_param: x\n');
    findings.error('wrong_type', ['paths', '/a/b', 'get', 'x-service-scope-param'], 'Mend it.');

    expect(findings.report().errors).toEqual([
      { code: 'wrong_type', message: 'Mend it.', path: '/paths/~1a~1b/get/scope_param', line: 4 },
    ]);
  });

  test('gives a syntax error its line', () => {
    const report = parseSource('a: 1\nb: [1, 2\nc: 3\n').findings.report();

    expect(report.errors[0]).toMatchObject({ code: 'syntax', line: 3 });
  });

  test('gives a missing field the line of the object that should have the field', () => {
    const { findings } = parseSource('info:\n  title: A\nservers: []\n');
    findings.error('required_field_missing', ['info', 'x-service-key'], 'Add it.');

    expect(findings.report().errors[0]?.line).toBe(1);
  });
});
