import { findRefusal } from './room.ts';
import type { Pool } from './room.ts';

interface Group {
  held: number;
  /** Groups that hold nothing are not kept. */
  readonly inner: Map<string, Group>;
}

/** A pool in memory, shared out between groups within groups. A path names the groups of a holder, outermost first. */
export class Shares<Name extends string> {
  readonly #pool: Pool<Name>;
  readonly #whole = newGroup();

  constructor(pool: Pool<Name>) {
    this.#pool = pool;
  }

  /** Of all together. */
  get held(): number {
    return this.#whole.held;
  }

  /** What is held of the pool, then by each group of the path. */
  heldOn(path: readonly string[]): number[] {
    const held = [this.#whole.held];
    let group: Group | undefined = this.#whole;
    for (const id of path) {
      group = group?.inner.get(id);
      held.push(group?.held ?? 0);
    }
    return held;
  }

  /** Which level would refuse it; null when it could be taken. */
  refusalOf(path: readonly string[], amount = 1): Name | 'pool' | null {
    return findRefusal(this.#pool, this.heldOn(path), amount);
  }

  /** Takes it and answers null, or takes nothing and answers which level refuses it. */
  take(path: readonly string[], amount = 1): Name | 'pool' | null {
    const refusal = this.refusalOf(path, amount);
    if (refusal === null) this.hold(path, amount);
    return refusal;
  }

  /** Counts what is held already, whether or not it is too much. */
  hold(path: readonly string[], amount = 1): void {
    let group = this.#whole;
    group.held += amount;
    for (const id of path) {
      let next = group.inner.get(id);
      if (next === undefined) group.inner.set(id, (next = newGroup()));
      group = next;
      group.held += amount;
    }
  }

  /** Gives back what was taken. */
  give(path: readonly string[], amount = 1): void {
    let group = this.#whole;
    group.held -= amount;
    for (const id of path) {
      const next = group.inner.get(id);
      if (next === undefined) return;
      next.held -= amount;
      if (next.held <= 0) {
        group.inner.delete(id);
        return;
      }
      group = next;
    }
  }
}

function newGroup(): Group {
  return { held: 0, inner: new Map() };
}
