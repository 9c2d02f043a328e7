import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { formatAgentKey, agentKeyHintOf, isAgentKey } from '../../agent-keys/domain/agent-key.ts';
import { formatSessionToken, isSessionToken } from './session-token.ts';

const arbitraryBytes = fc.uint8Array({ minLength: 32, maxLength: 32 });

describe('an agent key', () => {
  test('consists of aak_, 43 base62 characters and a checksum of 6 characters, for any random bytes', () => {
    for (const byte of [0, 255]) {
      expect(formatAgentKey(new Uint8Array(32).fill(byte))).toMatch(/^aak_[0-9A-Za-z]{49}$/);
    }
    fc.assert(fc.property(arbitraryBytes, (bytes) => isAgentKey(formatAgentKey(bytes))));
  });

  test('is always the same text for the same random bytes, and in a format that secret scanners can rely on', () => {
    expect(formatAgentKey(new Uint8Array(32).fill(7))).toMatchInlineSnapshot(
      `"aak_1fJjkkpe9PiTw9KSulA8Ghct30vZz4HpdQ5c5b9cPF10dTIQQ"`,
    );
  });

  test('is not valid after one of its characters was changed', () => {
    const arbitraryChange = fc.tuple(arbitraryBytes, fc.nat(48), fc.constantFrom('0', 'Z', 'z'));
    fc.assert(
      fc.property(arbitraryChange, ([bytes, at, character]) => {
        const key = formatAgentKey(bytes);
        const changedKey = `${key.slice(0, 4 + at)}${character}${key.slice(5 + at)}`;
        return changedKey === key || !isAgentKey(changedKey);
      }),
    );
  });

  test.for(['', 'aak_', 'aak_short', `aak_${'0'.repeat(49)}`, `aak_${'é'.repeat(49)}`])(
    'is not accepted when it is %j',
    (text) => {
      expect(isAgentKey(text)).toBe(false);
    },
  );

  test('is not accepted as a session token, nor a session token as an agent key', () => {
    const bytes = new Uint8Array(32).fill(1);
    expect(isAgentKey(formatSessionToken(bytes))).toBe(false);
    expect(isSessionToken(formatAgentKey(bytes))).toBe(false);
    const renamedKey = formatAgentKey(bytes).replace('aak_', 'ses_');
    expect(isSessionToken(renamedKey)).toBe(false);
  });

  test('has its first ten characters as the hint by which people recognise it', () => {
    expect(agentKeyHintOf('aak_abcdefghijkl')).toBe('aak_abcdef');
  });

  test('is made from exactly 256 random bits', () => {
    expect(() => formatAgentKey(new Uint8Array(31))).toThrow('256');
  });
});
