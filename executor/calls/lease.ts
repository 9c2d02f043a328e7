import { AppError } from '#errors';
import { leaseSeconds } from './dispatch.sql.ts';

const renewIntervalMs = 5_000;

/**
 * The right to send one dispatch. When the lease has ended, another executor may already have
 * decided that the outcome is unknown, so nothing may be sent any more.
 */
export class Lease implements Disposable {
  #aliveUntil: number;
  readonly #timer: NodeJS.Timeout;

  /**
   * `claimedAt` is the value of `performance.now()` before the row was written. So this lease never
   * ends later than the lease in the row.
   */
  constructor(claimedAt: number, renew: () => Promise<boolean>) {
    this.#aliveUntil = claimedAt + leaseSeconds * 1_000;
    this.#timer = setInterval(() => void this.#renew(renew), renewIntervalMs);
  }

  /** Throws when the lease has ended. The caller then must not send anything. */
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
      // The database cannot be reached at the moment. The lease goes on until its end, and the next
      // renewal may succeed.
    }
  }
}
