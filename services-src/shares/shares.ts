import { findRefusal } from './room.ts';
import type { Pool } from './room.ts';

interface Group {
  held: number;
  /** The groups inside this one; only groups that hold something are kept. */
  readonly innerGroups: Map<string, Group>;
}

/**
 * A pool in memory, shared between nested groups. A path lists the groups that a holder belongs to,
 * outermost first.
 */
export class Shares<Name extends string> {
  readonly #pool: Pool<Name>;
  readonly #whole = createGroup();

  constructor(pool: Pool<Name>) {
    this.#pool = pool;
  }

  /** The amount that is held in total. */
  get held(): number {
    return this.#whole.held;
  }

  /** The amount that is held of the whole pool, then by each group on the path. */
  heldOn(path: readonly string[]): number[] {
    const heldCounts = [this.#whole.held];
    let group: Group | undefined = this.#whole;
    for (const id of path) {
      group = group?.innerGroups.get(id);
      heldCounts.push(group?.held ?? 0);
    }
    return heldCounts;
  }

  /** The level that would refuse the amount; null when it could be taken. */
  refusalOf(path: readonly string[], amount = 1): Name | 'pool' | null {
    return findRefusal(this.#pool, this.heldOn(path), amount);
  }

  /** Takes the amount and returns null, or takes nothing and returns the level that refuses it. */
  take(path: readonly string[], amount = 1): Name | 'pool' | null {
    const refusal = this.refusalOf(path, amount);
    if (refusal === null) this.hold(path, amount);
    return refusal;
  }

  /** Counts the amount as held, even when it exceeds a limit. */
  hold(path: readonly string[], amount = 1): void {
    let group = this.#whole;
    group.held += amount;
    for (const id of path) {
      let nextGroup = group.innerGroups.get(id);
      if (nextGroup === undefined) group.innerGroups.set(id, (nextGroup = createGroup()));
      group = nextGroup;
      group.held += amount;
    }
  }

  /** Gives back an amount that was taken. */
  give(path: readonly string[], amount = 1): void {
    let group = this.#whole;
    group.held -= amount;
    for (const id of path) {
      const nextGroup = group.innerGroups.get(id);
      if (nextGroup === undefined) return;
      nextGroup.held -= amount;
      if (nextGroup.held <= 0) {
        group.innerGroups.delete(id);
        return;
      }
      group = nextGroup;
    }
  }
}

function createGroup(): Group {
  return { held: 0, innerGroups: new Map() };
}
