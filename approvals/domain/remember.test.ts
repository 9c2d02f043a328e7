import { describe, expect, test } from 'vitest';

import { rememberedPatterns } from './remember.ts';

const exact = 'github:issues.create:acme/site';
const secret = 'secret:token:api.example.com';
const card = {
  permissionKeys: [exact, secret],
  suggestedTiers: [
    { keys: [exact, secret], description: 'this' },
    { keys: ['github:issues.create:*', secret], description: 'any repository' },
  ],
};

describe('rememberedPatterns', () => {
  test('without remember_keys it is the narrowest tier, exact', () => {
    expect(rememberedPatterns(card, undefined)).toEqual([
      { pattern: exact, exact: true },
      { pattern: secret, exact: true },
    ]);
  });

  test('a broader tier is a pattern; the keys that do not broaden stay exact', () => {
    expect(rememberedPatterns(card, ['github:issues.create:*', secret])).toEqual([
      { pattern: 'github:issues.create:*', exact: false },
      { pattern: secret, exact: true },
    ]);
  });

  test('a key given twice is stored once', () => {
    expect(rememberedPatterns(card, [exact, exact])).toHaveLength(1);
  });

  test.for([
    'github:*:*',
    'github:issues.create:*x',
    'GitHub:issues.create:*',
    'github:issues.create:* ',
    '**:**:**',
  ])('%s, which no tier offers, is refused', (key) => {
    expect(() => rememberedPatterns(card, [exact, key])).toThrow(
      expect.objectContaining({
        code: 'remember_keys_not_offered',
        details: expect.objectContaining({ not_offered: [key] }),
      }),
    );
  });
});
