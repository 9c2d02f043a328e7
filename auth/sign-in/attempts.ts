import { createHash } from 'node:crypto';

import { addressBlock } from '#addresses';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { signInFailed } from '../domain/sign-in-events.ts';
import type { Asker } from '../password-hasher.ts';
import { getIdentity } from '../repository/identities.ts';
import type { LocalAccount } from '../repository/local-accounts.ts';
import { takeAttempt } from '../repository/sign-in-attempts.ts';
import type { AttemptCount } from '../repository/sign-in-attempts.ts';

interface SignInAttempt {
  /** The user's id, or the e-mail address that was typed where no user has it. */
  readonly account: string;
  readonly ip: string | null;
  /** SHA-256 of the cookie of a browser in which this user signed in before; null for any other. */
  readonly device: Buffer | null;
}

/**
 * What an attempt to sign in counts against. Guesses count where they come from, not against the
 * account alone: otherwise a stranger who guesses keeps its user out. A browser in which the user
 * signed in before has its own count, so that not even neighbours in the user's network can.
 */
export function signInCounts({ account, ip, device }: SignInAttempt): AttemptCount[] {
  if (device !== null) return [count(['device', account, device.toString('hex')], 5)];
  const address = ip ?? '';
  return [
    count(['address', account, addressBlock(address)], 5),
    count(['network', account, networkOf(address)], 20),
  ];
}

/** Whose turn it is to have a password checked, which takes a while and only a few are at a time. */
export function signInAsker({ ip, device }: Omit<SignInAttempt, 'account'>): Asker {
  if (device !== null) return { owner: device.toString('hex'), isKnown: true };
  return { owner: networkOf(ip ?? ''), isKnown: false };
}

/** Whoever is given a large network of IPv6 has thousands of the smaller blocks. */
function networkOf(address: string): string {
  return addressBlock(address, { ipv4Bits: 24, ipv6Bits: 48 });
}

/** What an attempt counts against to give the current password, by a user who is signed in. */
export function passwordChangeCounts(identityId: string): AttemptCount[] {
  return [count(['change', identityId], 5)];
}

function count(what: readonly string[], freely: number): AttemptCount {
  return { hash: createHash('sha256').update(JSON.stringify(what)).digest(), freely };
}

/** Counts an attempt, or refuses it while one of its counts has to wait. */
export async function slowDown(
  { db }: Pick<Deps, 'db'>,
  counts: readonly AttemptCount[],
): Promise<void> {
  for (const each of counts) {
    const seconds = await takeAttempt(db, each);
    if (seconds === null) continue;
    throw new AppError(
      'rate_limited',
      `Too many attempts with this account; wait ${seconds} s and try again.`,
      { details: { retry_after: seconds } },
    );
  }
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
