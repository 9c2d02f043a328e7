import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { name as nameSchema } from '#contracts/vocabulary';
import { agentNameFrom, toUniqueName } from './agent-name.ts';

describe('the name of an agent that is created for a client', () => {
  test.for<[clientName: string, name: string]>([
    ['Claude Code', 'claude-code'],
    ['VS Code (Insiders)', 'vs-code-insiders'],
    ['Café Ångström', 'cafe-angstrom'],
    ['7zip helper', 'zip-helper'],
    ['HTTP', 'http-agent'],
    ['日本語', 'agent'],
    ['', 'agent'],
  ])('is, for the client name "%s", %s', ([clientName, name]) => {
    expect(agentNameFrom(clientName)).toBe(name);
  });

  test('is valid and unique for any client name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(20), (clientName, others) => {
        const name = agentNameFrom(clientName);
        const takenNames = new Set<string>();
        for (let n = 0; n <= others; n += 1) takenNames.add(toUniqueName(name, takenNames));
        expect(takenNames.size).toBe(others + 1);
        for (const each of takenNames) expect(nameSchema.safeParse(each).success).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
