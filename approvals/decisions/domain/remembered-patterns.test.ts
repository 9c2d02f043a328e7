import { describe, expect, test } from 'vitest';

import { rememberedPatternsOf } from './remembered-patterns.ts';

const exactKey = 'github:issues.create:acme/site';
const secretKey = 'secret:token:api.example.com';
const card = {
  permissionKeys: [exactKey, secretKey],
  suggestedTiers: [
    { keys: [exactKey, secretKey], description: 'this' },
    { keys: ['github:issues.create:*', secretKey], description: 'any repository' },
  ],
};

describe('the patterns that a decision remembers', () => {
  test('are the exact keys of the narrowest suggested rule (tier) when remember_keys is absent', () => {
    expect(rememberedPatternsOf(card, undefined)).toEqual([
      { pattern: exactKey, exact: true },
      { pattern: secretKey, exact: true },
    ]);
  });

  test('are those of a broader suggested rule (tier) on request; keys without a broader form stay exact', () => {
    expect(rememberedPatternsOf(card, ['github:issues.create:*', secretKey])).toEqual([
      { pattern: 'github:issues.create:*', exact: false },
      { pattern: secretKey, exact: true },
    ]);
  });

  test('contain a repeated key once', () => {
    expect(rememberedPatternsOf(card, [exactKey, exactKey])).toHaveLength(1);
  });

  test.for([
    'github:*:*',
    'github:issues.create:*x',
    'GitHub:issues.create:*',
    'github:issues.create:* ',
    '**:**:**',
  ])('cannot include %s, which no suggested rule (tier) offers', (key) => {
    expect(() => rememberedPatternsOf(card, [exactKey, key])).toThrow(
      expect.objectContaining({
        code: 'remember_keys_not_offered',
        details: expect.objectContaining({ not_offered: [key] }),
      }),
    );
  });
});
