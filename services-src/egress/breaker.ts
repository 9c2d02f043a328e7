import { unanswered } from './failures.ts';

export interface BreakerOptions {
  /** Failures in a row after which an origin is left alone. Default 5. */
  readonly failuresMax?: number;
  /** How long it is left alone at first, and at most: doubled by each probe that fails. Default 1 s and 30 s. */
  readonly pauseMs?: number;
  readonly pauseMaxMs?: number;
  /** A caller who waited less than this says nothing about the upstream by giving up. Default 5 s. */
  readonly patienceMs?: number;
  /** Origins in trouble that are remembered; the one longest in trouble is forgotten first. Default 4096. */
  readonly originsMax?: number;
}

/** One request that was let through. Exactly one of its ends is to be told. */
export interface Attempt {
  /** The upstream answered, whatever it said. */
  answered(): void;
  /** It could not be reached, or did not answer. */
  failed(): void;
  /** Nothing was learnt about it. */
  undecided(): void;
}

interface Trouble {
  failures: number;
  /** 0 while requests still pass. */
  pauseMs: number;
  /** By the clock of `now`: from then on one request may try. */
  probeAt: number;
  isProbing: boolean;
}

/**
 * Circuit breakers by key. An upstream that does not answer is left alone for a while, so that
 * calls of it end at once instead of filling what others need. Only keys in trouble take memory.
 */
export class Breakers {
  readonly #failuresMax: number;
  readonly #pauseMs: number;
  readonly #pauseMaxMs: number;
  readonly #originsMax: number;
  readonly #now: () => number;
  readonly #troubles = new Map<string, Trouble>();

  constructor(options: BreakerOptions = {}, now = () => performance.now()) {
    this.#failuresMax = options.failuresMax ?? 5;
    this.#pauseMs = options.pauseMs ?? 1_000;
    this.#pauseMaxMs = options.pauseMaxMs ?? 30_000;
    this.#originsMax = options.originsMax ?? 4_096;
    this.#now = now;
  }

  /** Lets a request through, or throws `upstream_unreachable` with `retry_after`: nothing was sent. */
  enter(key: string): Attempt {
    const trouble = this.#troubles.get(key);
    const isOpen = trouble !== undefined && trouble.pauseMs > 0;
    if (!isOpen) return this.#attempt(key);
    const waitMs = trouble.isProbing ? this.#pauseMs : trouble.probeAt - this.#now();
    if (waitMs > 0) throw unanswered(Math.ceil(waitMs / 1000));
    trouble.isProbing = true;
    return this.#probe(key, trouble);
  }

  #attempt(key: string): Attempt {
    return {
      answered: () => void this.#troubles.delete(key),
      failed: () => this.#count(key),
      undecided: () => {},
    };
  }

  #probe(key: string, trouble: Trouble): Attempt {
    return {
      answered: () => void this.#troubles.delete(key),
      failed: () => {
        trouble.isProbing = false;
        this.#pause(trouble, Math.min(trouble.pauseMs * 2, this.#pauseMaxMs));
      },
      undecided: () => {
        trouble.isProbing = false;
      },
    };
  }

  #count(key: string): void {
    const known = this.#troubles.get(key);
    const trouble = known ?? { failures: 0, pauseMs: 0, probeAt: 0, isProbing: false };
    if (known === undefined) {
      this.#troubles.set(key, trouble);
      const [oldest] = this.#troubles.keys();
      if (this.#troubles.size > this.#originsMax && oldest !== undefined)
        this.#troubles.delete(oldest);
    }
    trouble.failures += 1;
    // What left before the pause began, and failed during it, does not make it longer.
    if (trouble.failures >= this.#failuresMax && trouble.pauseMs === 0)
      this.#pause(trouble, this.#pauseMs);
  }

  /** A little sooner at random, so that many processes do not probe at one moment. */
  #pause(trouble: Trouble, pauseMs: number): void {
    trouble.pauseMs = pauseMs;
    trouble.probeAt = this.#now() + pauseMs * (0.75 + Math.random() / 4);
  }
}
