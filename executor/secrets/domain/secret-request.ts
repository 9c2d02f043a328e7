import { createHash } from 'node:crypto';

import { AppError } from '#errors';

const secondsByUnit = { d: 86_400, h: 3_600, m: 60, s: 1 } as const;
const ttlSecondsMin = 60;
const ttlSecondsMax = 7 * secondsByUnit.d;
const ttlSecondsDefault = secondsByUnit.d;

/**
 * Parses how long a link is valid, and returns seconds. The form is `<n>(s|m|h|d)`, combinable
 * (`1d12h`), from 1 minute to 7 days. The default is a day.
 */
export function parseRequestTtl(ttl: string | undefined): number {
  if (ttl === undefined) return ttlSecondsDefault;
  const seconds = [...ttl.matchAll(/(\d{1,9})([dhms])/g)].reduce(
    (sum, [, amount, unit]) =>
      sum + Number(amount) * secondsByUnit[unit as keyof typeof secondsByUnit],
    0,
  );
  const isWellFormed = /^(\d{1,9}[dhms])+$/.test(ttl);
  if (isWellFormed && seconds >= ttlSecondsMin && seconds <= ttlSecondsMax) return seconds;
  const message = 'must be between 1 minute and 7 days, such as 24h';
  throw new AppError('invalid_params', `The ttl ${message}.`, {
    details: { issues: [{ path: 'ttl', message, expected: '1m to 7d' }] },
  });
}

const tokenBytes = 32;

/**
 * The token in a link, from 256 random bits. Only who knows the token can open the page on which
 * the secret is entered.
 */
export function toProvideToken(random: Buffer): string {
  if (random.length !== tokenBytes) throw new Error('a token is exactly 256 random bits');
  return random.toString('base64url');
}

/**
 * The hash of a link's token. Only the hash is stored. A slow hash function would add no
 * protection, because nobody can guess 256 random bits.
 */
export function hashOfToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
