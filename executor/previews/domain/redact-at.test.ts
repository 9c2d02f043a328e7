import { expect, test } from 'vitest';

import { redactAt } from './redact-at.ts';

const value = { rows: [{ key: 'CANARY-a', n: 1 }, [{ key: 'CANARY-b' }], 'x'], map: { a: 1 } };
const { rows, map } = value;

test.for<[path: string, shown: unknown, noted: string[]]>([
  ['map.a', { rows, map: { a: '[REDACTED]' } }, ['/map/a']],
  ['map.*', { rows, map: { a: '[REDACTED]' } }, ['/map/*']],
  ['rows.0.key', { rows: [{ key: '[REDACTED]', n: 1 }, rows[1], 'x'], map }, ['/rows/0/key']],
  [
    'rows.key',
    { rows: [{ key: '[REDACTED]', n: 1 }, [{ key: '[REDACTED]' }], 'x'], map },
    ['/rows/*/key', '/rows/*/*/key'],
  ],
])('redactAt replaces exactly the values that the path %s names', ([path, shown, noted]) => {
  const places: string[] = [];
  const steps = path.split('.');

  expect(redactAt(value, steps, { at: '', note: (at) => places.push(at) })).toEqual(shown);
  expect(places).toEqual(noted);
});

test.for(['other', 'map.b', 'map.a.c', 'rows.9', 'rows.other', 'toString', '__proto__.a'])(
  'redactAt returns its input without a copy when there is nothing at the path %s',
  (path) => {
    expect(redactAt(value, path.split('.'), { at: '', note: () => expect.fail() })).toBe(value);
  },
);
