import { createHash } from 'node:crypto';

import { addressBlock } from '#addresses';
import type { CallContext } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { signInFailedEvent } from '../sessions/domain/sign-in-events.ts';
import type { HashRequester } from './password-hasher.ts';
import { getIdentity } from '../identities/identities.sql.ts';
import type { LocalAccount } from '../users/local-accounts.sql.ts';
import { takeAttempt } from './sign-in-attempts.sql.ts';
import type { AttemptCounter } from './sign-in-attempts.sql.ts';

interface SignInAttempt {
  /** The user's id. If no user has the typed e-mail address, the address itself. */
  readonly account: string;
  readonly ip: string | null;
  /**
   * SHA-256 of the cookie of a browser in which this user has signed in before. Null for any other
   * browser.
   */
  readonly device: Buffer | null;
}

/**
 * Returns the counters of a sign-in attempt. Each counter is for one account and one network: with
 * one counter for the whole account, a stranger could lock its user out. A browser in which the
 * user signed in before has a separate counter, so that a stranger in the user's network cannot
 * lock the user out either.
 */
export function signInCountersOf({ account, ip, device }: SignInAttempt): AttemptCounter[] {
  if (device !== null) return [createCounter(['device', account, device.toString('hex')], 5)];
  const address = ip ?? '';
  return [
    createCounter(['address', account, addressBlock(address)], 5),
    createCounter(['network', account, networkOf(address)], 20),
  ];
}

/**
 * Names who attempts to sign in, for the queue of the password hasher: a remembered browser or, for
 * other browsers, a network.
 */
export function signInRequesterOf({ ip, device }: Omit<SignInAttempt, 'account'>): HashRequester {
  if (device !== null) return { owner: device.toString('hex'), isKnown: true };
  return { owner: networkOf(ip ?? ''), isKnown: false };
}

/**
 * Returns the /24 network of an IPv4 address, or the /48 network of an IPv6 address. A single
 * customer of an IPv6 provider often has a whole /48, which contains 65,536 networks of size /64.
 */
function networkOf(address: string): string {
  return addressBlock(address, { ipv4Bits: 24, ipv6Bits: 48 });
}

/** The counters for a signed-in user who enters the current password to change it. */
export function passwordChangeCountersOf(identityId: string): AttemptCounter[] {
  return [createCounter(['change', identityId], 5)];
}

function createCounter(keyParts: readonly string[], freeAttempts: number): AttemptCounter {
  return { hash: createHash('sha256').update(JSON.stringify(keyParts)).digest(), freeAttempts };
}

/** Counts an attempt; throws `rate_limited` while one of its counters requires a wait. */
export async function countAttempt(
  { db }: Pick<Deps, 'db'>,
  attemptCounters: readonly AttemptCounter[],
): Promise<void> {
  for (const each of attemptCounters) {
    const seconds = await takeAttempt(db, each);
    if (seconds === null) continue;
    throw new AppError(
      'rate_limited',
      `Too many attempts with this account; wait ${seconds} s and try again.`,
      { details: { retry_after: seconds } },
    );
  }
}

/** Writes an audit record of a wrong password. A failure to write it is only logged. */
export async function recordFailedSignIn(
  { db, logger }: Pick<Deps, 'db' | 'logger'>,
  { orgId, identityId }: Pick<LocalAccount, 'orgId' | 'identityId'>,
  context: CallContext,
): Promise<void> {
  try {
    await db.transaction(async (tx) => {
      const user = await getIdentity(tx, { orgId, id: identityId });
      await appendEvent(tx, signInFailedEvent({ orgId, user, context }));
    });
  } catch (error) {
    logger.warn({ err: error }, 'a failed sign-in could not be recorded');
  }
}
