import { describe, expect, test } from 'vitest';

import { anApproval } from '../fixtures.testing.ts';
import { mayStop, usageOf, wordsOf } from './planted-rules-view.ts';
import type { PlantedRule } from './planted-rules.queries.ts';

describe('who may stop what a decision allows', () => {
  const decidedBy = (id: string, kind: 'user' | 'agent') =>
    anApproval({ may_resolve: ['ann', 'bot'], resolved_by: { id, kind, name: id, path: [id] } });
  const ann = { id: 'ann', role: 'member' as const };

  test.each([
    ['an admin, for any decider', { id: 'ben', role: 'admin' as const }, 'ann', 'user', true],
    ['the user who decided', ann, 'ann', 'user', true],
    ['the user whose agent decided', ann, 'bot', 'agent', true],
    ['the user, after the decision of an admin', ann, 'ben', 'user', false],
    ['another member', { id: 'cem', role: 'member' as const }, 'ann', 'user', false],
    ['an auditor', { id: 'ann', role: 'auditor' as const }, 'ann', 'user', false],
  ] as const)('%s: $4', (_, me, decider, kind, expected) => {
    expect(mayStop(me, decidedBy(decider, kind))).toBe(expected);
  });
});

describe('a rule that a decision created', () => {
  const rule = (differences: Partial<PlantedRule>): PlantedRule =>
    ({
      pattern: 'github:create_issue:*',
      use_count: 0,
      last_used_at: null,
      ...differences,
    }) as PlantedRule;

  test('is described by its own words, by those of its suggestion, or by its pattern', () => {
    const approval = anApproval();
    expect(wordsOf(rule({ description: 'deploy-bot may create issues' }), approval)).toBe(
      'deploy-bot may create issues',
    );
    expect(wordsOf(rule({}), approval)).toBe('This action on anything');
    expect(wordsOf(rule({ pattern: 'secret:token:host' }), approval)).toBe('secret:token:host');
  });

  test('has a use count, of which the highest counts for the whole decision', () => {
    const rules = [
      rule({ used: { count: 3, last_at: '2026-05-02T10:00:00.000Z' } }),
      rule({ use_count: 5, last_used_at: '2026-05-01T10:00:00.000Z' }),
      rule({ used: null }),
    ];
    expect(usageOf(rules)).toEqual({ count: 5, lastAt: '2026-05-02T10:00:00.000Z' });
    expect(usageOf([])).toEqual({ count: 0, lastAt: null });
  });
});
