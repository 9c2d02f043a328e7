import { describe, expect, test } from 'vitest';

import { compilePattern } from '#permission-key';
import { findAuthority, findCover } from './authority.ts';
import type { Need } from './authority.ts';
import type { Rule, Standings } from './rules.ts';
import { callOf, chainOf, createIssue, ruleOn, standing, standings } from './walk.testing.ts';

const key = { kind: 'key', key: createIssue } as const satisfies Need;
const pattern = (text: string): Need => ({ kind: 'pattern', pattern: compilePattern(text, false) });

const chain = chainOf('ann', 'bot', 'sub', 'leaf');
const of = (...rules: Rule[]) => standings(standing(chain, rules));
const authority = (all: Standings, id: string, need: Need = key, call = callOf()) =>
  findAuthority({ standings: all, call, need }, id);
const cover = (all: Standings, id: string, call = callOf()) =>
  findCover({ standings: all, call, need: key }, id);

/** As `plantRules` stores a rule that an agent or subagent made. */
const madeBy = (...creatorChain: string[]) => ({ creatorChain });

describe('authority', () => {
  test('is what the identity itself is allowed', () => {
    const all = of(ruleOn('bot', 'allow github:issues.create:*'));

    expect(authority(all, 'bot')).toMatchObject({ by: 'rule' });
    expect(authority(all, 'sub')).toBeNull();
  });

  test('leaves out what the identity made itself', () => {
    expect(
      authority(of(ruleOn('bot', 'allow github:*:*', madeBy('ann', 'bot'))), 'bot'),
    ).toBeNull();
  });

  test('leaves out what its descendants made', () => {
    const all = of(
      ruleOn('bot', 'allow github:*:*', madeBy('ann', 'bot', 'elsewhere')),
      ruleOn('bot', 'allow gitlab:*:*'),
    );

    expect(authority(all, 'bot')).toBeNull();
  });

  test('ends with a deny on its chain, not with one below it', () => {
    const allow = ruleOn('bot', 'allow github:*:*');

    expect(authority(of(allow, ruleOn('ann', 'deny github:*:*')), 'bot')).toBeNull();
    expect(authority(of(allow, ruleOn('sub', 'deny github:*:*')), 'bot')).not.toBeNull();
  });

  test('holds reads, for the action that was called and no further', () => {
    const read = callOf({ risk: 'read', isOpenRead: true });

    expect(authority(of(), 'bot', key, read)).toEqual({ by: 'read' });
    expect(authority(of(), 'sub', key, read)).toBeNull();
    expect(authority(of(), 'bot', pattern('github:issues.create:*'), read)).toEqual({ by: 'read' });
    expect(authority(of(), 'bot', pattern('github:*:*'), read)).toBeNull();
  });

  test('over a pattern needs a rule that covers all of it', () => {
    const all = of(ruleOn('bot', 'allow github:issues.create:acme/**'));

    expect(authority(all, 'bot', pattern('github:issues.create:acme/*'))).not.toBeNull();
    expect(authority(all, 'bot', pattern('github:issues.create:*'))).toBeNull();
    expect(authority(all, 'bot', pattern('github:*:*'))).toBeNull();
  });

  test('of several rules is held by the one that lasts longest', () => {
    const short = ruleOn('bot', 'allow github:*:*', { expiresAtMs: 1_000 });
    const long = ruleOn('bot', 'allow github:issues.create:*', { expiresAtMs: 2_000 });
    const endless = ruleOn('ann', 'allow github:*:*');

    expect(authority(of(short, long), 'bot')).toEqual({ by: 'rule', rule: long });
    expect(authority(of(long, short), 'bot')).toEqual({ by: 'rule', rule: long });
    expect(authority(of(long, endless, short), 'bot')).toEqual({ by: 'rule', rule: endless });
  });
});

describe('a rule that an agent made', () => {
  const planted = ruleOn('sub', 'allow github:issues.create:*', madeBy('ann', 'bot'));

  test('counts while its maker holds the key itself', () => {
    expect(cover(of(planted, ruleOn('bot', 'allow github:*:*')), 'sub')).toMatchObject({
      by: 'rule',
    });
  });

  test('no longer counts when the maker has lost it', () => {
    expect(cover(of(planted), 'sub')).toBeNull();
    expect(cover(of(planted, ruleOn('bot', 'allow github:issues.create:other')), 'sub')).toBeNull();
  });

  test('rests on a chain of makers, each of whom must hold it', () => {
    const bySub = ruleOn('leaf', 'allow github:*:*', madeBy('ann', 'bot', 'sub'));
    const held = ruleOn('bot', 'allow github:*:*');

    expect(cover(of(bySub, planted, held), 'leaf')).toMatchObject({ by: 'rule' });
    expect(cover(of(bySub, held), 'leaf')).toBeNull();
    expect(cover(of(bySub, planted), 'leaf')).toBeNull();
  });

  test('counts by what its maker may read', () => {
    const read = callOf({ risk: 'read', isOpenRead: true });

    expect(cover(of(planted), 'sub', read)).toMatchObject({ by: 'rule' });
  });

  const elsewhere = chainOf('ann', 'bot', 'other+');
  const byOther = ruleOn('bot', 'allow github:*:*', madeBy('ann', 'bot', 'other'));

  test('and that stands elsewhere needs its own standing', () => {
    const own = ruleOn('other', 'allow github:*:*');
    const callers = standing(chainOf('ann', 'bot', 'sub+'), [byOther]);

    expect(cover(standings(callers, standing(elsewhere, [byOther, own])), 'sub')).toMatchObject({
      by: 'rule',
    });
    expect(cover(standings(callers, standing(elsewhere, [byOther])), 'sub')).toBeNull();
    expect(cover(standings(callers), 'sub')).toBeNull();
  });

  test('and a deny on its maker alone ends it', () => {
    const rules = [
      byOther,
      ruleOn('other', 'allow github:*:*'),
      ruleOn('other', 'deny github:*:*'),
    ];
    const callers = standing(chainOf('ann', 'bot', 'sub+'), [byOther]);

    expect(cover(standings(callers, standing(elsewhere, rules)), 'sub')).toBeNull();
  });

  test('does not count by holding up the rule it is held up by', () => {
    const bySecond = ruleOn('bot', 'allow github:*:*', madeBy('ann', 'bot', 'second'));
    const byThird = ruleOn('bot', 'allow github:*:*', madeBy('ann', 'bot', 'third'));
    const rules = [bySecond, byThird];
    const all = standings(
      standing(chainOf('ann', 'bot', 'sub+'), rules),
      standing(chainOf('ann', 'bot', 'second+'), rules),
      standing(chainOf('ann', 'bot', 'third+'), rules),
    );

    expect(cover(all, 'sub')).toBeNull();
    expect(authority(all, 'second')).toBeNull();
  });

  test('sixty makers that only hold each other up are seen through at once', () => {
    const names = Array.from({ length: 60 }, (_, index) => `maker${index}`);
    const rules = names.map((name) =>
      ruleOn('bot', 'allow github:*:*', madeBy('ann', 'bot', name)),
    );
    const all = standings(
      standing(chainOf('ann', 'bot', 'sub+'), rules),
      ...names.map((name) => standing(chainOf('ann', 'bot', `${name}+`), rules)),
    );

    expect(cover(all, 'sub')).toBeNull();
  });
});
