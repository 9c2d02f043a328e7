import { createSecretKey } from 'node:crypto';

import { describe, expect, test } from 'vitest';

import { parseMasterKeys, seal, unseal } from './sealing.ts';
import type { Binding } from './sealing.ts';

const keyOf = (byte: number) => createSecretKey(Buffer.alloc(32, byte));
const key = keyOf(1);
const nonce = Buffer.alloc(12, 2);
const binding: Binding = { orgId: 'o', recordId: 'r', version: 1, purpose: 'secret' };

describe('a sealed value', () => {
  const sealed = seal(key, Buffer.from('CANARY-1'), { binding, nonce });

  test('opens with its key and binding', () => {
    expect(unseal(key, sealed, binding).toString()).toBe('CANARY-1');
    expect(sealed.toString('latin1')).not.toContain('CANARY');
  });

  test.for<[what: string, other: Partial<Binding>]>([
    ['org', { orgId: 'p' }],
    ['record', { recordId: 's' }],
    ['version', { version: 2 }],
    ['purpose', { purpose: 'frozen_call' }],
  ])('does not open for another %s', ([, other]) => {
    expect(() => unseal(key, sealed, { ...binding, ...other })).toThrow();
  });

  test('does not open with another key, a changed byte or a cut end', () => {
    expect(() => unseal(keyOf(9), sealed, binding)).toThrow();
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed);
      changed[at]! ^= 1;
      expect(() => unseal(key, changed, binding)).toThrow();
      expect(() => unseal(key, sealed.subarray(0, at), binding)).toThrow();
    }
  });
});

describe('MASTER_KEY', () => {
  const one = Buffer.alloc(32, 1).toString('base64url');
  const two = Buffer.alloc(32, 2).toString('base64url');

  test('is a list, newest first', () => {
    const keys = parseMasterKeys(`${two}, ${one}`);

    expect(keys?.map(({ key: parsed }) => parsed.export()[0])).toEqual([2, 1]);
    expect(new Set(keys?.map(({ id }) => id)).size).toBe(2);
  });

  test.for([
    '',
    'short',
    `${one},`,
    `${one}x`,
    Buffer.alloc(31).toString('base64url'),
    'CANARY password',
  ])('is not %s', (text) => {
    expect(parseMasterKeys(text)).toBeUndefined();
  });
});
