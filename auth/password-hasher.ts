import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

import { AppError } from '#errors';
import { Turns } from '#workers';
import {
  argon2Parameters,
  formatPasswordHash,
  normalizePassword,
  parsePasswordHash,
  saltBytes,
  tagBytes,
} from './domain/password.ts';
import type { PasswordHash } from './domain/password.ts';

/** Who waits for a turn. */
export interface Asker {
  /** A user, a browser, or the network that a stranger comes from: turns are shared out between these. */
  readonly owner: string;
  /** Signed in now, or before with this browser: goes before strangers, and they take up none of its room. */
  readonly isKnown: boolean;
}

export interface PasswordHasher {
  /** In PHC string form. */
  hash(password: string, asker: Asker): Promise<string>;
  /** Takes as long for null, which is no password of anybody: who asks cannot tell that there is no account. */
  verify(password: string, stored: string | null, asker: Asker): Promise<boolean>;
}

const runArgon2 = promisify(argon2);
/** Each takes 19 MiB and a thread of Node's pool. */
const atOnceMax = 2;
/** Known browsers and strangers have as much each. An office signs in from one network in the morning. */
const roomy = { waitingMax: 512, waitingMaxPerOwner: 32 };

interface Turn {
  readonly owner: string;
  readonly begin: () => void;
}

/** Hashes a few at a time, so that many sign-ins at once exhaust neither memory nor threads. */
export function createPasswordHasher(room = roomy): PasswordHasher {
  const limits = { runningMaxPerOwner: atOnceMax, ...room };
  const known = new Turns<Turn>(limits);
  const strangers = new Turns<Turn>(limits);
  const running: Turn[] = [];

  const beginNext = (): void => {
    if (running.length >= atOnceMax) return;
    const next = known.takeNext(running) ?? strangers.takeNext(running);
    if (next === undefined) return;
    running.push(next);
    next.begin();
  };
  const inTurn = async <T>({ owner, isKnown }: Asker, work: () => Promise<T>): Promise<T> => {
    const turns = isKnown ? known : strangers;
    if (!turns.hasRoomFor(owner)) {
      throw new AppError('unavailable', 'Too many people sign in at once; try again shortly.');
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const turn: Turn = { owner, begin: resolve };
    turns.add(turn);
    beginNext();
    await promise;
    try {
      return await work();
    } finally {
      running.splice(running.indexOf(turn), 1);
      beginNext();
    }
  };

  const tagOf = (
    password: string,
    {
      like,
      tagLength,
      asker,
    }: { like: Omit<PasswordHash, 'tag'>; tagLength: number; asker: Asker },
  ) =>
    inTurn(asker, () =>
      runArgon2('argon2id', {
        message: normalizePassword(password),
        nonce: like.salt,
        parallelism: like.parallelism,
        memory: like.memory,
        passes: like.passes,
        tagLength,
      }),
    );

  const nobodys: PasswordHash = {
    ...argon2Parameters,
    salt: randomBytes(saltBytes),
    tag: randomBytes(tagBytes),
  };
  return {
    async hash(password, asker) {
      const fresh = { ...argon2Parameters, salt: randomBytes(saltBytes) };
      const tag = await tagOf(password, { like: fresh, tagLength: tagBytes, asker });
      return formatPasswordHash({ ...fresh, tag });
    },
    async verify(password, stored, asker) {
      const hash = stored === null ? nobodys : parsePasswordHash(stored);
      const tag = await tagOf(password, { like: hash, tagLength: hash.tag.length, asker });
      return timingSafeEqual(tag, hash.tag) && stored !== null;
    },
  };
}
