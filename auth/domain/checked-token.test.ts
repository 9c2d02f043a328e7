import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { formatAgentKey, hintOf, isAgentKey } from './agent-key.ts';
import { formatSessionToken, isSessionToken } from './dashboard-session.ts';

const random = fc.uint8Array({ minLength: 32, maxLength: 32 });

describe('an agent key', () => {
  test('is aak_, 43 base62 characters and 6 of checksum, whatever the random bytes', () => {
    for (const byte of [0, 255]) {
      expect(formatAgentKey(new Uint8Array(32).fill(byte))).toMatch(/^aak_[0-9A-Za-z]{49}$/);
    }
    fc.assert(fc.property(random, (bytes) => isAgentKey(formatAgentKey(bytes))));
  });

  test('stays the same for the same bytes, so that scanners can rely on its form', () => {
    expect(formatAgentKey(new Uint8Array(32).fill(7))).toMatchInlineSnapshot(
      `"aak_1fJjkkpe9PiTw9KSulA8Ghct30vZz4HpdQ5c5b9cPF10dTIQQ"`,
    );
  });

  test('with one character changed is none', () => {
    const change = fc.tuple(random, fc.nat(48), fc.constantFrom('0', 'Z', 'z'));
    fc.assert(
      fc.property(change, ([bytes, at, character]) => {
        const key = formatAgentKey(bytes);
        const changed = `${key.slice(0, 4 + at)}${character}${key.slice(5 + at)}`;
        return changed === key || !isAgentKey(changed);
      }),
    );
  });

  test.for(['', 'aak_', 'aak_short', `aak_${'0'.repeat(49)}`, `aak_${'é'.repeat(49)}`])(
    'is not %j',
    (text) => {
      expect(isAgentKey(text)).toBe(false);
    },
  );

  test('and a session are never taken for each other', () => {
    const bytes = new Uint8Array(32).fill(1);
    expect(isAgentKey(formatSessionToken(bytes))).toBe(false);
    expect(isSessionToken(formatAgentKey(bytes))).toBe(false);
    const renamed = formatAgentKey(bytes).replace('aak_', 'ses_');
    expect(isSessionToken(renamed)).toBe(false);
  });

  test('is recognised by its first characters', () => {
    expect(hintOf('aak_abcdefghijkl')).toBe('aak_abcdef');
  });

  test('is made of exactly 256 random bits', () => {
    expect(() => formatAgentKey(new Uint8Array(31))).toThrow('256');
  });
});
