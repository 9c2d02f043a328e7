import { createHash } from 'node:crypto';

import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { signInFailed } from '../domain/sign-in-events.ts';
import { getIdentity } from '../repository/identities.ts';
import type { LocalAccount } from '../repository/local-accounts.ts';
import { takeAttempt } from '../repository/sign-in-attempts.ts';

/** Attempts on one account, named by its user's id, or by an address that nobody has. */
export function attemptsOf(name: string): Buffer {
  return createHash('sha256').update(name).digest();
}

/** Counts an attempt, or refuses it while this account has to wait. */
export async function slowDown(
  { db }: Pick<Deps, 'db'>,
  attempt: { readonly account: Buffer },
): Promise<void> {
  const seconds = await takeAttempt(db, attempt);
  if (seconds === null) return;
  throw new AppError(
    'rate_limited',
    `Too many attempts with this account; wait ${seconds} s and try again.`,
    { details: { retry_after: seconds } },
  );
}

/** Leaves an audit record; never fails. */
export async function recordFailure(
  { db, logger }: Pick<Deps, 'db' | 'logger'>,
  { orgId, identityId }: Pick<LocalAccount, 'orgId' | 'identityId'>,
  context: CallContext,
): Promise<void> {
  try {
    await db.transaction(async (tx) => {
      const user = await getIdentity(tx, { orgId, id: identityId });
      await appendEvent(tx, signInFailed({ orgId, user, context }));
    });
  } catch (error) {
    logger.warn({ err: error }, 'a failed sign-in could not be recorded');
  }
}
