interface Owned {
  /** Compared by identity. */
  readonly owner: unknown;
}

interface Limits {
  /** Jobs of one owner that run at a time; the other workers are for other owners. */
  readonly runningMaxPerOwner: number;
  readonly waitingMax: number;
  readonly waitingMaxPerOwner: number;
}

const ownersRemembered = 1_000;

/** Jobs that wait, shared out between their owners: nobody waits for all that another has asked for. */
export class Turns<Job extends Owned> {
  readonly #limits: Limits;
  readonly #waiting: Job[] = [];
  /** Owners in the order of their last turn. */
  readonly #served = new Map<unknown, number>();
  #turn = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  get length(): number {
    return this.#waiting.length;
  }

  hasRoomFor(owner: unknown): boolean {
    const { waitingMax, waitingMaxPerOwner } = this.#limits;
    if (this.#waiting.length >= waitingMax) return false;
    return countOf(this.#waiting, owner) < waitingMaxPerOwner;
  }

  add(job: Job): void {
    this.#waiting.push(job);
  }

  /** One that was interrupted: the next of its owner. */
  addFirst(job: Job): void {
    this.#waiting.unshift(job);
  }

  remove(job: Job): void {
    const at = this.#waiting.indexOf(job);
    if (at >= 0) this.#waiting.splice(at, 1);
  }

  removeAll(): Job[] {
    return this.#waiting.splice(0);
  }

  /** The owner with the least under way goes first, among those the one whose last turn is longest ago. */
  takeNext(running: readonly Owned[]): Job | undefined {
    let next: { job: Job; under: number; served: number } | undefined;
    for (const job of this.#waiting) {
      const under = countOf(running, job.owner);
      if (under >= this.#limits.runningMaxPerOwner) continue;
      const served = this.#served.get(job.owner) ?? 0;
      const isSooner = under < (next?.under ?? Infinity);
      const isEqual = under === next?.under;
      if (isSooner || (isEqual && served < next!.served)) next = { job, under, served };
    }
    if (next === undefined) return undefined;
    this.remove(next.job);
    this.#note(next.job.owner);
    return next.job;
  }

  /** How many more could run now, were there threads enough. */
  countReady(running: readonly Owned[]): number {
    const owners = new Set(this.#waiting.map(({ owner }) => owner));
    const { runningMaxPerOwner } = this.#limits;
    return [...owners].reduce<number>((sum, owner) => {
      const free = Math.max(0, runningMaxPerOwner - countOf(running, owner));
      return sum + Math.min(free, countOf(this.#waiting, owner));
    }, 0);
  }

  #note(owner: unknown): void {
    this.#turn += 1;
    this.#served.delete(owner);
    this.#served.set(owner, this.#turn);
    if (this.#served.size <= ownersRemembered) return;
    const [oldest] = this.#served.keys();
    this.#served.delete(oldest);
  }
}

function countOf(jobs: readonly Owned[], owner: unknown): number {
  return jobs.filter((job) => job.owner === owner).length;
}
