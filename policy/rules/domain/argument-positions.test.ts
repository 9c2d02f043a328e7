import { describe, expect, test } from 'vitest';

import { actionOf, paramOf } from '../../action.testing.ts';
import { canMatchArgument, describePositions, withPositionsOf } from './argument-positions.ts';

const params = [paramOf('project', 'query'), paramOf('type', 'query'), paramOf('to', 'body')];
const whole = actionOf('whole', { params });
const single = actionOf('single', { params, scopeParam: 'project' });
const pair = actionOf('pair', {
  params,
  scopeParam: [{ params: ['project'] }, { params: ['type'], label: 'kind' }],
});
const recipients = actionOf('send', {
  params,
  scopeParam: [{ params: ['to[]'], as: 'email' }],
});

describe('the argument of a rule can match (canMatchArgument):', () => {
  test.for([
    ['*', pair],
    ['**', pair],
    ['OPS/Task', pair],
    ['OPS/*', pair],
    ['*/Task', pair],
    ['OPS/**', pair],
    ['OP**', pair],
    ['a%2Fb/Task', pair],
    ['acme/site', single],
    ['acme', single],
    ['a/b/c', single],
    ['*@acme.example', recipients],
    ['*', whole],
    ['**', whole],
  ] as const)('%s', ([arg, action]) => {
    expect(canMatchArgument(arg, action, 'allow')).toBe(true);
    expect(canMatchArgument(arg, action, 'deny')).toBe(true);
  });
});

describe('the argument of a rule cannot match, because its number of positions is another', () => {
  test.for([
    ['OPS', pair, 'OPS/*'],
    ['OP*', pair, 'OP*/*'],
    ['OPS/Bug/x', pair, 'OPS/Bug'],
    ['*/*/*', pair, '*/*'],
    ['acme%2Fsite', single, 'acme/site'],
    ['sales/*@acme.example', recipients, '*'],
  ] as const)('%s', ([arg, action, suggested]) => {
    expect(canMatchArgument(arg, action, 'allow')).toBe(false);
    expect(canMatchArgument(arg, action, 'deny')).toBe(false);
    expect(withPositionsOf(action, arg)).toBe(suggested);
  });
});

describe('the argument of a rule for numbers', () => {
  const numbers = [
    paramOf('amount', 'query', { schema: { type: 'number' } }),
    paramOf('id', 'query', { schema: { anyOf: [{ type: 'integer' }, { type: 'null' }] } }),
    paramOf('note', 'query', { schema: { type: ['number', 'string'] } }),
  ];
  const amount = actionOf('amount', { params: numbers, scopeParam: 'amount' });
  const note = actionOf('note', { params: numbers, scopeParam: 'note' });
  const both = actionOf('both', {
    params: numbers,
    scopeParam: [{ params: ['amount'] }, { params: ['id'] }],
  });

  test.for([
    ['100', amount],
    ['-1.5', amount],
    ['1e-7', amount],
    ['0.12345678901234567891', amount],
    ['10*', amount],
    ['100.0', note],
    ['1.5/9007199254740993', both],
    ['*/7', both],
  ] as const)('can match as %s', ([arg, action]) => {
    expect(canMatchArgument(arg, action, 'allow')).toBe(true);
    expect(canMatchArgument(arg, action, 'deny')).toBe(true);
  });

  test.for([
    ['100.0', amount, '100'],
    ['1.50', amount, '1.5'],
    ['1e2', amount, '100'],
    ['+5', amount, '5'],
    ['007', amount, '7'],
    ['-0.0', amount, '0'],
    ['0.0000001', amount, '1e-7'],
    ['0.123456789012345678910', amount, '0.12345678901234567891'],
    ['1e+21', amount, '1000000000000000000000'],
    ['1e-500', amount, '*'],
    ['much', amount, '*'],
    ['100.0/9007199254740993.0', both, '100/9007199254740993'],
    ['*/1e20', both, '*/100000000000000000000'],
    ['many/1', both, '*/1'],
  ] as const)('cannot match as %s', ([arg, action, suggested]) => {
    expect(canMatchArgument(arg, action, 'allow')).toBe(false);
    expect(canMatchArgument(arg, action, 'deny')).toBe(false);
    expect(withPositionsOf(action, arg)).toBe(suggested);
    expect(describePositions(action)).toContain('a number as JSON writes it');
  });

  test('may have blanks and capital letters in a deny rule, because deny rules ignore both', () => {
    expect(canMatchArgument(' 1E-7 ', amount, 'deny')).toBe(true);
    expect(canMatchArgument('1E-7', amount, 'allow')).toBe(false);
  });
});

test('matches no call of an action whose keys have no argument when it allows, and all calls when it denies', () => {
  expect(canMatchArgument('OPS', whole, 'allow')).toBe(false);
  expect(canMatchArgument('OPS', whole, 'deny')).toBe(true);
});

test('describePositions uses the labels of positions, or the parameters that give their values', () => {
  expect(describePositions(pair)).toBe('2 positions, project/kind');
  expect(describePositions(recipients)).toBe('1 position, to');
  expect(describePositions(whole)).toBe('no value, only *');
});
