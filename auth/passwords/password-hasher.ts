import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

import { AppError } from '#errors';
import { FairQueue } from '#workers';
import {
  argon2Parameters,
  formatPasswordHash,
  normalizePassword,
  parsePasswordHash,
  saltBytes,
  tagBytes,
} from './domain/password.ts';
import type { PasswordHash } from './domain/password.ts';

/** The user, browser or network for which a password is hashed. */
export interface HashRequester {
  /** The id of a user or browser, or the network of a stranger. The owners take turns. */
  readonly owner: string;
  /**
   * True for a signed-in user and for a remembered browser. They have a separate queue, which is
   * served first.
   */
  readonly isKnown: boolean;
}

export interface PasswordHasher {
  /** Hashes a password to a PHC string. */
  hash(password: string, requester: HashRequester): Promise<string>;
  /**
   * Checks a password. Null matches no password but takes as long to check, so the time does not
   * reveal whether an account exists.
   */
  verify(password: string, stored: string | null, requester: HashRequester): Promise<boolean>;
}

const runArgon2 = promisify(argon2);
const defaultLimits = {
  /** Each hash takes 19 MiB and a thread of Node's pool. */
  atOnceMax: 2,
  /**
   * These limits apply to each of the two queues. They are large enough for a whole office that
   * signs in from one network in the morning.
   */
  waitingMax: 512,
  waitingMaxPerOwner: 32,
};

interface Turn {
  readonly owner: string;
  readonly begin: () => void;
}

/**
 * Creates a hasher that hashes only two passwords at a time, so that many parallel sign-ins exhaust
 * neither memory nor threads.
 */
export function createPasswordHasher({ atOnceMax, ...queue } = defaultLimits): PasswordHasher {
  const limitsOfQueue = { runningMaxPerOwner: atOnceMax, ...queue };
  const knownOwners = new FairQueue<Turn>(limitsOfQueue);
  const strangersQueue = new FairQueue<Turn>(limitsOfQueue);
  const runningTurns: Turn[] = [];

  const beginNext = (): void => {
    if (runningTurns.length >= atOnceMax) return;
    const nextTurn = knownOwners.takeNext(runningTurns) ?? strangersQueue.takeNext(runningTurns);
    if (nextTurn === undefined) return;
    runningTurns.push(nextTurn);
    nextTurn.begin();
  };
  const runInTurn = async <T>(
    { owner, isKnown }: HashRequester,
    work: () => Promise<T>,
  ): Promise<T> => {
    const queue = isKnown ? knownOwners : strangersQueue;
    if (!queue.hasRoomFor(owner)) {
      throw new AppError('unavailable', 'Too many people sign in at once; try again shortly.');
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const queuedTurn: Turn = { owner, begin: resolve };
    queue.add(queuedTurn);
    beginNext();
    await promise;
    try {
      return await work();
    } finally {
      runningTurns.splice(runningTurns.indexOf(queuedTurn), 1);
      beginNext();
    }
  };

  const tagOf = (
    password: string,
    {
      like,
      tagLength,
      requester,
    }: { like: Omit<PasswordHash, 'tag'>; tagLength: number; requester: HashRequester },
  ) =>
    runInTurn(requester, () =>
      runArgon2('argon2id', {
        message: normalizePassword(password),
        nonce: like.salt,
        parallelism: like.parallelism,
        memory: like.memory,
        passes: like.passes,
        tagLength,
      }),
    );

  const decoyHash: PasswordHash = {
    ...argon2Parameters,
    salt: randomBytes(saltBytes),
    tag: randomBytes(tagBytes),
  };
  return {
    async hash(password, requester) {
      const hashOptions = { ...argon2Parameters, salt: randomBytes(saltBytes) };
      const tag = await tagOf(password, { like: hashOptions, tagLength: tagBytes, requester });
      return formatPasswordHash({ ...hashOptions, tag });
    },
    async verify(password, storedHash, requester) {
      const hash = storedHash === null ? decoyHash : parsePasswordHash(storedHash);
      const tag = await tagOf(password, { like: hash, tagLength: hash.tag.length, requester });
      return timingSafeEqual(tag, hash.tag) && storedHash !== null;
    },
  };
}
