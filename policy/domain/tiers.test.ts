import { describe, expect, test } from 'vitest';

import { actionKey, httpKey, secretKey } from './keys.ts';
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
        description: 'Allow POST requests to a.example:8443/v1/x only.',
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
      'Allow POST requests to a.example/x only, with the secret token sent to a.example.',
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
