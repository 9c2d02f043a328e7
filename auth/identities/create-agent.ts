import { v7 as uuidv7 } from 'uuid';

import type { Identity as PublicIdentity } from '#contracts/http/identities';
import type { CallContext, Principal } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { canCreateAgent } from './domain/access.ts';
import { identityCreatedEvent } from './domain/identity-events.ts';
import { agentsPerUserMax } from './domain/identity.ts';
import type { Identity } from './domain/identity.ts';
import { presentIdentity } from './domain/present-identity.ts';
import { countLiveIdentitiesBelow, getIdentity, insertChild, lockTree } from './identities.sql.ts';

interface CreateAgentFields {
  readonly principal: string;
  readonly body: { readonly name: string; readonly auto_call_on_approve?: boolean | undefined };
  readonly context: CallContext;
}

/** Creates an agent below the calling user. */
export async function createAgent(
  { db, readPrincipal }: Deps,
  { principal, body, context }: CreateAgentFields,
): Promise<PublicIdentity> {
  const caller = readPrincipal(principal);
  return db.transaction(async (tx) =>
    presentIdentity(await createAgentInTransaction(tx, { caller, body, context })),
  );
}

/**
 * Creates the agent in a transaction that the caller has begun. Locks the user's tree of identities
 * until that transaction ends.
 */
export async function createAgentInTransaction(
  tx: Transaction,
  { caller, body, context }: Pick<CreateAgentFields, 'body' | 'context'> & { caller: Principal },
): Promise<Identity> {
  if (!canCreateAgent(caller)) {
    throw new AppError(
      'forbidden',
      'Only a user who is not an auditor creates agents; an agent creates subagents.',
    );
  }
  const { orgId, identityId: userId } = caller;

  await lockTree(tx, { orgId, ownerId: userId });
  const user = await getIdentity(tx, { orgId, id: userId });
  if (user.status !== 'active') throw new AppError('forbidden', 'You are no longer active.');
  const agentCount = await countLiveIdentitiesBelow(tx, { orgId, id: userId, kind: 'agent' });
  if (agentCount >= agentsPerUserMax) {
    throw new AppError(
      'conflict',
      `A user has at most ${agentsPerUserMax} agents; revoke one that is no longer used.`,
    );
  }
  const id = uuidv7();
  const insertedAgent = await insertChild(tx, {
    id,
    orgId,
    parentId: userId,
    kind: 'agent',
    name: body.name,
    inheritPermissions: false,
    autoCallOnApprove: body.auto_call_on_approve ?? true,
    createdBy: userId,
    ttlSeconds: null,
  });
  if (!insertedAgent) {
    throw new AppError(
      'conflict',
      `You already have an agent named ${body.name}; choose another name.`,
    );
  }
  const agent = await getIdentity(tx, { orgId, id });
  await appendEvent(tx, identityCreatedEvent({ caller, context }, agent));
  return agent;
}
