import { readTtl } from '#contracts/ttl';
import { AppError } from '#errors';

/** Seconds of a `ttl`; refuses what is none with `invalid_params`. */
export function parseTtl(ttl: string): number {
  const read = readTtl(ttl);
  if ('seconds' in read) return read.seconds;
  throw new AppError('invalid_params', `The ttl ${read.problem}.`, {
    details: { issues: [{ path: 'ttl', message: read.problem, expected: '1m to 365d' }] },
  });
}
