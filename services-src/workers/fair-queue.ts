interface OwnedJob {
  /**
   * The party whose jobs take turns with other owners' jobs. Owners are compared by identity
   * (`===`).
   */
  readonly owner: unknown;
}

interface Limits {
  /**
   * The most jobs of one owner that run at a time; the other workers stay free for other owners.
   */
  readonly runningMaxPerOwner: number;
  readonly waitingMax: number;
  readonly waitingMaxPerOwner: number;
}

const ownersRememberedMax = 1_000;

/**
 * A queue that is fair between owners: a job does not wait for all the jobs that another owner
 * queued before it.
 */
export class FairQueue<Job extends OwnedJob> {
  readonly #limits: Limits;
  readonly #waiting: Job[] = [];
  /**
   * Maps an owner to the number of its last turn; the owner whose last turn is longest ago comes
   * first.
   */
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

  /** Queues a job that was interrupted, so that it is the next job of its owner. */
  addFirst(job: Job): void {
    this.#waiting.unshift(job);
  }

  remove(job: Job): void {
    const index = this.#waiting.indexOf(job);
    if (index >= 0) this.#waiting.splice(index, 1);
  }

  removeAll(): Job[] {
    return this.#waiting.splice(0);
  }

  /**
   * Takes a job of the owner with the fewest running jobs. Among equals, the owner whose last turn
   * is longest ago goes first.
   */
  takeNext(running: readonly OwnedJob[]): Job | undefined {
    let bestCandidate: { job: Job; under: number; served: number } | undefined;
    for (const job of this.#waiting) {
      const runningCount = countOf(running, job.owner);
      if (runningCount >= this.#limits.runningMaxPerOwner) continue;
      const servedCount = this.#served.get(job.owner) ?? 0;
      const isSooner = runningCount < (bestCandidate?.under ?? Infinity);
      const isEqual = runningCount === bestCandidate?.under;
      if (isSooner || (isEqual && servedCount < bestCandidate!.served))
        bestCandidate = { job, under: runningCount, served: servedCount };
    }
    if (bestCandidate === undefined) return undefined;
    this.remove(bestCandidate.job);
    this.#note(bestCandidate.job.owner);
    return bestCandidate.job;
  }

  /** How many of the waiting jobs could start now if there were enough workers. */
  countReady(running: readonly OwnedJob[]): number {
    const owners = new Set(this.#waiting.map(({ owner }) => owner));
    const { runningMaxPerOwner } = this.#limits;
    return [...owners].reduce<number>((sum, owner) => {
      const freeSlots = Math.max(0, runningMaxPerOwner - countOf(running, owner));
      return sum + Math.min(freeSlots, countOf(this.#waiting, owner));
    }, 0);
  }

  #note(owner: unknown): void {
    this.#turn += 1;
    this.#served.delete(owner);
    this.#served.set(owner, this.#turn);
    if (this.#served.size <= ownersRememberedMax) return;
    const [oldest] = this.#served.keys();
    this.#served.delete(oldest);
  }
}

function countOf(jobs: readonly OwnedJob[], owner: unknown): number {
  return jobs.filter((job) => job.owner === owner).length;
}
