import { describe, expect, test } from 'vitest';

import type { CompiledTemplate } from '#contracts/template';
import { actionKey, compilePattern } from '#permission-key';
import { cpuMsOf } from '../../../test/support/cpu.ts';
import { actionOf, paramOf, templateOf } from '../../action.testing.ts';
import { couldDeny } from '../../denials/domain/deny-patterns.ts';
import { listRequestNames } from '../../denials/domain/request-names.ts';
import { findDenial } from './denial.ts';
import {
  callOf,
  chainOf,
  ruleOn,
  createChainRules,
  createRulesByIdentity,
} from './walk.testing.ts';
import { walk } from './walk.ts';

/**
 * The most CPU time, in milliseconds: ten times what a decision may take, but only a fraction of
 * what a decision would take without budgets.
 */
const cpuMsMax = 200;

const createMany = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index));

/**
 * The names of a request in these templates, as if each template were connected on the same host.
 */
function findNames(templates: readonly CompiledTemplate[], path: string) {
  const neighbours = templates.map((template, index) => ({
    names: [`own${index}`],
    isConnected: true,
    template,
    places: [{ prefix: '', template }],
  }));
  return listRequestNames(neighbours, { method: 'POST', path }, { risk: 'write' });
}

const isDenied = (pattern: string, names: ReturnType<typeof findNames>) =>
  names.some((name) => couldDeny(compilePattern(pattern, false), name));

const writeFields = { method: 'POST', risk: 'write' } as const;

describe('templates that members wrote for one host', () => {
  test('are compared with a path in bounded time, however many templates there are', () => {
    const path = '/a'.repeat(64);
    const longPathTemplates = createMany(20, () =>
      templateOf(
        createMany(1_000, (index) =>
          actionOf(`send${index}`, {
            ...writeFields,
            path: `${'/a'.repeat(62)}/{id}/${index}`,
            params: [paramOf('id', 'path')],
          }),
        ),
        { tier: 'user' },
      ),
    );
    const names = findNames(longPathTemplates, path);

    expect(cpuMsOf(() => findNames(longPathTemplates, path))).toBeLessThan(cpuMsMax);
    expect(isDenied('own19:send7:x', names)).toBe(true);

    const manyTemplates = createMany(200, (index) => longPathTemplates[index % 20]!);
    expect(cpuMsOf(() => findNames(manyTemplates, path))).toBeLessThan(cpuMsMax);
  });

  test('count as listing the request when their paths have hundreds of segments, as earlier versions allowed', () => {
    const longPathTemplate = templateOf(
      createMany(1_000, (index) =>
        actionOf(`send${index}`, { ...writeFields, path: `${'/a'.repeat(900)}/${index}` }),
      ),
      { tier: 'user' },
    );
    const path = '/a'.repeat(901);

    expect(cpuMsOf(() => findNames([longPathTemplate], path))).toBeLessThan(cpuMsMax);
    expect(isDenied('own0:send7:x', findNames([longPathTemplate], path))).toBe(true);
    expect(isDenied('own0:send7:x', findNames([longPathTemplate], '/a'))).toBe(true);
  });

  test('do not prevent a denial when the budget was too small to search them', () => {
    const knownTemplate = templateOf([actionOf('listed', { ...writeFields, path: '/a' })]);
    const longPathTemplate = templateOf(
      [actionOf('other', { ...writeFields, path: '/a'.repeat(65) })],
      {
        tier: 'org',
      },
    );
    const templateOfOne = templateOf([actionOf('send', { ...writeFields, path: '/send' })]);

    expect(isDenied('own1:send:x', findNames([knownTemplate, templateOfOne], '/a'))).toBe(false);
    const path = '/a'.repeat(65);
    expect(isDenied('own1:send:x', findNames([longPathTemplate, templateOfOne], path))).toBe(true);
  });

  test('are compared with a request in bounded time even if they have every kind of operation', () => {
    const riskyTemplates = createMany(100, () =>
      templateOf(
        createMany(1_000, (index) =>
          actionOf(`wipe${index}`, { ...writeFields, path: `/w/${index}`, risk: 'delete' }),
        ),
        { tier: 'user' },
      ),
    );
    const names = findNames(riskyTemplates, '/other');
    const rules = createMany(500, (index) =>
      ruleOn(null, `deny *:*:x${index}`, { riskAtLeast: 'delete' }),
    );
    const findDenialOfRequest = () => {
      const call = callOf({ denyNames: findNames(riskyTemplates, '/other') });
      return findDenial(createChainRules(chainOf('ann', 'bot'), rules.toReversed()), call);
    };

    expect(names.length).toBeLessThan(300);
    expect(findDenialOfRequest()).toBeDefined();
    expect(cpuMsOf(findDenialOfRequest)).toBeLessThan(cpuMsMax);
  });
});

describe('the comparison of a call with rules', () => {
  const longText = 'a'.repeat(150);
  const arg = `${'a'.repeat(3_000)}/${longText}b`;
  const chain = chainOf('ann', 'bot');
  const call = () => callOf({ keys: [actionKey('mail', 'send', arg)] });

  test('takes bounded time for allow rules, and does not end in a permission gap', () => {
    const rules = createMany(500, () => ruleOn('bot', `allow *:*:**${longText}*${longText}b`));
    const decideByWalk = () =>
      walk(createRulesByIdentity(createChainRules(chain, rules)), 'bot', call());

    expect(decideByWalk).toThrow('too long to compare');
    expect(
      cpuMsOf(() => {
        try {
          decideByWalk();
        } catch {
          // The call was refused.
        }
      }),
    ).toBeLessThan(cpuMsMax);
  });

  test('uses one budget, however many agents made the rules', () => {
    const makers = createMany(20, (index) => {
      const ownRules = createMany(100, () =>
        ruleOn(`m${index}`, `deny mail:send:**${longText}*${longText}c`),
      );
      return createChainRules(chainOf('ann', `m${index}`), ownRules);
    });
    const rules = createMany(20, (index) =>
      ruleOn('bot', 'allow mail:send:**', { creatorChain: ['ann', `m${index}`] }),
    );
    const decideByWalk = () => {
      try {
        walk(createRulesByIdentity(createChainRules(chain, rules), ...makers), 'bot', call());
      } catch {
        // The call was refused.
      }
    };

    expect(cpuMsOf(decideByWalk)).toBeLessThan(cpuMsMax);
  });

  test('uses a fraction of the budget for rules of usual length', () => {
    const rules = createMany(500, (index) => ruleOn('bot', `allow mail:send:*@${index}.example`));
    const to = callOf({ keys: [actionKey('mail', 'send', 'ann@499.example')] });

    expect(walk(createRulesByIdentity(createChainRules(chain, rules)), 'bot', to).outcome).toBe(
      'allowed',
    );
    expect(to.budget.left).toBeGreaterThan(3_900_000);
  });

  test('is cheap for rules that begin differently from the call, however many there are', () => {
    const rules = createMany(5_000, (index) => ruleOn('bot', `deny mail:send:a/b/*${index}`));
    const longPathTemplate = callOf({ keys: [actionKey('mail', 'send', 'a/'.repeat(2_000))] });

    expect(findDenial(createChainRules(chain, rules), longPathTemplate)).toBeUndefined();
    expect(longPathTemplate.budget.left).toBeGreaterThan(3_900_000);
  });
});

describe('a text with very many combining marks in a row', () => {
  /** Marks of two classes, which the normal form sorts in a time that grows with the square. */
  const marksOf = (count: number) => `x${'\u0301'.repeat(count / 2)}${'\u0323'.repeat(count / 2)}`;
  test.for<[what: string, text: string]>([
    ['marks', marksOf(4_000)],
    ['half-width sound marks', 'x'.padEnd(4_000, '\u0301\uff9e')],
  ])('takes bounded time to compare: %s', ([, text]) => {
    const keys = createMany(20, (index) =>
      actionKey('own0', 'add', `${index}${text.slice(0, 3_990)}`),
    );
    const rule = ruleOn('bot', 'deny own0:add:zzz');
    const decideMany = () =>
      findDenial(
        createChainRules(chainOf('ann', 'bot'), [rule]),
        callOf({ keys: keys.map((key) => ({ ...key })) }),
      );
    expect(cpuMsOf(decideMany)).toBeLessThan(cpuMsMax / 4);
    // Rules may contain such a text too.
    const rules = createMany(50, (index) => ruleOn('bot', `deny own0:add:${index}${text}`));
    const call = callOf({ keys: [actionKey('own0', 'add', 'a')] });
    const decide = () => findDenial(createChainRules(chainOf('ann', 'bot'), rules), call);
    expect(cpuMsOf(decide)).toBeLessThan(cpuMsMax / 4);
  });
});
