/**
 * True in `npm run test:all` (SWEEPS=all), which tests all values of each sweep; `npm test` tests a
 * fixed sample of them.
 */
const isWholeSweep = process.env['SWEEPS'] === 'all';

/**
 * Returns the seed of what a test chooses at random: generated cases, faults or kills. The variable
 * TEST_SEED sets it; `npm run test:all` sets it to a new number each time, and prints it. Without
 * the variable, as in `npm test`, it is `fixed`, so that no test fails by chance.
 */
export const chooseSeed = (fixed: number): number => Number(process.env['TEST_SEED'] ?? fixed);

/** Returns `whole` in `npm run test:all`, and `sampled` otherwise. */
export const chooseSweepValue = <T>({ sampled, whole }: { sampled: T; whole: T }): T =>
  isWholeSweep ? whole : sampled;
