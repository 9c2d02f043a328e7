import { z } from 'zod';

import { disclosedField } from '#contracts/audit';
import { call } from '#contracts/call';
import { callTarget, injection } from '#contracts/permit';
import type { Permit } from '#contracts/permit';
import type { Database } from '#database';
import { AppError } from '#errors';
import { canonicalJson } from '#signing';
import type { OrgBinding, Vault } from '../vault/vault.ts';

/** All that the replay needs to build the approved request again. Credentials stand in it by id, never by value. */
const frozenCall = z.strictObject({
  call,
  timeoutMs: z.int(),
  target: callTarget,
  injections: z.array(injection),
  requestDigest: z.string(),
  /** What the approver saw, for the audit row of the execution. */
  disclosed: z.array(disclosedField),
  /** That the approver was shown an outline of it. */
  isTooLarge: z.boolean(),
});
export type FrozenCall = z.infer<typeof frozenCall>;

export async function freezeCall(
  { db, vault }: { db: Database; vault: Vault },
  { orgId, approvalId, frozen }: { orgId: string; approvalId: string; frozen: FrozenCall },
): Promise<string> {
  const sealed = await vault.seal(db, bindingOf({ orgId, approvalId }), JSON.stringify(frozen));
  return sealed.toString('base64url');
}

/** Opens what `freezeCall` sealed for this very approval; the vault answers `approval_stale` for anything else. */
export async function thawCall(
  { db, vault }: { db: Database; vault: Vault },
  { orgId, approvalId, sealedCall }: { orgId: string; approvalId: string; sealedCall: string },
): Promise<FrozenCall> {
  const sealed = Buffer.from(sealedCall, 'base64url');
  const text = await vault.unseal(db, bindingOf({ orgId, approvalId }), sealed);
  return frozenCall.parse(JSON.parse(text));
}

/**
 * Refuses a permit that names another template version, service or credential than was approved
 * (docs/reference/approvals.md#the-frozen-call).
 */
export function requireUnchanged(frozen: FrozenCall, { target, injections }: Permit): void {
  if (canonicalJson(frozen.target) !== canonicalJson(target)) {
    throw stale('The service or its template changed since the approval');
  }
  if (canonicalJson(frozen.injections) !== canonicalJson(injections)) {
    throw stale('Another credential would be used than when it was approved');
  }
}

export function stale(what: string): AppError {
  return new AppError('approval_stale', `${what}; nothing was sent. Ask for approval again.`);
}

function bindingOf({ orgId, approvalId }: { orgId: string; approvalId: string }): OrgBinding {
  return { orgId, recordId: approvalId, version: 1, purpose: 'frozen_call' };
}
