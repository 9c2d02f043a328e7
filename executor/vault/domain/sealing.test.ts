import { createSecretKey } from 'node:crypto';

import { describe, expect, test } from 'vitest';

import { parseMasterKeys, seal, unseal } from './sealing.ts';
import type { SealContext } from './sealing.ts';

const keyOf = (byte: number) => createSecretKey(Buffer.alloc(32, byte));
const key = keyOf(1);
const nonce = Buffer.alloc(12, 2);
const sealContext: SealContext = { orgId: 'o', recordId: 'r', version: 1, purpose: 'secret' };

describe('a sealed value', () => {
  const sealed = seal(key, Buffer.from('CANARY-1'), { sealContext, nonce });

  test('can be opened with its own key and for its own record', () => {
    expect(unseal(key, sealed, sealContext).toString()).toBe('CANARY-1');
    expect(sealed.toString('latin1')).not.toContain('CANARY');
  });

  test.for<[what: string, other: Partial<SealContext>]>([
    ['org', { orgId: 'p' }],
    ['record', { recordId: 's' }],
    ['version', { version: 2 }],
    ['purpose', { purpose: 'frozen_call' }],
  ])('cannot be opened for another %s', ([, other]) => {
    expect(() => unseal(key, sealed, { ...sealContext, ...other })).toThrow();
  });

  test('cannot be opened with another key, with a changed byte, or without its last bytes', () => {
    expect(() => unseal(keyOf(9), sealed, sealContext)).toThrow();
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed);
      changed[at]! ^= 1;
      expect(() => unseal(key, changed, sealContext)).toThrow();
      expect(() => unseal(key, sealed.subarray(0, at), sealContext)).toThrow();
    }
  });
});

describe('MASTER_KEY', () => {
  const masterKey = Buffer.alloc(32, 1).toString('base64url');
  const two = Buffer.alloc(32, 2).toString('base64url');

  test('is valid as a list of keys, newest first', () => {
    const keys = parseMasterKeys(`${two}, ${masterKey}`);

    expect(keys?.map(({ key: parsed }) => parsed.export()[0])).toEqual([2, 1]);
    expect(new Set(keys?.map(({ id }) => id)).size).toBe(2);
  });

  test.for([
    '',
    'short',
    `${masterKey},`,
    `${masterKey}x`,
    Buffer.alloc(31).toString('base64url'),
    'CANARY password',
  ])('is invalid as %j', (text) => {
    expect(parseMasterKeys(text)).toBeUndefined();
  });
});
