import { Pool } from 'undici';
import type { buildConnector } from 'undici';

import type { Target } from './guard.ts';

export interface PoolsOptions {
  readonly connect: (target: Target) => buildConnector.connector;
  readonly connectionsPerOrigin: number;
  readonly originsMax: number;
}

/** Keep-alive connections by origin. The least recently used origin makes room for a new one. */
export class Pools implements AsyncDisposable {
  readonly #options: PoolsOptions;
  readonly #pools = new Map<string, Pool>();
  #newest = '';

  constructor(options: PoolsOptions) {
    this.#options = options;
  }

  /** Keyed by the origin as the caller wrote it, so that a hit skips every check that `open` has made. */
  get(key: string, check: () => Target): Pool {
    const known = this.#pools.get(key);
    if (known === undefined) return this.#open(key, check());
    if (key !== this.#newest) {
      this.#pools.delete(key);
      this.#pools.set(key, known);
      this.#newest = key;
    }
    return known;
  }

  #open(key: string, target: Target): Pool {
    const pool = new Pool(target.origin, {
      allowH2: false,
      connect: this.#options.connect(target),
      connections: this.#options.connectionsPerOrigin,
      // A long-lived connection would never see that its name now points elsewhere.
      clientTtl: 300_000,
      keepAliveTimeout: 4000,
      keepAliveMaxTimeout: 30_000,
      maxHeaderSize: 32 * 1024,
      pipelining: 1,
      // Deadlines are the exchange's: undici's are coarse and start again with every byte.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.#pools.set(key, pool);
    this.#newest = key;
    if (this.#pools.size > this.#options.originsMax) this.#evictOldest();
    return pool;
  }

  #evictOldest(): void {
    const [oldest] = this.#pools;
    if (oldest === undefined) return;
    this.#pools.delete(oldest[0]);
    // Waits for its running exchanges; a failure to close has nobody left to tell.
    oldest[1].close().catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map((pool) => pool.destroy()));
  }
}
