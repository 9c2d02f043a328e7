import { randomUUID } from 'node:crypto';

import type { DecisionStatement } from '#contracts/decision';
import type { IdentityKind, Role } from '#contracts/vocabulary';
import { createPublicSigner, statementDigest } from '#signing';
import type { TestEnvironment } from './environment.ts';

interface Decider {
  readonly id: string;
  readonly orgId: string;
  readonly kind: IdentityKind;
  readonly role: Role | null;
}

/** Signs decisions as auth does. For tests in which a fake auth component replaces auth. */
export function createDecisions({ keys }: Pick<TestEnvironment, 'keys'>) {
  const signer = createPublicSigner<DecisionStatement>('decision', keys.DECISION_KEY);
  /**
   * Returns the decision that the decider allows this one call. `changedFields` replace its fields.
   */
  const on = (
    gap: string,
    decider: Decider,
    changedFields: Partial<DecisionStatement> = {},
  ): DecisionStatement => ({
    jti: randomUUID(),
    orgId: decider.orgId,
    deciderId: decider.id,
    deciderKind: decider.kind,
    role: decider.role,
    as: 'ancestor',
    clientId: null,
    approvalId: randomUUID(),
    gapDigest: statementDigest(gap),
    requestDigest: 'd'.repeat(64),
    resolution: 'allow',
    patterns: [],
    expiresAt: null,
    cascade: false,
    acknowledge: null,
    at: Date.now(),
    ...changedFields,
  });
  return {
    on,
    signOn: (...statementArguments: Parameters<typeof on>) =>
      signer.sign(on(...statementArguments)),
  };
}

/** Reads the claims of a signed statement without verifying the signature. */
export function readUnverified<T>(signed: string): T {
  return JSON.parse(Buffer.from(signed.split('.')[0] ?? '', 'base64url').toString()) as T;
}
