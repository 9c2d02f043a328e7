import { findRefusal } from '../shares/index.ts';

interface OwnedJob {
  /**
   * The party whose jobs take turns with other owners' jobs. Owners are compared by identity
   * (`===`).
   */
  readonly owner: unknown;
  /** The one of the owner's identities that the job is for; they take turns among each other. */
  readonly identity?: string | undefined;
}

interface Limits {
  /**
   * The most jobs of one owner that run at a time; the other workers stay free for other owners.
   */
  readonly runningMaxPerOwner: number;
  readonly waitingMax: number;
  readonly waitingMaxPerOwner: number;
}

const partiesRememberedMax = 2_000;

/** The share of a user's waiting places that one identity may hold (docs/reference/limits.md#shares). */
const identityLevel = { name: 'identity', percent: 80 };

/**
 * A queue that is fair between owners, and between the identities of an owner: a job does not wait
 * until all jobs that another owner or identity queued earlier have run.
 */
export class FairQueue<Job extends OwnedJob> {
  readonly #limits: Limits;
  readonly #waiting: Job[] = [];
  /**
   * Maps a party to the number of its last turn; the party whose last turn is longest ago comes
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

  hasRoomFor(owner: unknown, identity?: string): boolean {
    const { waitingMax, waitingMaxPerOwner } = this.#limits;
    if (this.#waiting.length >= waitingMax) return false;
    const ownerPlaces = { capacity: waitingMaxPerOwner, levels: [identityLevel] };
    const waitingCounts = partiesOf({ owner, identity }).map((party) =>
      countOf(this.#waiting, party),
    );
    return findRefusal(ownerPlaces, waitingCounts) === null;
  }

  add(job: Job): void {
    this.#waiting.push(job);
  }

  /** Queues a job that was interrupted, so that it is the next job of its identity. */
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
   * is longest ago goes first. Among the jobs of this owner, identities are compared in the same way.
   */
  takeNext(running: readonly OwnedJob[]): Job | undefined {
    let best: { job: Job; rank: readonly number[] } | undefined;
    for (const job of this.#waiting) {
      if (countOf(running, job.owner) >= this.#limits.runningMaxPerOwner) continue;
      const rank = partiesOf(job).flatMap((party) => [
        countOf(running, party),
        this.#served.get(party) ?? 0,
      ]);
      if (best === undefined || isBefore(rank, best.rank)) best = { job, rank };
    }
    if (best === undefined) return undefined;
    this.remove(best.job);
    this.#note(best.job);
    return best.job;
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

  #note(job: OwnedJob): void {
    this.#turn += 1;
    for (const party of partiesOf(job)) {
      this.#served.delete(party);
      this.#served.set(party, this.#turn);
      if (this.#served.size <= partiesRememberedMax) continue;
      const [oldest] = this.#served.keys();
      this.#served.delete(oldest);
    }
  }
}

/**
 * The owner, then the identity. The identity is named together with its owner, so that the two
 * parties cannot be confused.
 */
function partiesOf({ owner, identity }: OwnedJob): unknown[] {
  return identity === undefined ? [owner] : [owner, `${String(owner)} identity ${identity}`];
}

function countOf(jobs: readonly OwnedJob[], party: unknown): number {
  return jobs.filter((job) => partiesOf(job).includes(party)).length;
}

/** Whether `left` comes before `right` by the first number in which they differ. */
function isBefore(left: readonly number[], right: readonly number[]): boolean {
  const at = left.findIndex((number, index) => number !== right[index]);
  return at >= 0 && left[at]! < (right[at] ?? 0);
}
