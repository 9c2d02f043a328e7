import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { DerivedKey } from '#contracts/permit';
import {
  actionKey,
  compilePattern,
  coversAllOf,
  httpKey,
  matchesKey,
  positionsKey,
  secretKey,
} from '#permission-key';
import { alikeKeys, propertyRuns } from '../../properties.testing.ts';
import { suggestTiers as suggest } from './tiers.ts';
import type { TierWords } from './tiers.ts';

const holder = { kind: 'agent', name: 'claude' } as const;
const suggestTiers = (
  keys: readonly DerivedKey[],
  scope: Parameters<typeof suggest>[1] = [],
  words: Partial<TierWords> = {},
) => suggest(keys, scope, { holder, ...words });

describe('suggestTiers (the suggested rules, narrowest first)', () => {
  test('suggests three tiers for an action with an argument', () => {
    expect(suggestTiers([actionKey('github', 'issues.create', 'acme/site')])).toEqual([
      {
        keys: ['github:issues.create:acme/site'],
        description: 'claude may use issues.create for acme/site with github.',
      },
      {
        keys: ['github:issues.create:*'],
        description: 'claude may use issues.create with github.',
      },
      { keys: ['github:*:*'], description: 'claude may do anything with github.' },
    ]);
  });

  test("describes the service by its title, but suggests keys with the service's name", () => {
    const scope = ['owner', 'repo'].map((label) => ({ label, as: undefined }));
    const key = positionsKey('work', 'issues.create', ['acme', 'site']);
    const action = {
      description: [
        { text: 'Create issue “' },
        { param: 'title' },
        { text: '” in ' },
        { param: 'repo' },
      ],
      isBuiltIn: true,
      positions: [{ ...scope[0]! }, { ...scope[1]!, param: 'repo' }],
    };
    expect(suggestTiers([key], scope, { service: 'GitHub (work)', action })).toEqual([
      {
        keys: ['work:issues.create:acme/site'],
        description: 'claude may create issue “…” in repo site for owner acme with GitHub (work).',
      },
      {
        keys: ['work:issues.create:acme/*'],
        description: 'claude may create issue “…” in any repo for owner acme with GitHub (work).',
      },
      {
        keys: ['work:issues.create:*'],
        description: 'claude may create issue “…” in any repo for any owner with GitHub (work).',
      },
      { keys: ['work:*:*'], description: 'claude may do anything with GitHub (work).' },
    ]);
  });

  test('suggests two tiers for an action without an argument', () => {
    expect(suggestTiers([actionKey('github', 'users.me')]).map(({ keys }) => keys)).toEqual([
      ['github:users.me:*'],
      ['github:*:*'],
    ]);
  });

  test('broadens a call to a full URL to the whole host, then to every method', () => {
    expect(suggestTiers([httpKey('POST', 'a.example:8443', '/v1/x')])).toEqual([
      {
        keys: ['http:POST:a.example:8443/v1/x'],
        description:
          'claude may send POST requests to a.example:8443/v1/x (any query, headers and body).',
      },
      {
        keys: ['http:POST:a.example:8443/**'],
        description: 'claude may send POST requests to anything on a.example:8443.',
      },
      {
        keys: ['http:ANY:a.example:8443/**'],
        description: 'claude may send requests of any method to anything on a.example:8443.',
      },
    ]);
  });

  test('shows invisible and bidirectional characters in encoded form', () => {
    const tiers = suggestTiers([actionKey('notes', 'write', 'r\u202eevil\u200b\u3164')]);

    expect(tiers[0]).toEqual({
      keys: ['notes:write:r%E2%80%AEevil%E2%80%8B%E3%85%A4'],
      description: 'claude may use write for r%E2%80%AEevil%E2%80%8B%E3%85%A4 with notes.',
    });
  });

  test('broadens all permission keys together, but never the key of a secret', () => {
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
      'claude may send POST requests to a.example/x (any query, headers and body), and use the secret token at a.example.',
    );
  });

  test('suggests one tier for the key of a secret alone', () => {
    expect(suggestTiers([secretKey('token', 'a.example')])).toEqual([
      {
        keys: ['secret:token:a.example'],
        description: 'claude may use the secret token at a.example.',
      },
    ]);
  });

  test('suggests tiers that all differ, with sentences no longer than the contract allows', () => {
    const keys = Array.from({ length: 16 }, (_, index) =>
      secretKey(`${'n'.repeat(60)}${index}`, 'a.example'),
    );
    const tiers = suggestTiers([httpKey('GET', 'a.example', `/${'x'.repeat(3000)}`), ...keys]);

    expect(tiers).toHaveLength(3);
    expect(new Set(tiers.map(({ keys }) => keys.join())).size).toBe(3);
    for (const { description } of tiers) expect(description.length).toBeLessThanOrEqual(500);
  });
});

describe('each suggested rule (tier)', () => {
  /** The permission keys of a call, with similar keys. */
  const similarCalls = fc.array(alikeKeys, { minLength: 1, maxLength: 4 }).map((keyPairs) => ({
    keys: keyPairs.map(([key]) => key),
    others: keyPairs.map(([, key]) => key),
  }));
  /**
   * The suggested rules (tiers) as they would be stored. The call's own permission keys are exact
   * patterns.
   */
  const tiersOf = (keys: readonly DerivedKey[]) =>
    suggestTiers(keys).map((tier) =>
      tier.keys.map((text) =>
        compilePattern(
          text,
          keys.some(({ key }) => key === text),
        ),
      ),
    );

  test('allows the whole call; the narrowest tier allows nothing else', () => {
    fc.assert(
      fc.property(similarCalls, ({ keys, others }) => {
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

  test('allows everything that a narrower tier allows', () => {
    fc.assert(
      fc.property(similarCalls, ({ keys, others }) => {
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

describe('the suggested tiers of keys with positions', () => {
  const tiersOf = (scope: NonNullable<Parameters<typeof suggestTiers>[1]>, ...keys: DerivedKey[]) =>
    suggestTiers(keys, scope, {
      action: { description: [], isBuiltIn: true, positions: scope },
    }).map((tier) => [tier.keys, tier.description]);
  const issueScope = [
    { label: 'project', as: undefined },
    { label: 'type', as: undefined },
  ];

  test('allow any value of the last position before they allow the whole action', () => {
    expect(tiersOf(issueScope, positionsKey('jira', 'create', ['OPS', 'Bug']))).toEqual([
      [['jira:create:OPS/Bug'], 'claude may use create for project OPS, type Bug with jira.'],
      [['jira:create:OPS/*'], 'claude may use create for project OPS, any type with jira.'],
      [['jira:create:*'], 'claude may use create for any project, any type with jira.'],
      [['jira:*:*'], 'claude may do anything with jira.'],
    ]);
  });

  test('broaden each mail address to its domain, for all recipients together', () => {
    const keys = ['a@x.example', 'b@x.example'].map((to) => positionsKey('mail', 'send', [to]));
    const recipientScope = [{ label: 'recipient', as: 'email' as const }];
    expect(tiersOf(recipientScope, ...keys).map(([patterns]) => patterns)).toEqual([
      ['mail:send:a@x.example', 'mail:send:b@x.example'],
      ['mail:send:*@x.example'],
      ['mail:send:*'],
      ['mail:*:*'],
    ]);
  });
});
