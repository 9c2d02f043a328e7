import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { name as nameSchema } from '#contracts/vocabulary';
import { agentNameFrom, uniqueName } from './agent-name.ts';

describe('the name of an agent made for a client', () => {
  test.for<[clientName: string, name: string]>([
    ['Claude Code', 'claude-code'],
    ['VS Code (Insiders)', 'vs-code-insiders'],
    ['Café Ångström', 'cafe-angstrom'],
    ['7zip helper', 'zip-helper'],
    ['HTTP', 'http-agent'],
    ['日本語', 'agent'],
    ['', 'agent'],
  ])('%s becomes %s', ([clientName, name]) => {
    expect(agentNameFrom(clientName)).toBe(name);
  });

  test('is valid and unlike all others, whatever the client calls itself', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(20), (clientName, others) => {
        const name = agentNameFrom(clientName);
        const taken = new Set<string>();
        for (let n = 0; n <= others; n += 1) taken.add(uniqueName(name, taken));
        expect(taken.size).toBe(others + 1);
        for (const each of taken) expect(nameSchema.safeParse(each).success).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
