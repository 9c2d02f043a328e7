import { describe, expect, test } from 'vitest';

import type { ChainLink } from '#contracts/vocabulary';
import { actionKey, compilePattern, httpKey, secretKey } from '#permission-key';
import type { Glob } from '#permission-key';
import { denialReason } from './denials.ts';
import { switchOf } from './rules.ts';
import type { Rule } from './rules.ts';
import { walk } from './walk.ts';
import { callOf, chainOf, createIssue, ruleOn, standing, standings } from './walk.testing.ts';

const outcomeOf = (chain: ChainLink[], rules: readonly Rule[], call = callOf()) =>
  walk(standings(standing(chain, rules)), chain.at(-1)?.id ?? '', call).outcome;

const agent = chainOf('ann', 'bot');
const sub = chainOf('ann', 'bot', 'sub');
const heir = chainOf('ann', 'bot', 'sub+');

describe('reach', () => {
  test.for<[name: string, chain: ChainLink[], rules: Rule[], expected: string]>([
    ['nothing allows: a gap', agent, [], 'gap'],
    ['a rule on the caller', agent, [ruleOn('bot', 'allow github:issues.create:*')], 'allowed'],
    ['a rule on the org reaches everybody', sub, [ruleOn(null, 'allow github:*:*')], 'allowed'],
    ['an agent always reaches its user', agent, [ruleOn('ann', 'allow github:*:*')], 'allowed'],
    ['a subagent that does not inherit reaches nobody', sub, [ruleOn('bot', 'allow *:*:*')], 'gap'],
    ['not even its user', sub, [ruleOn('ann', 'allow *:*:*')], 'gap'],
    [
      'a subagent that inherits reaches its agent',
      heir,
      [ruleOn('bot', 'allow github:*:*')],
      'allowed',
    ],
    ['and through it the user', heir, [ruleOn('ann', 'allow github:*:*')], 'allowed'],
    [
      'inheriting stops at the first that does not',
      chainOf('ann', 'bot', 'sub', 'leaf+'),
      [ruleOn('bot', 'allow github:*:*')],
      'gap',
    ],
    [
      'but includes it',
      chainOf('ann', 'bot', 'sub', 'leaf+'),
      [ruleOn('sub', 'allow github:*:*')],
      'allowed',
    ],
    [
      'a rule for another argument',
      agent,
      [ruleOn('bot', 'allow github:issues.create:acme/api')],
      'gap',
    ],
    ['a rule for another service', agent, [ruleOn('bot', 'allow gitlab:*:*')], 'gap'],
    [
      "a rule for the org's service of that name",
      agent,
      [ruleOn('bot', 'allow org/github:*:*')],
      'gap',
    ],
  ])('%s', ([, chain, rules, expected]) => {
    expect(outcomeOf(chain, rules)).toBe(expected);
  });

  test('every key must be allowed, and the uncovered ones are the gap', () => {
    const keys = [httpKey('GET', 'a.example', '/x'), secretKey('token', 'a.example')];
    const rules = [ruleOn('bot', 'allow http:GET:a.example/**')];
    const verdict = walk(standings(standing(agent, rules)), 'bot', callOf({ keys }));

    expect(verdict).toMatchObject({
      outcome: 'gap',
      keys: [{ cover: { by: 'rule' } }, { key: { key: 'secret:token:a.example' }, cover: null }],
    });
  });
});

describe('deny wins', () => {
  const allowed = ruleOn('bot', 'allow github:issues.create:acme/site');

  test.for<[name: string, deny: Rule]>([
    ['on the caller', ruleOn('bot', 'deny github:issues.create:*')],
    ['on its user, however broad', ruleOn('ann', 'deny *:*:*')],
    ['on the org', ruleOn(null, 'deny github:*:*')],
    ['of at least this risk', ruleOn(null, 'deny github:*:*', { riskAtLeast: 'write' })],
  ])('%s', ([, deny]) => {
    expect(outcomeOf(agent, [allowed, deny])).toBe('denied');
    expect(outcomeOf(agent, [deny, allowed])).toBe('denied');
  });

  test('on an ancestor that the caller does not even inherit from', () => {
    expect(outcomeOf(sub, [ruleOn('sub', 'allow *:*:*'), ruleOn('bot', 'deny github:*:*')])).toBe(
      'denied',
    );
  });

  test.for<[name: string, deny: Rule]>([
    ['a deny for another argument', ruleOn('bot', 'deny github:issues.create:acme/api')],
    ['a deny for more risk', ruleOn(null, 'deny github:*:*', { riskAtLeast: 'delete' })],
  ])('%s does not concern the call', ([, deny]) => {
    expect(outcomeOf(agent, [allowed, deny])).toBe('allowed');
  });

  test('a call is also denied by its other names, and allowed by none of them', () => {
    const denyNames = [
      { service: 'hub', action: 'issues.create', args: undefined, risk: 'write' as const },
    ];
    const call = callOf({ denyNames });

    expect(outcomeOf(agent, [allowed, ruleOn('ann', 'deny hub:*:*')], call)).toBe('denied');
    expect(outcomeOf(agent, [allowed, ruleOn('ann', 'deny hub:issues.create:any')], call)).toBe(
      'denied',
    );
    expect(outcomeOf(agent, [allowed, ruleOn('ann', 'deny hub:issues.close:*')], call)).toBe(
      'allowed',
    );
    expect(outcomeOf(agent, [ruleOn('bot', 'allow hub:*:*')], call)).toBe('gap');
  });

  test('another name can be riskier than the call says it is', () => {
    const denyNames = [
      { service: 'hub', action: 'repos.delete', args: undefined, risk: 'delete' as const },
    ];
    const deny = ruleOn(null, 'deny *:*:*', { riskAtLeast: 'delete' });

    expect(outcomeOf(agent, [allowed, deny], callOf({ risk: 'read', denyNames }))).toBe('denied');
    expect(outcomeOf(agent, [allowed, deny], callOf({ risk: 'read' }))).toBe('allowed');
  });

  test('the reason names whose rule it is', () => {
    const deny = ruleOn('bot', 'deny github:*:*');

    expect(denialReason({ rule: deny, key: createIssue.key }, agent)).toBe(
      'A deny rule of agent bot (github:*:*) refuses github:issues.create:acme/site.',
    );
    expect(denialReason({ rule: ruleOn(null, 'deny github:*:*'), key: 'k' }, agent)).toContain(
      'of the org',
    );
  });
});

describe('what binds a rule', () => {
  test.for<[name: string, more: Partial<Rule>, expected: string]>([
    ['the service it was planted for', { serviceId: 'service-1' }, 'allowed'],
    ['another service of the same name', { serviceId: 'service-2' }, 'gap'],
    ['the credential it was planted for', { credentialId: 'secret-1' }, 'allowed'],
    ['another credential', { credentialId: 'secret-2' }, 'gap'],
    ['self-approval, its switch off', { viaClientId: 'editor' }, 'gap'],
  ])('%s', ([, more, expected]) => {
    expect(outcomeOf(agent, [ruleOn('bot', 'allow github:*:*', more)])).toBe(expected);
  });

  test('a rule made by self-approval counts while the switch of its client is on', () => {
    const rules = [ruleOn('bot', 'allow github:*:*', { viaClientId: 'editor' })];
    const on = standings(standing(agent, rules, [switchOf('bot', 'editor')]));
    const other = standings(
      standing(agent, rules, [switchOf('bot', 'terminal'), switchOf('ann', 'editor')]),
    );

    expect(walk(on, 'bot', callOf()).outcome).toBe('allowed');
    expect(walk(other, 'bot', callOf()).outcome).toBe('gap');
  });
});

describe('many long deny rules', () => {
  const callWith = (arg: string) => callOf({ keys: [actionKey('mail', 'send', arg)] });
  const denies = (make: (index: number) => string) =>
    Array.from({ length: 500 }, (_, index) => ruleOn('bot', `deny *:*:${make(index)}`));

  test('do not hold up policy: a call that takes too long to compare is refused', () => {
    const run = 'a'.repeat(150);
    const rules = denies(() => `**${run}*${run}b`);
    const arg = `${'a'.repeat(3000)}/${run}b`;

    expect(() => outcomeOf(agent, rules, callWith(arg))).toThrow('too long to compare');
    expect(outcomeOf(agent, rules, callWith('a'))).toBe('gap');
  });

  test('of the usual kind compare with an argument of any length', () => {
    const rules = denies((index) => `**@evil-${index}.example`);
    const to = 'somebody@good.example, '.repeat(170);

    expect(outcomeOf(agent, rules, callWith(to))).toBe('gap');
    expect(outcomeOf(agent, rules, callWith(`${to}x@evil-499.example`))).toBe('denied');
  });

  test('take little room, whatever they are written of', () => {
    const text = Array.from({ length: 300 }, (_, at) => String.fromCharCode(0x4e00 + at)).join('');
    const { arg } = compilePattern(`*:*:**${text}`, false);
    const { moves } = arg as Glob;

    expect(moves.byteLength).toBeLessThan(16_384);
  });

  test('of an earlier version, whatever their length, take no more room than their text', () => {
    const text = Array.from({ length: 4000 }, (_, at) => String.fromCharCode(0x4e00 + at)).join('');
    const { arg } = compilePattern(`*:*:**${text}`, false);
    const { moves } = arg as Glob;

    expect(moves.byteLength).toBeLessThan(4 * 4096);
    expect(outcomeOf(agent, [ruleOn('bot', `deny *:*:**${text}`)], callWith(`a${text}`))).toBe(
      'denied',
    );
    expect(outcomeOf(agent, [ruleOn('bot', `deny *:*:**${text}b`)], callWith(`a${text}`))).toBe(
      'gap',
    );
  });
});

describe('reads', () => {
  const read = callOf({ risk: 'read', isOpenRead: true });

  test.for<[name: string, chain: ChainLink[], expected: string]>([
    ['an agent', agent, 'allowed'],
    [
      'a subagent that inherits unbroken from one',
      chainOf('ann', 'bot', 'sub+', 'leaf+'),
      'allowed',
    ],
    ['not a subagent that does not inherit', sub, 'gap'],
    ['not below one that does not inherit', chainOf('ann', 'bot', 'sub', 'leaf+'), 'gap'],
  ])('%s', ([, chain, expected]) => {
    expect(outcomeOf(chain, [], read)).toBe(expected);
  });

  test('a deny refuses a read all the same', () => {
    expect(outcomeOf(agent, [ruleOn('ann', 'deny github:*:*')], read)).toBe('denied');
  });

  test('a call that is not an open read needs a rule', () => {
    expect(outcomeOf(agent, [], callOf({ risk: 'read' }))).toBe('gap');
  });
});
