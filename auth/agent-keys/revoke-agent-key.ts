import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { canChangeKeysOf, canSee } from '../identities/domain/access.ts';
import { auditEntryOf, callerNameOf } from '../callers/domain/audit-entry.ts';
import { revokeAgentKey as revokeRow } from './agent-keys.sql.ts';
import { findIdentity } from '../identities/identities.sql.ts';

interface RevokeAgentKeyFields {
  readonly principal: string;
  /** The id of the identity that the key belongs to. */
  readonly id: string;
  readonly keyId: string;
  readonly context: CallContext;
}

export async function revokeAgentKey(
  { db, readPrincipal, credentials }: Deps,
  { principal, id: identityId, keyId, context }: RevokeAgentKeyFields,
): Promise<Record<string, never>> {
  const caller = readPrincipal(principal);
  const { orgId } = caller;

  await db.transaction(async (tx) => {
    const identity = await findIdentity(tx, { orgId, id: identityId });
    if (identity === undefined || !canSee(caller, identity)) {
      throw new AppError('not_found', 'There is no such identity among those you may see.');
    }
    if (!canChangeKeysOf(caller, identity)) {
      throw new AppError(
        'forbidden',
        'A key is revoked by the user of its identity, an admin, or the agent that created the identity.',
      );
    }
    const revokedKey = await revokeRow(tx, { orgId, identityId, id: keyId });
    if (revokedKey === undefined) {
      throw new AppError('not_found', 'The identity has no such key, or it was revoked before.');
    }
    await appendEvent(tx, {
      type: 'agent_key.revoked',
      orgId,
      audience: identity.lineage,
      data: { key_id: keyId, identity_id: identityId, name: revokedKey.name },
      audit: auditEntryOf(
        caller,
        context,
        `${callerNameOf(caller)} revoked the key ${revokedKey.name} (${revokedKey.hint}…) of ${identity.path.join(' / ')}.`,
      ),
    });
  });
  credentials.drop();
  return {};
}
