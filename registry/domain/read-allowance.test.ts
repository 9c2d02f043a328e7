import { v7 as uuidv7 } from 'uuid';
import { describe, expect, test } from 'vitest';

import type { ChainLink, Principal } from '#contracts/vocabulary';
import { needsRule } from './read-allowance.ts';

const link = (kind: ChainLink['kind'], inheritPermissions = false): ChainLink => ({
  id: uuidv7(),
  kind,
  name: kind,
  inheritPermissions,
});
const user = link('user');
const agent = link('agent');

function callerOf(...chain: ChainLink[]): Principal {
  const self = chain.at(-1) ?? user;
  return {
    orgId: uuidv7(),
    identityId: self.id,
    kind: self.kind,
    userId: user.id,
    role: null,
    chain,
    autoCallOnApprove: true,
    scopes: [],
    expiresAt: 0,
    credential: { kind: 'agent_key', id: uuidv7(), clientId: null },
  };
}

const read = { method: 'GET', risk: 'read', templateTier: 'user', autoAllowReads: true } as const;

describe('a call needs a rule or an approval', () => {
  test.for<[why: string, caller: Principal, action: object, expected: boolean]>([
    ['never of a user', callerOf(user), { risk: 'delete', autoAllowReads: false }, false],
    ['not of an agent that reads', callerOf(user, agent), {}, false],
    ['of an agent that writes', callerOf(user, agent), { method: 'POST', risk: 'write' }, true],
    ['where reads are not let through', callerOf(user, agent), { autoAllowReads: false }, true],
    ['for a GET that is no read', callerOf(user, agent), { risk: 'write' }, true],
    [
      'for a read by POST, where a user says that it is one',
      callerOf(user, agent),
      { method: 'POST' },
      true,
    ],
    [
      'not for one that the org vouches for',
      callerOf(user, agent),
      { method: 'POST', templateTier: 'org' },
      false,
    ],
    [
      'not for one that is built in',
      callerOf(user, agent),
      { method: 'POST', templateTier: 'global' },
      false,
    ],
    ['of a subagent of its own', callerOf(user, agent, link('subagent')), {}, true],
    ['not of one that inherits', callerOf(user, agent, link('subagent', true)), {}, false],
    [
      'of one that inherits from one that does not',
      callerOf(user, agent, link('subagent'), link('subagent', true)),
      {},
      true,
    ],
  ])('%s', ([, caller, action, expected]) => {
    expect(needsRule(caller, { ...read, ...action })).toBe(expected);
  });
});
