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

describe('the argument of a rule can match', () => {
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

test('an allow on an argument matches no call whose keys have none, while a deny matches all', () => {
  expect(canMatchArgument('OPS', whole, 'allow')).toBe(false);
  expect(canMatchArgument('OPS', whole, 'deny')).toBe(true);
});

test('the positions are described by their labels, or by the parameters that give their values', () => {
  expect(describePositions(pair)).toBe('2 positions, project/kind');
  expect(describePositions(recipients)).toBe('1 position, to');
  expect(describePositions(whole)).toBe('no value, only *');
});
