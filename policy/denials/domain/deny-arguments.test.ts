import { describe, expect, test } from 'vitest';

import { actionKey, positionsKey } from '#permission-key';
import { cpuMsOf } from '../../../test/support/cpu.ts';
import { addressArguments, argumentsOfKeys, foldArgument } from './deny-arguments.ts';

describe('argumentsOfKeys (the arguments of an action call that deny rules are compared with)', () => {
  const argumentsOf = (...args: (string | undefined)[]) =>
    argumentsOfKeys(args.map((arg) => actionKey('mail', 'send', arg)));

  test('returns the arguments of the permission keys', () => {
    expect(argumentsOf('ann', 'bob')).toEqual(['ann', 'bob']);
  });

  test('returns undefined when one of the keys is that of the whole action', () => {
    expect(argumentsOf('ann', undefined)).toBeUndefined();
  });

  test('includes each element of an argument that is a list', () => {
    expect(argumentsOf('["ann","a*",7,{"to":"bob"}]')).toEqual([
      '["ann","a%2A",7,{"to":"bob"}]',
      'ann',
      'a%2A',
      '7',
      '{"to":"bob"}',
    ]);
    expect(argumentsOf('[bug] lights')).toEqual(['[bug] lights']);
  });

  test('includes the value rounded to a double, if a number has more decimals than a double holds', () => {
    expect(argumentsOf('100.00000000000000000001')).toEqual(['100.00000000000000000001', '100']);
    expect(argumentsOf('-0.00000000000000000000000000000000000000001e1')).toHaveLength(1);
    expect(argumentsOf(`-0.${'0'.repeat(390)}1`)?.at(-1)).toBe('0');
    expect(argumentsOf('9007199254740993')).toEqual(['9007199254740993']);
    expect(argumentsOf('v1.00000000000000000001')).toHaveLength(1);
  });

  test('leaves a position unknown when the position contains a list', () => {
    const key = positionsKey('jira', 'create', ['["OPS","SEC"]', 'Bug']);
    expect(argumentsOfKeys([key])).toEqual(['*/Bug']);
  });
});

test.for<[address: string, expected: string[]]>([
  ['a.example/notes/x', ['a.example/notes/x', 'a.example/notes/x/']],
  ['a.example/notes/', ['a.example/notes/', 'a.example/notes']],
  ['a.example/caf%C3%A9', ['a.example/caf%C3%A9', 'a.example/caf%C3%A9/']],
  ['a.example//notes', ['a.example/**']],
  ['a.example/notes;v=1', ['a.example/**']],
  ['a.example/notes%3Bv=1', ['a.example/**']],
  ['a.example/admin./x', ['a.example/**']],
  ['a.example/%C1%A1dmin', ['a.example/**']],
  ['a.example/%2573ecret', ['a.example/**']],
  ['a.example/notes/x;v=1/y', ['a.example/notes', 'a.example/notes/**']],
  ['a.example/notes/..%20/y', ['a.example/**']],
])('http deny rules are compared, for the address %s, with %j', ([address, expected]) => {
  expect(addressArguments(address)).toEqual(expected);
});

test('a value with many slashes is not searched for lists, so it takes no longer than other text', () => {
  const timeOf = (unit: string) => {
    const key = actionKey('mail', 'send', unit.repeat(2_000));
    return cpuMsOf(() => argumentsOfKeys([key]));
  };
  expect(timeOf('[/')).toBeLessThan(10 * timeOf('a/'));
});

test('folding bytes that are not UTF-8 takes little longer than folding letters', () => {
  const [bytes, letters] = ['%80a', '%C3%A4a'].map((unit) => unit.repeat(600)) as [string, string];
  expect(cpuMsOf(() => foldArgument(bytes))).toBeLessThan(4 * cpuMsOf(() => foldArgument(letters)));
});

test('folding a text ten times as long takes about ten times the CPU time', () => {
  const foldTextOf = (size: number) => () =>
    foldArgument(`a${' '.repeat(2 * size)}b/${'%20'.repeat(size)}x${'/ '.repeat(size)}`);

  expect(cpuMsOf(foldTextOf(100_000))).toBeLessThan(40 * cpuMsOf(foldTextOf(10_000)));
});
