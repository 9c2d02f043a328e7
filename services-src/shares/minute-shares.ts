import type { Pool } from './room.ts';
import { Shares } from './shares.ts';

interface UsageSlice {
  readonly atMs: number;
  readonly usedByKey: Map<string, { readonly path: readonly string[]; amount: number }>;
}

const minuteMs = 60_000;
const sliceMs = 1_000;

/**
 * Shares of an amount per minute, such as bytes. An amount that was used is given back after a
 * minute, second by second.
 */
export class MinuteShares<Name extends string> {
  readonly #shares: Shares<Name>;
  readonly #now: () => number;
  readonly #slices: UsageSlice[] = [];

  constructor(pool: Pool<Name>, nowMs: () => number = () => performance.now()) {
    this.#shares = new Shares(pool);
    this.#now = nowMs;
  }

  /**
   * The level (org, user or identity) that has used up its share of the minute; null when some of
   * the share is left.
   */
  refusalOf(path: readonly string[]): Name | 'pool' | null {
    this.#giveBack();
    return this.#shares.refusalOf(path);
  }

  /** Counts an amount as used, even when it exceeds the share. */
  use(path: readonly string[], amount: number): void {
    const nowMs = this.#now();
    let slice = this.#slices.at(-1);
    if (slice === undefined || nowMs - slice.atMs >= sliceMs) {
      slice = { atMs: nowMs, usedByKey: new Map() };
      this.#slices.push(slice);
    }
    const key = path.join(' ');
    const usedEntry = slice.usedByKey.get(key);
    if (usedEntry === undefined) slice.usedByKey.set(key, { path, amount });
    else usedEntry.amount += amount;
    this.#shares.hold(path, amount);
  }

  #giveBack(): void {
    const windowStart = this.#now() - minuteMs;
    for (
      let oldestSlice = this.#slices[0];
      oldestSlice !== undefined;
      oldestSlice = this.#slices[0]
    ) {
      if (oldestSlice.atMs > windowStart) return;
      for (const { path, amount } of oldestSlice.usedByKey.values())
        this.#shares.give(path, amount);
      this.#slices.shift();
    }
  }
}
