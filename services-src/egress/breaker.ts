import { unanswered } from './failures.ts';

export interface BreakerOptions {
  /** The number of failures in a row after which requests to an origin are paused. Default 5. */
  readonly failuresMax?: number;
  /**
   * The length of the first pause and of the longest one. Each failed probe doubles the pause.
   * Default 1 s and 30 s.
   */
  readonly pauseMs?: number;
  readonly pauseMaxMs?: number;
  /**
   * When a caller gives up sooner than this, its call shows nothing about the upstream. Default 5
   * s.
   */
  readonly patienceMs?: number;
  /**
   * The most failing origins that are remembered; the one that has failed for the longest time is
   * forgotten first. Default 4096.
   */
  readonly originsMax?: number;
}

/**
 * A request that the circuit breaker let through. Exactly one of the methods must be called when
 * the request ends.
 */
export interface Attempt {
  /** The upstream answered, with any status. */
  answered(): void;
  /** The upstream could not be reached, or did not answer. */
  failed(): void;
  /** The request showed nothing about the upstream. */
  undecided(): void;
}

interface OriginTrouble {
  failures: number;
  /** The length of the current pause; 0 while requests still pass. */
  pauseMs: number;
  /** The time, by the clock `now`, from which one request may probe the upstream. */
  probeAt: number;
  isProbing: boolean;
}

/**
 * Circuit breakers by key. After repeated failures of an upstream, further requests to it fail at
 * once for a while, so that they do not use up resources that other requests need. Only failing
 * keys take memory.
 */
export class Breakers {
  readonly #failuresMax: number;
  readonly #pauseMs: number;
  readonly #pauseMaxMs: number;
  readonly #originsMax: number;
  readonly #now: () => number;
  readonly #troubles = new Map<string, OriginTrouble>();

  constructor(options: BreakerOptions = {}, nowMs = () => performance.now()) {
    this.#failuresMax = options.failuresMax ?? 5;
    this.#pauseMs = options.pauseMs ?? 1_000;
    this.#pauseMaxMs = options.pauseMaxMs ?? 30_000;
    this.#originsMax = options.originsMax ?? 4_096;
    this.#now = nowMs;
  }

  /** The number of keys whose requests fail at once now, apart from a probe. */
  countOpen(): number {
    let openCount = 0;
    for (const { pauseMs } of this.#troubles.values()) if (pauseMs > 0) openCount += 1;
    return openCount;
  }

  /**
   * Lets a request through, or throws `upstream_unreachable` with `retry_after` before anything is
   * sent.
   */
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

  #probe(key: string, trouble: OriginTrouble): Attempt {
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
    const knownTrouble = this.#troubles.get(key);
    const trouble = knownTrouble ?? { failures: 0, pauseMs: 0, probeAt: 0, isProbing: false };
    if (knownTrouble === undefined) {
      this.#troubles.set(key, trouble);
      const [oldest] = this.#troubles.keys();
      if (this.#troubles.size > this.#originsMax && oldest !== undefined)
        this.#troubles.delete(oldest);
    }
    trouble.failures += 1;
    // A request that was sent before the pause began and failed during it does not extend the
    // pause.
    if (trouble.failures >= this.#failuresMax && trouble.pauseMs === 0)
      this.#pause(trouble, this.#pauseMs);
  }

  /**
   * Shortens each pause by a random part, so that many processes do not probe at the same moment.
   */
  #pause(trouble: OriginTrouble, pauseMs: number): void {
    trouble.pauseMs = pauseMs;
    trouble.probeAt = this.#now() + pauseMs * (0.75 + Math.random() / 4);
  }
}
