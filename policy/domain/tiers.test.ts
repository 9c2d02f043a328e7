import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { DerivedKey } from '#contracts/permit';
import {
  actionKey,
  compilePattern,
  coversAllOf,
  httpKey,
  matchesKey,
  secretKey,
} from '#permission-key';
import { alikeKeys, propertyRuns } from './properties.testing.ts';
import { suggestTiers } from './tiers.ts';

describe('suggestTiers', () => {
  test('an action with an argument broadens in three steps', () => {
    expect(suggestTiers([actionKey('github', 'issues.create', 'acme/site')])).toEqual([
      {
        keys: ['github:issues.create:acme/site'],
        description: 'Allow issues.create of github for acme/site only.',
      },
      {
        keys: ['github:issues.create:*'],
        description: 'Allow issues.create of github for anything.',
      },
      { keys: ['github:*:*'], description: 'Allow any action of github.' },
    ]);
  });

  test('an action without argument has no step between', () => {
    expect(suggestTiers([actionKey('github', 'users.me')]).map(({ keys }) => keys)).toEqual([
      ['github:users.me:*'],
      ['github:*:*'],
    ]);
  });

  test('raw HTTP broadens to the host, then to every method', () => {
    expect(suggestTiers([httpKey('POST', 'a.example:8443', '/v1/x')])).toEqual([
      {
        keys: ['http:POST:a.example:8443/v1/x'],
        description:
          'Allow POST requests to a.example:8443/v1/x only (any query, headers and body).',
      },
      {
        keys: ['http:POST:a.example:8443/**'],
        description: 'Allow POST requests to anything on a.example:8443.',
      },
      {
        keys: ['http:ANY:a.example:8443/**'],
        description: 'Allow requests of any method to anything on a.example:8443.',
      },
    ]);
  });

  test('no tier holds invisible or bidirectional characters', () => {
    const tiers = suggestTiers([actionKey('notes', 'write', 'r\u202eevil\u200b\u3164')]);

    expect(tiers[0]).toEqual({
      keys: ['notes:write:r%E2%80%AEevil%E2%80%8B%E3%85%A4'],
      description: 'Allow write of notes for r%E2%80%AEevil%E2%80%8B%E3%85%A4 only.',
    });
  });

  test('all keys broaden together, and a secret never does', () => {
    const tiers = suggestTiers([
      httpKey('POST', 'a.example', '/x'),
      secretKey('token', 'a.example'),
    ]);

    expect(tiers.map(({ keys }) => keys)).toEqual([
      ['http:POST:a.example/x', 'secret:token:a.example'],
      ['http:POST:a.example/**', 'secret:token:a.example'],
      ['http:ANY:a.example/**', 'secret:token:a.example'],
    ]);
    expect(tiers[0]?.description).toBe(
      'Allow POST requests to a.example/x only (any query, headers and body), with the secret token sent to a.example.',
    );
  });

  test('a secret alone has one tier', () => {
    expect(suggestTiers([secretKey('token', 'a.example')])).toEqual([
      {
        keys: ['secret:token:a.example'],
        description: 'Allow the secret token sent to a.example.',
      },
    ]);
  });

  test('no tier is offered twice, and no sentence is longer than the contract has room for', () => {
    const keys = Array.from({ length: 16 }, (_, index) =>
      secretKey(`${'n'.repeat(60)}${index}`, 'a.example'),
    );
    const tiers = suggestTiers([httpKey('GET', 'a.example', `/${'x'.repeat(3000)}`), ...keys]);

    expect(tiers).toHaveLength(3);
    expect(new Set(tiers.map(({ keys }) => keys.join())).size).toBe(3);
    for (const { description } of tiers) expect(description.length).toBeLessThanOrEqual(500);
  });
});

describe('each tier', () => {
  /** Keys of a call, and others that are like them. */
  const calls = fc
    .array(alikeKeys, { minLength: 1, maxLength: 4 })
    .map((pairs) => ({ keys: pairs.map(([key]) => key), others: pairs.map(([, key]) => key) }));
  /** As they are planted: a key of the call itself is compared byte for byte. */
  const tiersOf = (keys: readonly DerivedKey[]) =>
    suggestTiers(keys).map((tier) =>
      tier.keys.map((text) =>
        compilePattern(
          text,
          keys.some(({ key }) => key === text),
        ),
      ),
    );

  test('allows all of the call, and the narrowest nothing else', () => {
    fc.assert(
      fc.property(calls, ({ keys, others }) => {
        const tiers = tiersOf(keys);
        for (const key of keys) {
          expect(tiers.map((tier) => tier.some((pattern) => matchesKey(pattern, key)))).toEqual(
            tiers.map(() => true),
          );
        }
        for (const other of others) {
          const isAllowed = tiers[0]?.some((pattern) => matchesKey(pattern, other));
          expect(isAllowed).toBe(keys.some(({ key }) => key === other.key));
        }
      }),
      { numRuns: propertyRuns },
    );
  });

  test('allows whatever a narrower one does', () => {
    fc.assert(
      fc.property(calls, ({ keys, others }) => {
        const tiers = tiersOf(keys);
        for (const [index, wider] of tiers.slice(1).entries()) {
          for (const narrower of tiers[index] ?? []) {
            expect(wider.some((pattern) => coversAllOf(pattern, narrower))).toBe(true);
          }
          for (const other of others) {
            if (!tiers[index]?.some((pattern) => matchesKey(pattern, other))) continue;
            expect(wider.some((pattern) => matchesKey(pattern, other))).toBe(true);
          }
        }
      }),
      { numRuns: propertyRuns },
    );
  });
});
