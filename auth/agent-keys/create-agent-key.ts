import { v7 as uuidv7 } from 'uuid';

import type { CreatedAgentKey } from '#contracts/http/identities';
import type { CallContext } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { canChangeKeysOf, canSee } from '../identities/domain/access.ts';
import { formatAgentKey, agentKeyHintOf } from './domain/agent-key.ts';
import { auditEntryOf, callerNameOf } from '../callers/domain/audit-entry.ts';
import { hashToken } from '../credentials/domain/checked-token.ts';
import { keysPerIdentityMax, standingOf } from '../identities/domain/identity.ts';
import type { Identity } from '../identities/domain/identity.ts';
import { presentAgentKey } from './domain/present-agent-key.ts';
import { countLiveAgentKeys, insertAgentKey } from './agent-keys.sql.ts';
import { findIdentity, listChain, lockTree } from '../identities/identities.sql.ts';

interface CreateAgentKeyFields {
  readonly principal: string;
  readonly id: string;
  readonly body: { readonly name: string; readonly expires_at?: string | undefined };
  readonly context: CallContext;
}

/**
 * Creates a key of an agent or subagent. Only the reply to this request contains the key itself.
 */
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
    await checkKeyLimit(tx, identity);
    const insertedKey = await insertAgentKey(tx, {
      id: uuidv7(),
      orgId,
      identityId,
      name: body.name,
      hash: hashToken(agentKey),
      hint: agentKeyHintOf(agentKey),
      createdBy: caller.identityId,
      expiresAt: body.expires_at === undefined ? null : new Date(body.expires_at),
    });
    if (insertedKey === undefined) throw expiryPassedError();
    await appendEvent(tx, {
      type: 'agent_key.created',
      orgId,
      audience: identity.lineage,
      data: { key_id: insertedKey.id, identity_id: identityId, name: insertedKey.name },
      audit: auditEntryOf(
        caller,
        context,
        `${callerNameOf(caller)} created the key ${insertedKey.name} (${insertedKey.hint}…) for ${identity.path.join(' / ')}.`,
      ),
    });
    return { ...presentAgentKey(insertedKey), key: agentKey };
  });
}

/**
 * The caller must have locked the user's tree of identities (`lockTree`), so that no other request
 * revokes the identity or adds a key at the same time.
 */
async function checkKeyLimit(sql: Sql, { orgId, id }: Identity): Promise<void> {
  if (standingOf(await listChain(sql, { orgId, id })) !== 'active') {
    throw new AppError('conflict', 'The identity or one above it is not active any more.');
  }
  if ((await countLiveAgentKeys(sql, { orgId, identityId: id })) < keysPerIdentityMax) return;
  throw new AppError(
    'conflict',
    `An identity has at most ${keysPerIdentityMax} live keys; revoke one that is no longer used.`,
  );
}

function expiryPassedError(): AppError {
  const message = 'It must be in the future.';
  return new AppError('invalid_params', `expires_at is not valid. ${message}`, {
    details: { issues: [{ path: 'expires_at', message }] },
  });
}
