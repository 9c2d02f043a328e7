import { describe, expect, test } from 'vitest';

import type { ChainLink } from '#contracts/vocabulary';
import { actionKey, compilePattern, httpKey, secretKey } from '#permission-key';
import type { Glob } from '#permission-key';
import type { Rule } from '../../rules/domain/rule.ts';
import { switchOf } from './chain-rules.ts';
import { denialReason } from './denial.ts';
import {
  callOf,
  chainOf,
  createIssue,
  ruleOn,
  createChainRules,
  createRulesByIdentity,
} from './walk.testing.ts';
import { walk } from './walk.ts';

const outcomeOf = (chain: ChainLink[], rules: readonly Rule[], call = callOf()) =>
  walk(createRulesByIdentity(createChainRules(chain, rules)), chain.at(-1)?.id ?? '', call).outcome;

const agentChain = chainOf('ann', 'bot');
const subagentChain = chainOf('ann', 'bot', 'sub');
const inheritingChain = chainOf('ann', 'bot', 'sub+');

describe('the rules that apply to a caller', () => {
  test.for<[name: string, chain: ChainLink[], rules: Rule[], expected: string]>([
    ['are none: the call ends in a permission gap', agentChain, [], 'gap'],
    [
      'include a rule on the caller',
      agentChain,
      [ruleOn('bot', 'allow github:issues.create:*')],
      'allowed',
    ],
    ['include a rule on the org', subagentChain, [ruleOn(null, 'allow github:*:*')], 'allowed'],
    [
      'include, for an agent, the rules on its user',
      agentChain,
      [ruleOn('ann', 'allow github:*:*')],
      'allowed',
    ],
    [
      'do not include, for a subagent that does not inherit, the rules on its agent',
      subagentChain,
      [ruleOn('bot', 'allow *:*:*')],
      'gap',
    ],
    [
      'do not include, for a subagent that does not inherit, the rules on its user',
      subagentChain,
      [ruleOn('ann', 'allow *:*:*')],
      'gap',
    ],
    [
      'include, for a subagent that inherits, the rules on its agent',
      inheritingChain,
      [ruleOn('bot', 'allow github:*:*')],
      'allowed',
    ],
    [
      'include, for a subagent that inherits, the rules on its user',
      inheritingChain,
      [ruleOn('ann', 'allow github:*:*')],
      'allowed',
    ],
    [
      'do not include the rules above the first subagent that does not inherit',
      chainOf('ann', 'bot', 'sub', 'leaf+'),
      [ruleOn('bot', 'allow github:*:*')],
      'gap',
    ],
    [
      'include the rules on the first subagent that does not inherit',
      chainOf('ann', 'bot', 'sub', 'leaf+'),
      [ruleOn('sub', 'allow github:*:*')],
      'allowed',
    ],
    [
      'do not allow the call with a rule for another argument',
      agentChain,
      [ruleOn('bot', 'allow github:issues.create:acme/api')],
      'gap',
    ],
    [
      'do not allow the call with a rule for another service',
      agentChain,
      [ruleOn('bot', 'allow gitlab:*:*')],
      'gap',
    ],
    [
      "do not allow the call with a rule for the org's service of the same name",
      agentChain,
      [ruleOn('bot', 'allow org/github:*:*')],
      'gap',
    ],
  ])('%s (outcome: $3)', ([, chain, rules, expected]) => {
    expect(outcomeOf(chain, rules)).toBe(expected);
  });

  test('must cover every permission key of a call; the uncovered keys form the permission gap', () => {
    const keys = [httpKey('GET', 'a.example', '/x'), secretKey('token', 'a.example')];
    const rules = [ruleOn('bot', 'allow http:GET:a.example/**')];
    const verdict = walk(
      createRulesByIdentity(createChainRules(agentChain, rules)),
      'bot',
      callOf({ keys }),
    );

    expect(verdict).toMatchObject({
      outcome: 'gap',
      keys: [{ cover: { by: 'rule' } }, { key: { key: 'secret:token:a.example' }, cover: null }],
    });
  });
});

describe('a deny rule', () => {
  const allowRule = ruleOn('bot', 'allow github:issues.create:acme/site');

  test.for<[name: string, deny: Rule]>([
    ['when it is on the caller', ruleOn('bot', 'deny github:issues.create:*')],
    ['when it is on the user of the caller, however broad it is', ruleOn('ann', 'deny *:*:*')],
    ['when it is on the org', ruleOn(null, 'deny github:*:*')],
    [
      'when its risk_at_least is not above the risk of the call',
      ruleOn(null, 'deny github:*:*', { riskAtLeast: 'write' }),
    ],
  ])('%s', ([, deny]) => {
    expect(outcomeOf(agentChain, [allowRule, deny])).toBe('denied');
    expect(outcomeOf(agentChain, [deny, allowRule])).toBe('denied');
  });

  test('applies when it is on an ancestor from which the caller does not inherit', () => {
    expect(
      outcomeOf(subagentChain, [ruleOn('sub', 'allow *:*:*'), ruleOn('bot', 'deny github:*:*')]),
    ).toBe('denied');
  });

  test.for<[name: string, deny: Rule]>([
    ['another argument', ruleOn('bot', 'deny github:issues.create:acme/api')],
    [
      'a higher risk than that of the call',
      ruleOn(null, 'deny github:*:*', { riskAtLeast: 'delete' }),
    ],
  ])('unless it is for %s', ([, deny]) => {
    expect(outcomeOf(agentChain, [allowRule, deny])).toBe('allowed');
  });

  test('applies when it matches any other name of the call; an allow rule does not match other names', () => {
    const denyNames = [
      { service: 'hub', action: 'issues.create', args: undefined, risk: 'write' as const },
    ];
    const call = callOf({ denyNames });

    expect(outcomeOf(agentChain, [allowRule, ruleOn('ann', 'deny hub:*:*')], call)).toBe('denied');
    expect(
      outcomeOf(agentChain, [allowRule, ruleOn('ann', 'deny hub:issues.create:any')], call),
    ).toBe('denied');
    expect(outcomeOf(agentChain, [allowRule, ruleOn('ann', 'deny hub:issues.close:*')], call)).toBe(
      'allowed',
    );
    expect(outcomeOf(agentChain, [ruleOn('bot', 'allow hub:*:*')], call)).toBe('gap');
  });

  test('applies when it is for a higher risk, which another name of the call has', () => {
    const denyNames = [
      { service: 'hub', action: 'repos.delete', args: undefined, risk: 'delete' as const },
    ];
    const deny = ruleOn(null, 'deny *:*:*', { riskAtLeast: 'delete' });

    expect(outcomeOf(agentChain, [allowRule, deny], callOf({ risk: 'read', denyNames }))).toBe(
      'denied',
    );
    expect(outcomeOf(agentChain, [allowRule, deny], callOf({ risk: 'read' }))).toBe('allowed');
  });

  test('causes a denial whose reason names the identity that the rule is on', () => {
    const deny = ruleOn('bot', 'deny github:*:*');

    expect(denialReason({ rule: deny, key: createIssue.key }, agentChain)).toBe(
      'A deny rule of agent bot (github:*:*) refuses github:issues.create:acme/site.',
    );
    expect(denialReason({ rule: ruleOn(null, 'deny github:*:*'), key: 'k' }, agentChain)).toContain(
      'of the org',
    );
  });
});

describe('an allow rule that is limited', () => {
  test.for<[name: string, more: Partial<Rule>, expected: string]>([
    [
      'allows a call of the service that the rule is limited to',
      { serviceId: 'service-1' },
      'allowed',
    ],
    [
      'does not allow a call of another service of the same name',
      { serviceId: 'service-2' },
      'gap',
    ],
    [
      'allows a call with the credential that the rule is limited to',
      { credentialId: 'secret-1' },
      'allowed',
    ],
    ['does not allow a call with another credential', { credentialId: 'secret-2' }, 'gap'],
    [
      'does not allow a call when self-approval made the rule and is switched off',
      { viaClientId: 'editor' },
      'gap',
    ],
  ])('%s (outcome: $2)', ([, more, expected]) => {
    expect(outcomeOf(agentChain, [ruleOn('bot', 'allow github:*:*', more)])).toBe(expected);
  });

  test('counts, if self-approval made it, while self-approval is switched on for the same client', () => {
    const rules = [ruleOn('bot', 'allow github:*:*', { viaClientId: 'editor' })];
    const on = createRulesByIdentity(
      createChainRules(agentChain, rules, [switchOf('bot', 'editor')]),
    );
    const otherRules = createRulesByIdentity(
      createChainRules(agentChain, rules, [switchOf('bot', 'terminal'), switchOf('ann', 'editor')]),
    );

    expect(walk(on, 'bot', callOf()).outcome).toBe('allowed');
    expect(walk(otherRules, 'bot', callOf()).outcome).toBe('gap');
  });
});

describe('many deny rules', () => {
  const callWith = (arg: string) => callOf({ keys: [actionKey('mail', 'send', arg)] });
  const createDenyRules = (make: (index: number) => string) =>
    Array.from({ length: 500 }, (_, index) => ruleOn('bot', `deny *:*:${make(index)}`));

  test('do not block policy with long patterns: a call that takes too long to compare is refused', () => {
    const longText = 'a'.repeat(150);
    const rules = createDenyRules(() => `**${longText}*${longText}b`);
    const arg = `${'a'.repeat(3000)}/${longText}b`;

    expect(() => outcomeOf(agentChain, rules, callWith(arg))).toThrow('too long to compare');
    expect(outcomeOf(agentChain, rules, callWith('a'))).toBe('gap');
  });

  test('are compared with an argument of any length if their patterns have the usual length', () => {
    const rules = createDenyRules((index) => `**@evil-${index}.example`);
    const to = 'somebody@good.example, '.repeat(170);

    expect(outcomeOf(agentChain, rules, callWith(to))).toBe('gap');
    expect(outcomeOf(agentChain, rules, callWith(`${to}x@evil-499.example`))).toBe('denied');
  });

  test('use little memory, even with long patterns of many different characters', () => {
    const text = Array.from({ length: 300 }, (_, at) => String.fromCharCode(0x4e00 + at)).join('');
    const { arg } = compilePattern(`*:*:**${text}`, false);
    const { moves } = arg as Glob;

    expect(moves.byteLength).toBeLessThan(16_384);
  });

  test('use no more memory than the text of their patterns, if an earlier version stored them', () => {
    const text = Array.from({ length: 4000 }, (_, at) => String.fromCharCode(0x4e00 + at)).join('');
    const { arg } = compilePattern(`*:*:**${text}`, false);
    const { moves } = arg as Glob;

    expect(moves.byteLength).toBeLessThan(4 * 4096);
    expect(outcomeOf(agentChain, [ruleOn('bot', `deny *:*:**${text}`)], callWith(`a${text}`))).toBe(
      'denied',
    );
    expect(
      outcomeOf(agentChain, [ruleOn('bot', `deny *:*:**${text}b`)], callWith(`a${text}`)),
    ).toBe('gap');
  });
});

describe('a read of a service that allows reads without a rule', () => {
  const openRead = callOf({ risk: 'read', isOpenRead: true });

  test.for<[name: string, chain: ChainLink[], expected: string]>([
    ['is allowed to an agent', agentChain, 'allowed'],
    [
      'is allowed to a subagent when it and every subagent above it inherit',
      chainOf('ann', 'bot', 'sub+', 'leaf+'),
      'allowed',
    ],
    ['is not allowed to a subagent that does not inherit', subagentChain, 'gap'],
    [
      'is not allowed to a subagent below a subagent that does not inherit',
      chainOf('ann', 'bot', 'sub', 'leaf+'),
      'gap',
    ],
  ])('%s (outcome: $2)', ([, chain, expected]) => {
    expect(outcomeOf(chain, [], openRead)).toBe(expected);
  });

  test('is refused by a deny rule', () => {
    expect(outcomeOf(agentChain, [ruleOn('ann', 'deny github:*:*')], openRead)).toBe('denied');
  });

  test('is different from a read of any other service, which needs a rule', () => {
    expect(outcomeOf(agentChain, [], callOf({ risk: 'read' }))).toBe('gap');
  });
});
