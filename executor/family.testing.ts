import { v7 as uuidv7 } from 'uuid';

import type { Principal } from '#contracts/vocabulary';
import type { World } from './world.testing.ts';

const createLink = (
  kind: 'user' | 'agent' | 'subagent',
  name: string,
): Principal['chain'][number] => ({
  id: uuidv7(),
  kind,
  name,
  inheritPermissions: false,
});

/**
 * Creates a user of an org. Agents and subagents can be added to the user. The user shares no
 * limits with other users.
 */
export function createFamily(world: World, orgId = world.orgId) {
  const user = createLink('user', 'mia');
  const principalOf = (
    chain: Principal['chain'],
    parts: Partial<Principal> & Pick<Principal, 'role'>,
  ) => {
    const { id: identityId, kind } = chain.at(-1)!;
    return world.principalOf({ orgId, kind, identityId, userId: user.id, chain, ...parts });
  };
  /** The principal of the user in a browser session, with the given role. */
  const personPrincipal = (role: Principal['role'] = 'member', parts: Partial<Principal> = {}) =>
    principalOf([user], {
      role,
      scopes: ['user'],
      credential: { kind: 'session', id: uuidv7(), clientId: null },
      ...parts,
    });
  const createMember = (chain: Principal['chain']) => ({
    id: chain.at(-1)!.id,
    principal: principalOf(chain, { role: null, scopes: ['agents'] }),
    child: () => createMember([...chain, createLink('subagent', 'child')]),
  });
  return {
    userId: user.id,
    person: personPrincipal,
    agent: (name = 'bot') => createMember([user, createLink('agent', name)]),
  };
}
