import { describe, expect, test } from 'vitest';

import type { CompiledTemplate } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { actionKey, compilePattern } from '#permission-key';
import { cpuMsOf } from '../../test/support/cpu.ts';
import { actionOf, paramOf, templateOf } from './action.testing.ts';
import { findDenial } from './denials.ts';
import { neighbourNames } from './deny-names.ts';
import type { Neighbour } from './deny-names.ts';
import { couldDeny } from './deny-patterns.ts';
import { createNameBudget } from './name-budget.ts';
import { compileParamCheck } from './validate-params.ts';
import type { ParamCheck } from './validate-params.ts';
import { walk } from './walk.ts';
import { callOf, chainOf, ruleOn, standing, standings } from './walk.testing.ts';

/** Milliseconds of CPU: some ten times what a decision may take, and a fraction of what these took. */
const boundedMs = 200;

const times = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** As policy makes them for one decision. */
function neighboursOf(templates: readonly CompiledTemplate[]) {
  const budget = createNameBudget();
  const checks = new Map<unknown, ParamCheck>();
  const neighbours = templates.map((template, index): Neighbour => ({
    names: [`own${index}`],
    prefix: '',
    template,
    fits: (param, value) => {
      const check = checks.get(param) ?? compileParamCheck(param.schema);
      checks.set(param, check);
      return check(value, budget.checks);
    },
  }));
  return { neighbours, budget };
}

function findNames(
  templates: readonly CompiledTemplate[],
  { path, body = null }: { path: string; body?: JsonValue },
) {
  const { neighbours, budget } = neighboursOf(templates);
  const request = { method: 'POST' as const, path, query: {}, body };
  return neighbourNames(neighbours, request, { risk: 'write', budget });
}

const isDenied = (pattern: string, names: ReturnType<typeof findNames>) =>
  names.some((name) => couldDeny(compilePattern(pattern, false), name));

const post = { method: 'POST', risk: 'write' } as const;

describe('what members wrote about a host', () => {
  test('is compared with a path in bounded time, however many templates they are', () => {
    const path = '/a'.repeat(64);
    const longPaths = times(20, () =>
      templateOf(
        times(1_000, (index) =>
          actionOf(`send${index}`, {
            ...post,
            path: `${'/a'.repeat(62)}/{id}/${index}`,
            params: [paramOf('id', 'path')],
          }),
        ),
        { tier: 'user' },
      ),
    );
    const names = findNames(longPaths, { path });

    expect(cpuMsOf(() => findNames(longPaths, { path }))).toBeLessThan(boundedMs);
    expect(isDenied('own19:send7:x', names)).toBe(true);

    const { neighbours, budget } = neighboursOf(times(200, (index) => longPaths[index % 20]!));
    const before = budget.left;
    neighbourNames(
      neighbours,
      { method: 'POST', path, query: {}, body: null },
      { risk: 'write', budget },
    );
    expect(before - budget.left).toBeLessThan(1_100_000);
  });

  test('of an earlier version, with hundreds of segments, may be what is asked for', () => {
    const long = templateOf(
      times(1_000, (index) =>
        actionOf(`send${index}`, { ...post, path: `${'/a'.repeat(900)}/${index}` }),
      ),
      { tier: 'user' },
    );
    const path = '/a'.repeat(901);

    expect(cpuMsOf(() => findNames([long], { path }))).toBeLessThan(boundedMs);
    expect(isDenied('own0:send7:x', findNames([long], { path }))).toBe(true);
    expect(isDenied('own0:send7:x', findNames([long], { path: '/a' }))).toBe(true);
  });

  test('does not lift a deny where nobody had the time to look at it', () => {
    const known = templateOf([actionOf('listed', { ...post, path: '/a' })]);
    const long = templateOf([actionOf('other', { ...post, path: '/a'.repeat(65) })], {
      tier: 'org',
    });
    const one = templateOf([actionOf('send', { ...post, path: '/send' })]);

    expect(isDenied('own1:send:x', findNames([known, one], { path: '/a' }))).toBe(false);
    const path = '/a'.repeat(65);
    expect(isDenied('own1:send:x', findNames([long, one], { path }))).toBe(true);
  });

  test('has its parameters checked within one budget', () => {
    const samePath = () =>
      templateOf(
        times(1_000, (index) =>
          actionOf(`send${index}`, {
            ...post,
            path: '/send',
            scopeParam: 'to',
            params: [paramOf('to', 'body', { schema: { type: 'string', maxLength: 100 + index } })],
            body: { mediaType: 'application/json', wholeBody: false, required: true, parts: {} },
          }),
        ),
        { tier: 'user' },
      );
    const asked = { path: '/send', body: { to: 'ann' } };
    const templates = times(12, samePath);
    const before = process.threadCpuUsage();
    const names = findNames([templates[0]!], asked);
    const { user, system } = process.threadCpuUsage(before);

    expect((user + system) / 1_000).toBeLessThan(boundedMs);
    expect(isDenied('own0:send0:ann', names)).toBe(true);
    expect(isDenied('own0:send0:bob', names)).toBe(false);
    // Not known to fit: it may be anybody.
    expect(isDenied('own0:send999:bob', names)).toBe(true);
    expect(cpuMsOf(() => findNames(templates, asked))).toBeLessThan(boundedMs);
  });

  test('has the members of a body looked through once', () => {
    const many = templateOf(
      times(200, (index) =>
        actionOf(`send${index}`, {
          ...post,
          path: '/send',
          scopeParam: 'to',
          params: [paramOf('to', 'body')],
          body: { mediaType: 'application/json', wholeBody: false, required: true, parts: {} },
        }),
      ),
    );
    const body = Object.fromEntries(times(10_000, (index) => [`member${index}`, index]));

    expect(cpuMsOf(() => findNames([many], { path: '/send', body: { ...body } }))).toBeLessThan(
      boundedMs,
    );
  });

  test('may make a request to its host anything, of any risk, and is compared all the same', () => {
    const risky = times(100, () =>
      templateOf(
        times(1_000, (index) =>
          actionOf(`wipe${index}`, { ...post, path: `/w/${index}`, risk: 'delete' }),
        ),
        { tier: 'user' },
      ),
    );
    const names = findNames(risky, { path: '/other' });
    const rules = times(500, (index) =>
      ruleOn(null, `deny *:*:x${index}`, { riskAtLeast: 'delete' }),
    );
    const find = () => {
      const call = callOf({ denyNames: findNames(risky, { path: '/other' }) });
      return findDenial(standing(chainOf('ann', 'bot'), rules.toReversed()), call);
    };

    expect(names.length).toBeLessThan(300);
    expect(find()).toBeDefined();
    expect(cpuMsOf(find)).toBeLessThan(boundedMs);
  });
});

describe('comparing a call with rules', () => {
  const run = 'a'.repeat(150);
  const arg = `${'a'.repeat(3_000)}/${run}b`;
  const chain = chainOf('ann', 'bot');
  const call = () => callOf({ keys: [actionKey('mail', 'send', arg)] });

  test('that allow it takes bounded time, and asks nobody about what may be allowed', () => {
    const rules = times(500, () => ruleOn('bot', `allow *:*:**${run}*${run}b`));
    const decide = () => walk(standings(standing(chain, rules)), 'bot', call());

    expect(decide).toThrow('too long to compare');
    expect(
      cpuMsOf(() => {
        try {
          decide();
        } catch {
          // Refused.
        }
      }),
    ).toBeLessThan(boundedMs);
  });

  test('takes one budget, however many agents made the rules that allow it', () => {
    const makers = times(20, (index) => {
      const own = times(100, () => ruleOn(`m${index}`, `deny mail:send:**${run}*${run}c`));
      return standing(chainOf('ann', `m${index}`), own);
    });
    const rules = times(20, (index) =>
      ruleOn('bot', 'allow mail:send:**', { creatorChain: ['ann', `m${index}`] }),
    );
    const decide = () => {
      try {
        walk(standings(standing(chain, rules), ...makers), 'bot', call());
      } catch {
        // Refused.
      }
    };

    expect(cpuMsOf(decide)).toBeLessThan(boundedMs);
  });

  test('of the usual kind is far from the budget', () => {
    const rules = times(500, (index) => ruleOn('bot', `allow mail:send:*@${index}.example`));
    const to = callOf({ keys: [actionKey('mail', 'send', 'ann@499.example')] });

    expect(walk(standings(standing(chain, rules)), 'bot', to).outcome).toBe('allowed');
    expect(to.budget.left).toBeGreaterThan(3_900_000);
  });

  test('that begin otherwise costs little, however many there are and however long the argument is', () => {
    const rules = times(5_000, (index) => ruleOn('bot', `deny mail:send:a/b/*${index}`));
    const long = callOf({ keys: [actionKey('mail', 'send', 'a/'.repeat(2_000))] });

    expect(findDenial(standing(chain, rules), long)).toBeUndefined();
    expect(long.budget.left).toBeGreaterThan(3_900_000);
  });
});
