import { v7 as uuidv7 } from 'uuid';

import type { CreatedAgentKey } from '#contracts/http/identities';
import type { CallContext } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { canChangeKeysOf, canSee } from '../domain/access.ts';
import { formatAgentKey, hintOf } from '../domain/agent-key.ts';
import { auditOf, nameOf } from '../domain/audit-entry.ts';
import { hashOf } from '../domain/checked-token.ts';
import { keysPerIdentityMax, standingOf } from '../domain/identity.ts';
import type { Identity } from '../domain/identity.ts';
import { presentAgentKey } from '../domain/present-agent-key.ts';
import { countLiveAgentKeys, insertAgentKey } from '../repository/agent-keys.ts';
import { findIdentity, listChain, lockTree } from '../repository/identities.ts';

interface CreateAgentKeyFields {
  readonly principal: string;
  readonly id: string;
  readonly body: { readonly name: string; readonly expires_at?: string | undefined };
  readonly context: CallContext;
}

/** Creates a key of an agent or subagent. Its value is in this answer and nowhere else. */
export async function createAgentKey(
  { db, readPrincipal, randomBytes }: Deps,
  { principal, id: identityId, body, context }: CreateAgentKeyFields,
): Promise<CreatedAgentKey> {
  const caller = readPrincipal(principal);
  const { orgId } = caller;
  const agentKey = formatAgentKey(randomBytes(32));

  return db.transaction(async (tx) => {
    const identity = await findIdentity(tx, { orgId, id: identityId });
    if (identity === undefined || !canSee(caller, identity)) {
      throw new AppError('not_found', 'There is no such identity among those you may see.');
    }
    if (!canChangeKeysOf(caller, identity)) {
      throw new AppError(
        'forbidden',
        'Keys are made for agents and subagents, by their user, an admin, or the agent that created them.',
      );
    }
    await lockTree(tx, { orgId, ownerId: identity.ownerId });
    await checkRoom(tx, identity);
    const inserted = await insertAgentKey(tx, {
      id: uuidv7(),
      orgId,
      identityId,
      name: body.name,
      hash: hashOf(agentKey),
      hint: hintOf(agentKey),
      createdBy: caller.identityId,
      expiresAt: body.expires_at === undefined ? null : new Date(body.expires_at),
    });
    if (inserted === undefined) throw expiryPassed();
    await appendEvent(tx, {
      type: 'agent_key.created',
      orgId,
      audience: identity.lineage,
      data: { key_id: inserted.id, identity_id: identityId, name: inserted.name },
      audit: auditOf(
        caller,
        context,
        `${nameOf(caller)} created the key ${inserted.name} (${inserted.hint}…) for ${identity.path.join(' / ')}.`,
      ),
    });
    return { ...presentAgentKey(inserted), key: agentKey };
  });
}

/** Called with the tree locked: nobody revokes the identity or makes another key meanwhile. */
async function checkRoom(sql: Sql, { orgId, id }: Identity): Promise<void> {
  if (standingOf(await listChain(sql, { orgId, id })) !== 'active') {
    throw new AppError('conflict', 'The identity or one above it is not active any more.');
  }
  if ((await countLiveAgentKeys(sql, { orgId, identityId: id })) < keysPerIdentityMax) return;
  throw new AppError(
    'conflict',
    `An identity has at most ${keysPerIdentityMax} live keys; revoke one that is no longer used.`,
  );
}

function expiryPassed(): AppError {
  const message = 'It must be in the future.';
  return new AppError('invalid_params', `expires_at is not valid. ${message}`, {
    details: { issues: [{ path: 'expires_at', message }] },
  });
}
