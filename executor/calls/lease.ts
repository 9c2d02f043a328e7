import { AppError } from '#errors';
import { leaseSeconds } from '../repository/dispatch.ts';

const renewEveryMs = 5_000;

/**
 * The right to send one dispatch, for as long as its row says so. When it has passed, somebody
 * else may already have called the outcome unknown: then nothing may leave any more.
 */
export class Lease implements Disposable {
  #aliveUntil: number;
  readonly #timer: NodeJS.Timeout;

  /** `claimedAt`: `performance.now()` from before the row was written, so that we never think longer than it. */
  constructor(claimedAt: number, renew: () => Promise<boolean>) {
    this.#aliveUntil = claimedAt + leaseSeconds * 1_000;
    this.#timer = setInterval(() => void this.#renew(renew), renewEveryMs);
  }

  /** Throws when the lease has passed; the caller of it then sends nothing. */
  requireAlive(): void {
    if (performance.now() < this.#aliveUntil) return;
    throw new AppError(
      'unavailable',
      'The call could not be sent in time. Nothing was sent; try again.',
      {
        details: { component: 'executor', fenced: true },
      },
    );
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #renew(renew: () => Promise<boolean>): Promise<void> {
    const startedAt = performance.now();
    try {
      this.#aliveUntil = (await renew()) ? startedAt + leaseSeconds * 1_000 : 0;
    } catch {
      // The database is away for the moment: the lease runs on, and out if it stays away.
    }
  }
}
