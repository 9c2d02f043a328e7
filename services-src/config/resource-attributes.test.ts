import { expect, test } from 'vitest';

import { resourceAttributesText } from './resource-attributes.ts';

test('attributes of telemetry are read with their percent-encoded values', () => {
  expect(resourceAttributesText.parse(' a.b=c , region=eu%2C%20west=1, ')).toEqual({
    'a.b': 'c',
    region: 'eu, west=1',
  });
});

test.each(['name', '=value', 'name=%zz', 'n=v,'.repeat(65), 'n=v,'.repeat(2_000)])(
  'the attributes %.20s are refused',
  (text) => {
    expect(resourceAttributesText.safeParse(text).success).toBe(false);
  },
);
