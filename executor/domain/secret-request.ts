import { createHash } from 'node:crypto';

import { AppError } from '#errors';

/** Open links of one requester; more would only be forgotten. */
export const openRequestsMax = 20;

const secondsOf = { d: 86_400, h: 3_600, m: 60, s: 1 } as const;
const ttlSecondsMin = 60;
const ttlSecondsMax = 7 * secondsOf.d;
const ttlSecondsDefault = secondsOf.d;

/** Seconds that a link works: `<n>(s|m|h|d)`, combinable (`1d12h`), 1 minute to 7 days; a day when none is given. */
export function parseRequestTtl(ttl: string | undefined): number {
  if (ttl === undefined) return ttlSecondsDefault;
  const seconds = [...ttl.matchAll(/(\d{1,9})([dhms])/g)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * secondsOf[unit as keyof typeof secondsOf],
    0,
  );
  const isWritten = /^(\d{1,9}[dhms])+$/.test(ttl);
  if (isWritten && seconds >= ttlSecondsMin && seconds <= ttlSecondsMax) return seconds;
  const message = 'must be between 1 minute and 7 days, such as 24h';
  throw new AppError('invalid_params', `The ttl ${message}.`, {
    details: { issues: [{ path: 'ttl', message, expected: '1m to 7d' }] },
  });
}

const tokenBytes = 32;

/** The part of a link that nobody can guess: 256 random bits. */
export function provideTokenOf(random: Buffer): string {
  if (random.length !== tokenBytes) throw new Error('a token is exactly 256 random bits');
  return random.toString('base64url');
}

/** What is kept of it: with that many random bits, a slow hash would add nothing. */
export function hashOfToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
