import { z } from 'zod';

import { disclosedField } from '#contracts/audit';
import { call } from '#contracts/call';
import { callTarget, injection } from '#contracts/permit';
import type { Permit } from '#contracts/permit';
import type { Database } from '#database';
import { unreadable } from '#errors';
import { canonicalJson } from '#signing';
import { approvalStaleError } from '../request/approval-stale.ts';
import type { OrgSealContext, Vault } from '../vault/vault.ts';

/**
 * Everything that a replay needs to rebuild the approved request. It names credentials by id and
 * never contains their values.
 */
const frozenCall = z.strictObject({
  call,
  timeoutMs: z.int(),
  target: callTarget,
  injections: z.array(injection),
  requestDigest: z.string(),
  /** The disclosed fields that the approver saw, for the audit record of the execution. */
  disclosed: z.array(disclosedField),
  /** True when the request was too large to be shown whole, so that the approver saw an outline. */
  isTooLarge: z.boolean(),
});
export type FrozenCall = z.infer<typeof frozenCall>;

export async function freezeCall(
  { db, vault }: { db: Database; vault: Vault },
  { orgId, approvalId, frozen }: { orgId: string; approvalId: string; frozen: FrozenCall },
): Promise<string> {
  const sealedBytes = await vault.seal(
    db,
    sealContextOf({ orgId, approvalId }),
    JSON.stringify(frozen),
  );
  return sealedBytes.toString('base64url');
}

/**
 * Opens a call that `freezeCall` sealed for this approval. For any other ciphertext the vault
 * throws `approval_stale`.
 */
export async function thawCall(
  { db, vault }: { db: Database; vault: Vault },
  { orgId, approvalId, sealedCall }: { orgId: string; approvalId: string; sealedCall: string },
): Promise<FrozenCall> {
  const sealedBytes = Buffer.from(sealedCall, 'base64url');
  const text = await vault.unseal(db, sealContextOf({ orgId, approvalId }), sealedBytes);
  const result = frozenCall.safeParse(JSON.parse(text));
  // An unknown member is an error, because the approved call must be replayed exactly. An executor
  // of the later release, which knows the member, can replay the call.
  if (!result.success) throw unreadable('sealed call', result.error);
  return result.data;
}

/**
 * Refuses a permit whose template version, service or credentials differ from those of the approved
 * call (docs/reference/approvals.md#the-frozen-call).
 */
export function requireUnchanged(frozenCall: FrozenCall, { target, injections }: Permit): void {
  if (canonicalJson(frozenCall.target) !== canonicalJson(target)) {
    throw approvalStaleError('The service or its template changed since the approval');
  }
  if (canonicalJson(frozenCall.injections) !== canonicalJson(injections)) {
    throw approvalStaleError('Another credential would be used than when it was approved');
  }
}

function sealContextOf({
  orgId,
  approvalId,
}: {
  orgId: string;
  approvalId: string;
}): OrgSealContext {
  return { orgId, recordId: approvalId, version: 1, purpose: 'frozen_call' };
}
