import { expect, test } from 'vitest';

import { formatSize } from './size-text.ts';

test.for<[bytes: number, expected: string]>([
  [0, '0 bytes'],
  [1, '1 byte'],
  [1023, '1023 bytes'],
  [1024, '1.0 KiB'],
  [3482, '3.4 KiB'],
  [180_000, '176 KiB'],
  [1_258_291, '1.2 MiB'],
])('a size of %j bytes is written as "%s"', ([bytes, expected]) => {
  expect(formatSize(bytes)).toBe(expected);
});
