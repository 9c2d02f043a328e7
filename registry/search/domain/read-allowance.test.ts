import { v7 as uuidv7 } from 'uuid';
import { describe, expect, test } from 'vitest';

import type { ChainLink, Principal } from '#contracts/vocabulary';
import { needsRule } from './read-allowance.ts';

const createLink = (kind: ChainLink['kind'], inheritPermissions = false): ChainLink => ({
  id: uuidv7(),
  kind,
  name: kind,
  inheritPermissions,
});
const userLink = createLink('user');
const agentLink = createLink('agent');

function callerOf(...chain: ChainLink[]): Principal {
  const callerLink = chain.at(-1) ?? userLink;
  return {
    orgId: uuidv7(),
    identityId: callerLink.id,
    kind: callerLink.kind,
    userId: userLink.id,
    role: null,
    chain,
    autoCallOnApprove: true,
    scopes: [],
    expiresAt: 0,
    credential: { kind: 'agent_key', id: uuidv7(), clientId: null },
  };
}

const readAction = {
  method: 'GET',
  risk: 'read',
  templateTier: 'user',
  autoAllowReads: true,
} as const;

describe('the need of a rule or an approval for a call (needsRule)', () => {
  test.for<[why: string, caller: Principal, action: object, expected: boolean]>([
    [
      'when a user makes the call',
      callerOf(userLink),
      { risk: 'delete', autoAllowReads: false },
      false,
    ],
    ['when an agent reads', callerOf(userLink, agentLink), {}, false],
    [
      'when an agent writes',
      callerOf(userLink, agentLink),
      { method: 'POST', risk: 'write' },
      true,
    ],
    [
      'when the service does not allow reads without a rule',
      callerOf(userLink, agentLink),
      { autoAllowReads: false },
      true,
    ],
    [
      'when an agent calls a GET action with the risk write',
      callerOf(userLink, agentLink),
      { risk: 'write' },
      true,
    ],
    [
      'when a template of a user declares a POST to be a read',
      callerOf(userLink, agentLink),
      { method: 'POST' },
      true,
    ],
    [
      'when a template of the org declares a POST to be a read',
      callerOf(userLink, agentLink),
      { method: 'POST', templateTier: 'org' },
      false,
    ],
    [
      'not when a built-in template declares a POST to be a read',
      callerOf(userLink, agentLink),
      { method: 'POST', templateTier: 'global' },
      false,
    ],
    [
      'when a subagent without inherited permissions reads',
      callerOf(userLink, agentLink, createLink('subagent')),
      {},
      true,
    ],
    [
      'not when a subagent with inherited permissions reads',
      callerOf(userLink, agentLink, createLink('subagent', true)),
      {},
      false,
    ],
    [
      'when a subagent inherits from a subagent that inherits no permissions',
      callerOf(userLink, agentLink, createLink('subagent'), createLink('subagent', true)),
      {},
      true,
    ],
  ])('%s: $3', ([, caller, action, expected]) => {
    expect(needsRule(caller, { ...readAction, ...action })).toBe(expected);
  });
});
