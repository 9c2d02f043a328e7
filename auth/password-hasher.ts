import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

import { AppError } from '#errors';
import {
  argon2Parameters,
  formatPasswordHash,
  normalizePassword,
  parsePasswordHash,
  saltBytes,
  tagBytes,
} from './domain/password.ts';
import type { PasswordHash } from './domain/password.ts';

export interface PasswordHasher {
  /** In PHC string form. */
  hash(password: string): Promise<string>;
  /** Takes as long for null, which is no password of anybody: who asks cannot tell that there is no account. */
  verify(password: string, stored: string | null): Promise<boolean>;
}

const runArgon2 = promisify(argon2);
/** Each takes 19 MiB and a thread of Node's pool. */
const atOnceMax = 2;
const waitingMax = 64;

/** Hashes a few at a time, so that many sign-ins at once exhaust neither memory nor threads. */
export function createPasswordHasher(): PasswordHasher {
  const waiting: (() => void)[] = [];
  let running = 0;

  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= atOnceMax) {
      if (waiting.length >= waitingMax) {
        throw new AppError('unavailable', 'Too many people sign in at once; try again shortly.');
      }
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else {
      running += 1;
    }
    try {
      return await work();
    } finally {
      // The turn is handed on; only with nobody waiting it is given back.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };

  const tagOf = (password: string, like: Omit<PasswordHash, 'tag'>, tagLength: number) =>
    inTurn(() =>
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
    async hash(password) {
      const fresh = { ...argon2Parameters, salt: randomBytes(saltBytes) };
      return formatPasswordHash({ ...fresh, tag: await tagOf(password, fresh, tagBytes) });
    },
    async verify(password, stored) {
      const hash = stored === null ? nobodys : parsePasswordHash(stored);
      const tag = await tagOf(password, hash, hash.tag.length);
      return timingSafeEqual(tag, hash.tag) && stored !== null;
    },
  };
}
