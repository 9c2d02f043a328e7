import { expect, test } from 'vitest';

import { cpuMsOf } from '../../test/support/cpu.ts';
import { decodePercents } from './percents.ts';

test.for([
  ['plain \u00e4', 'plain \u00e4'],
  ['%5Fmethod%c3%a4', '_method\u00e4'],
  ['\u00e4%41', '\u00e4A'],
  ['%', '%'],
  ['%4', '%4'],
  ['%zz%4g%41', '%zz%4gA'],
  ['%80a', '\ufffda'],
])('the percent triplets of %j decode to %j', ([text = '', expected]) => {
  expect(decodePercents(text)).toBe(expected);
});

test('bytes that are not UTF-8 cost no more than those that are', () => {
  const invalid = '%80a'.repeat(20_000);
  const valid = '%61a'.repeat(20_000);
  expect(cpuMsOf(() => decodePercents(invalid))).toBeLessThan(
    20 * cpuMsOf(() => decodePercents(valid)),
  );
});
