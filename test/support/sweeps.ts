/**
 * True in `npm run test:all` (SWEEPS=all), which tests all values of each sweep; `npm test` tests a
 * fixed sample of them.
 */
const isWholeSweep = process.env['SWEEPS'] === 'all';

/** Returns `whole` in `npm run test:all`, and `sampled` otherwise. */
export const chooseSweepValue = <T>({ sampled, whole }: { sampled: T; whole: T }): T =>
  isWholeSweep ? whole : sampled;
