import { describe, expect, test } from 'vitest';

import { compilePattern } from '#permission-key';
import type { Rule } from '../../rules/domain/rule.ts';
import { findAuthority, findCover } from './authority.ts';
import type { CoverNeed } from './authority.ts';
import type { RulesByIdentity } from './chain-rules.ts';
import {
  callOf,
  chainOf,
  createIssue,
  ruleOn,
  createChainRules,
  createRulesByIdentity,
} from './walk.testing.ts';

const keyNeed = { kind: 'key', key: createIssue } as const satisfies CoverNeed;
const toPatternNeed = (text: string): CoverNeed => ({
  kind: 'pattern',
  pattern: compilePattern(text, false),
});

const chain = chainOf('ann', 'bot', 'sub', 'leaf');
const createRules = (...rules: Rule[]) => createRulesByIdentity(createChainRules(chain, rules));
const findAuthorityOf = (
  rulesById: RulesByIdentity,
  id: string,
  need: CoverNeed = keyNeed,
  call = callOf(),
) => findAuthority({ rulesByIdentity: rulesById, call, need }, id);
const findCoverOf = (rulesById: RulesByIdentity, id: string, call = callOf()) =>
  findCover({ rulesByIdentity: rulesById, call, need: keyNeed }, id);

/** The creator of a rule that an agent or subagent made, in the form that `plantRules` stores. */
const madeBy = (...creatorChain: string[]) => ({ creatorChain });

describe('findAuthority (the authority of an identity)', () => {
  test('covers what the identity itself is allowed', () => {
    const rulesById = createRules(ruleOn('bot', 'allow github:issues.create:*'));

    expect(findAuthorityOf(rulesById, 'bot')).toMatchObject({ by: 'rule' });
    expect(findAuthorityOf(rulesById, 'sub')).toBeNull();
  });

  test('ignores rules that the identity made', () => {
    expect(
      findAuthorityOf(createRules(ruleOn('bot', 'allow github:*:*', madeBy('ann', 'bot'))), 'bot'),
    ).toBeNull();
  });

  test('ignores rules that its descendants made', () => {
    const rulesById = createRules(
      ruleOn('bot', 'allow github:*:*', madeBy('ann', 'bot', 'elsewhere')),
      ruleOn('bot', 'allow gitlab:*:*'),
    );

    expect(findAuthorityOf(rulesById, 'bot')).toBeNull();
  });

  test('ends with a deny rule on the identity or on an ancestor, but not with a deny rule on a descendant', () => {
    const allow = ruleOn('bot', 'allow github:*:*');

    expect(findAuthorityOf(createRules(allow, ruleOn('ann', 'deny github:*:*')), 'bot')).toBeNull();
    expect(
      findAuthorityOf(createRules(allow, ruleOn('sub', 'deny github:*:*')), 'bot'),
    ).not.toBeNull();
  });

  test('covers, by the read allowance, reads of the called action only', () => {
    const openRead = callOf({ risk: 'read', isOpenRead: true });

    expect(findAuthorityOf(createRules(), 'bot', keyNeed, openRead)).toEqual({ by: 'read' });
    expect(findAuthorityOf(createRules(), 'sub', keyNeed, openRead)).toBeNull();
    expect(
      findAuthorityOf(createRules(), 'bot', toPatternNeed('github:issues.create:*'), openRead),
    ).toEqual({
      by: 'read',
    });
    expect(findAuthorityOf(createRules(), 'bot', toPatternNeed('github:*:*'), openRead)).toBeNull();
  });

  test('covers a pattern only if a rule covers all of the pattern', () => {
    const rulesById = createRules(ruleOn('bot', 'allow github:issues.create:acme/**'));

    expect(
      findAuthorityOf(rulesById, 'bot', toPatternNeed('github:issues.create:acme/*')),
    ).not.toBeNull();
    expect(findAuthorityOf(rulesById, 'bot', toPatternNeed('github:issues.create:*'))).toBeNull();
    expect(findAuthorityOf(rulesById, 'bot', toPatternNeed('github:*:*'))).toBeNull();
  });

  test('comes from the rule that lasts longest when several rules cover the key', () => {
    const shorterRule = ruleOn('bot', 'allow github:*:*', { expiresAtMs: 1_000 });
    const longerRule = ruleOn('bot', 'allow github:issues.create:*', { expiresAtMs: 2_000 });
    const endlessRule = ruleOn('ann', 'allow github:*:*');

    expect(findAuthorityOf(createRules(shorterRule, longerRule), 'bot')).toEqual({
      by: 'rule',
      rule: longerRule,
    });
    expect(findAuthorityOf(createRules(longerRule, shorterRule), 'bot')).toEqual({
      by: 'rule',
      rule: longerRule,
    });
    expect(findAuthorityOf(createRules(longerRule, endlessRule, shorterRule), 'bot')).toEqual({
      by: 'rule',
      rule: endlessRule,
    });
  });
});

describe('a rule that an agent made', () => {
  const plantedRule = ruleOn('sub', 'allow github:issues.create:*', madeBy('ann', 'bot'));

  test("counts while its maker's authority covers the key", () => {
    expect(
      findCoverOf(createRules(plantedRule, ruleOn('bot', 'allow github:*:*')), 'sub'),
    ).toMatchObject({
      by: 'rule',
    });
  });

  test("stops counting when its maker's authority ends", () => {
    expect(findCoverOf(createRules(plantedRule), 'sub')).toBeNull();
    expect(
      findCoverOf(
        createRules(plantedRule, ruleOn('bot', 'allow github:issues.create:other')),
        'sub',
      ),
    ).toBeNull();
  });

  test('counts, when it depends on another rule that an agent made, only if that other rule counts', () => {
    const ruleBySub = ruleOn('leaf', 'allow github:*:*', madeBy('ann', 'bot', 'sub'));
    const ruleOfAgent = ruleOn('bot', 'allow github:*:*');

    expect(findCoverOf(createRules(ruleBySub, plantedRule, ruleOfAgent), 'leaf')).toMatchObject({
      by: 'rule',
    });
    expect(findCoverOf(createRules(ruleBySub, ruleOfAgent), 'leaf')).toBeNull();
    expect(findCoverOf(createRules(ruleBySub, plantedRule), 'leaf')).toBeNull();
  });

  test('counts while its maker has the read allowance', () => {
    const openRead = callOf({ risk: 'read', isOpenRead: true });

    expect(findCoverOf(createRules(plantedRule), 'sub', openRead)).toMatchObject({ by: 'rule' });
  });

  const otherChain = chainOf('ann', 'bot', 'other+');
  const ruleByOther = ruleOn('bot', 'allow github:*:*', madeBy('ann', 'bot', 'other'));

  test("counts, when its maker is not on the caller's chain, only while the maker's own rules cover the key", () => {
    const ruleOnOther = ruleOn('other', 'allow github:*:*');
    const callerRules = createChainRules(chainOf('ann', 'bot', 'sub+'), [ruleByOther]);

    expect(
      findCoverOf(
        createRulesByIdentity(
          callerRules,
          createChainRules(otherChain, [ruleByOther, ruleOnOther]),
        ),
        'sub',
      ),
    ).toMatchObject({
      by: 'rule',
    });
    expect(
      findCoverOf(
        createRulesByIdentity(callerRules, createChainRules(otherChain, [ruleByOther])),
        'sub',
      ),
    ).toBeNull();
    expect(findCoverOf(createRulesByIdentity(callerRules), 'sub')).toBeNull();
  });

  test('stops counting when a deny rule is made on its maker only', () => {
    const rules = [
      ruleByOther,
      ruleOn('other', 'allow github:*:*'),
      ruleOn('other', 'deny github:*:*'),
    ];
    const callerRules = createChainRules(chainOf('ann', 'bot', 'sub+'), [ruleByOther]);

    expect(
      findCoverOf(createRulesByIdentity(callerRules, createChainRules(otherChain, rules)), 'sub'),
    ).toBeNull();
  });

  test("does not count when its maker's only authority is a rule that depends on it", () => {
    const ruleBySecond = ruleOn('bot', 'allow github:*:*', madeBy('ann', 'bot', 'second'));
    const ruleByThird = ruleOn('bot', 'allow github:*:*', madeBy('ann', 'bot', 'third'));
    const rules = [ruleBySecond, ruleByThird];
    const rulesById = createRulesByIdentity(
      createChainRules(chainOf('ann', 'bot', 'sub+'), rules),
      createChainRules(chainOf('ann', 'bot', 'second+'), rules),
      createChainRules(chainOf('ann', 'bot', 'third+'), rules),
    );

    expect(findCoverOf(rulesById, 'sub')).toBeNull();
    expect(findAuthorityOf(rulesById, 'second')).toBeNull();
  });

  test("is judged in bounded time when sixty makers have authority only through each other's rules", () => {
    const makerNames = Array.from({ length: 60 }, (_, index) => `maker${index}`);
    const rules = makerNames.map((name) =>
      ruleOn('bot', 'allow github:*:*', madeBy('ann', 'bot', name)),
    );
    const rulesById = createRulesByIdentity(
      createChainRules(chainOf('ann', 'bot', 'sub+'), rules),
      ...makerNames.map((name) => createChainRules(chainOf('ann', 'bot', `${name}+`), rules)),
    );

    expect(findCoverOf(rulesById, 'sub')).toBeNull();
  });
});
