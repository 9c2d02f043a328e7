import { z } from 'zod';

import { accountValue } from '#contracts/account-value';
import type { AccountValue } from '#contracts/account-value';
import type { Sql } from '#database';
import { AppError } from '#errors';
import type { Account } from '../providers/look-up-account.ts';
import type { GrantedTokens } from '../providers/domain/token-answer.ts';
import type { OrgSealContext, Vault } from '../vault/vault.ts';
import { findWaitingGrant, insertWaitingGrant, takeWaitingGrant } from './waiting-grant.sql.ts';

/** The parts of a provider's grant that are stored. */
export interface Grant {
  readonly tokens: GrantedTokens;
  readonly account: Account | null;
  /** The hosts that the token response names. */
  readonly hosts: readonly string[];
}

/** The plaintext of a sealed grant. It is read within ten minutes, by the release that wrote it. */
const sealedGrant = z.object({
  tokens: z.object({
    accessToken: z.string(),
    refreshToken: z.string().nullable(),
    expiresInSeconds: z.number().nullable(),
    scopes: z.array(z.string()).nullable(),
  }),
  account: z
    .object({ id: z.string(), idBefore: z.string().exactOptional(), label: z.string() })
    .nullable(),
  hosts: z.array(z.string()),
  choices: z.array(accountValue),
});

export interface FlowKey {
  readonly orgId: string;
  readonly stateHash: Buffer;
  readonly sessionId: string;
  readonly provider: string;
}

/** Version 1 is the seal of the flow's PKCE verifier. */
function sealContextOf({ orgId, flowId }: { orgId: string; flowId: string }): OrgSealContext {
  return { orgId, recordId: flowId, version: 2, purpose: 'connection_flow' };
}

export async function keepGrant(
  { db, vault }: { db: Sql; vault: Vault },
  {
    orgId,
    flowId,
    grant,
    choices,
  }: { orgId: string; flowId: string; grant: Grant; choices: readonly AccountValue[] },
): Promise<void> {
  const text = JSON.stringify({ ...grant, choices });
  const sealed = await vault.seal(db, sealContextOf({ orgId, flowId }), text);
  await insertWaitingGrant(db, { orgId, flowId, choices, sealed });
}

interface Waiting {
  readonly flowId: string;
  readonly choices: readonly AccountValue[];
}

export async function findChoices(sql: Sql, flowKey: FlowKey): Promise<Waiting | undefined> {
  return findWaitingGrant(sql, flowKey);
}

/**
 * Takes the grant of a flow, once, for the chosen value. The choices are read from the sealed text,
 * because the list beside it could have been changed.
 */
export async function takeGrant(
  { db, vault }: { db: Sql; vault: Vault },
  flowKey: FlowKey,
  chosen: string,
): Promise<Grant & { readonly value: AccountValue }> {
  const { orgId } = flowKey;
  const waitingGrant = await findWaitingGrant(db, flowKey);
  if (waitingGrant === undefined) throw tooLate();
  const { flowId, sealed } = waitingGrant;
  const openedText = await vault.unseal(db, sealContextOf({ orgId, flowId }), sealed);
  const { choices, ...grant } = sealedGrant.parse(JSON.parse(openedText));
  const value = choices.find((each) => each.value === chosen);
  if (value === undefined) {
    throw new AppError('conflict', 'This is none of what your account opens. Pick one of them.');
  }
  if (!(await takeWaitingGrant(db, { orgId, flowId }))) throw tooLate();
  return { ...grant, value };
}

function tooLate(): AppError {
  return new AppError('expired', 'It took longer than ten minutes, or was finished before.');
}
