import { randomUUID } from 'node:crypto';

import type { Event, FeedItem } from '#contracts/events';
import type { Principal, Scope } from '#contracts/vocabulary';

const agentScopes: Scope[] = ['actions:call', 'approvals', 'agents'];

/** Returns the principal of a user's agent with an agent key. */
export function createAgentPrincipal(): Principal {
  const [orgId, userId, identityId] = [randomUUID(), randomUUID(), randomUUID()];
  return {
    orgId,
    identityId,
    kind: 'agent',
    userId,
    role: null,
    chain: [
      { id: userId, kind: 'user', name: 'ann', inheritPermissions: false },
      { id: identityId, kind: 'agent', name: 'deploy-bot', inheritPermissions: false },
    ],
    autoCallOnApprove: true,
    credential: { kind: 'agent_key', id: randomUUID(), clientId: null },
    scopes: agentScopes,
    expiresAt: Date.now() + 10_000,
  };
}

/** Returns the principal of a user with a dashboard session. */
export function createUserPrincipal(role: Principal['role'] = 'member'): Principal {
  const base = createAgentPrincipal();
  return {
    ...base,
    identityId: base.userId,
    kind: 'user',
    role,
    chain: base.chain.slice(0, 1),
    credential: { kind: 'session', id: randomUUID(), clientId: null },
    scopes: [],
  };
}

export function createFeedItem(
  claims: Principal,
  position: number,
  event: Partial<Omit<Event, 'audit'>> = {},
): FeedItem {
  return {
    position,
    event: {
      id: randomUUID(),
      type: 'approval.raised',
      created_at: new Date().toISOString(),
      org_id: claims.orgId,
      audience: claims.chain.map((link) => link.id),
      data: { position },
      ...event,
    },
  };
}
