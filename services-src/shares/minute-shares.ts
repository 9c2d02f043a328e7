import type { Pool } from './room.ts';
import { Shares } from './shares.ts';

interface Slice {
  readonly atMs: number;
  readonly used: Map<string, { readonly path: readonly string[]; amount: number }>;
}

const minuteMs = 60_000;
const sliceMs = 1_000;

/** What was used within the last minute: a pool whose parts come back by themselves, counted by the second. */
export class MinuteShares<Name extends string> {
  readonly #shares: Shares<Name>;
  readonly #now: () => number;
  readonly #slices: Slice[] = [];

  constructor(pool: Pool<Name>, now: () => number = () => performance.now()) {
    this.#shares = new Shares(pool);
    this.#now = now;
  }

  /** Which level has used up its share of the minute; null when something is left. */
  refusalOf(path: readonly string[]): Name | 'pool' | null {
    this.#giveBack();
    return this.#shares.refusalOf(path);
  }

  /** Counts what was used, however much it was. */
  use(path: readonly string[], amount: number): void {
    const nowMs = this.#now();
    let slice = this.#slices.at(-1);
    if (slice === undefined || nowMs - slice.atMs >= sliceMs) {
      slice = { atMs: nowMs, used: new Map() };
      this.#slices.push(slice);
    }
    const key = path.join(' ');
    const known = slice.used.get(key);
    if (known === undefined) slice.used.set(key, { path, amount });
    else known.amount += amount;
    this.#shares.hold(path, amount);
  }

  #giveBack(): void {
    const before = this.#now() - minuteMs;
    for (let first = this.#slices[0]; first !== undefined; first = this.#slices[0]) {
      if (first.atMs > before) return;
      for (const { path, amount } of first.used.values()) this.#shares.give(path, amount);
      this.#slices.shift();
    }
  }
}
