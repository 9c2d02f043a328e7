import fc from 'fast-check';
import { expect, test } from 'vitest';

import { covers } from '../../approvals/domain/pattern.ts';
import { actionKey } from '../../policy/domain/keys.ts';
import { compilePattern, matchesKey } from '../../policy/domain/patterns.ts';
import { propertyRuns } from '../../policy/domain/properties.testing.ts';

const pattern = fc.oneof(
  fc
    .string({ unit: fc.constantFrom('a', 'b', '/', '*', '**', ':', '%2A') })
    .map((arg) => `s:a:${arg}`),
  fc.constantFrom('s:*:*', 's:*:a', '*:*:*', 't:a:*', 's:b:**', 'http:ANY:**', 's:ANY:*', 's:a'),
);
const argument = fc.string({ unit: fc.constantFrom('a', 'b', '/', ':', '*') });

test('approvals cascades by a rule what policy will allow by it', () => {
  fc.assert(
    fc.property(pattern, fc.boolean(), fc.option(argument), (text, exact, arg) => {
      const key = actionKey('s', 'a', arg ?? undefined);
      const expected = matchesKey(compilePattern(text, exact), key);
      expect(covers({ pattern: text, exact }, key.key)).toBe(expected);
    }),
    { numRuns: propertyRuns },
  );
});
