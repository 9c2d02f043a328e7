import { describe, expect, test } from 'vitest';

import type { JsonValue } from '#contracts/vocabulary';
import { holdsPlainCondition, parsePlainCondition } from './plain-condition.ts';

describe('a plain condition', () => {
  test.for<[filter: string, value: JsonValue, holds: boolean | undefined]>([
    ['.ok == false', { ok: false }, true],
    ['.ok == false', { ok: true }, false],
    ['.ok == false', {}, false],
    ['.ok == false', { ok: null }, false],
    ['.ok == false', null, false],
    ['.ok == false', [], undefined],
    ['.ok == false', 'text', undefined],
    ['.errors != null', { errors: [] }, true],
    ['.errors != null', { data: 1 }, false],
    ['.errors', { errors: [] }, true],
    ['.errors', { errors: 0 }, true],
    ['.errors', { errors: false }, false],
    ['.error.code == 7', { error: { code: 7 } }, true],
    ['.error.code == 7', { error: { code: '7' } }, false],
    ['.error.code == 7', { error: 'x' }, undefined],
    ['.status == "error"', { status: 'error' }, true],
    ['.a == {}', {}, undefined],
    ['.constructor', {}, false],
    ['.a == 1 or .b == 2', { b: 2 }, true],
    ['.a == 1 or .b == 2', { a: 2 }, false],
    ['.a == 1 and .b == 2', { a: 1, b: 2 }, true],
    ['.a == 1 and .b == 2', { a: 1 }, false],
    ['.a == 1 or .b.c', { a: 1, b: 5 }, true],
    ['.a == 1 or .b.c', { b: 5 }, undefined],
  ])('%s for the value %j is %j', ([filter, value, holds]) => {
    const condition = parsePlainCondition(filter);
    expect(condition && holdsPlainCondition(condition, value)).toBe(holds);
  });

  test.for([
    '.a | not',
    'any(.[]; .ok)',
    '.a[0]',
    '.a == .b',
    '.a == 1 or .b == 2 and .c == 3',
    '.a == "x or y"',
    '.a == 01',
    '.a == 1e9',
    '.a < 1',
    '(.a == 1)',
    '.',
    '',
    `.a == "${'x'.repeat(400)}"`,
  ])('is not %j, which jq evaluates', (filter) => {
    expect(parsePlainCondition(filter)).toBeUndefined();
  });
});
