/**
 * True in `npm run test:all` (SWEEPS=all), where a sweep tests all its values. In `npm test`, a
 * sweep tests a fixed sample of its values.
 */
const isWholeSweep = process.env['SWEEPS'] === 'all';

/**
 * Returns the seed for everything that a test chooses at random: generated cases, faults or kills.
 * The variable TEST_SEED sets the seed. `npm run test:all` sets it to a new number each time, and
 * prints the number. Without the variable, as in `npm test`, the seed is `fixed`, so that no test
 * fails by chance.
 */
export const chooseSeed = (fixed: number): number => Number(process.env['TEST_SEED'] ?? fixed);

/** Returns `whole` in `npm run test:all`, and `sampled` otherwise. */
export const chooseSweepValue = <T>({ sampled, whole }: { sampled: T; whole: T }): T =>
  isWholeSweep ? whole : sampled;
