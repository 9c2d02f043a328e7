import { Pool } from 'undici';
import type { buildConnector } from 'undici';

import type { Target } from './guard.ts';

export interface PoolsOptions {
  readonly connect: (target: Target) => buildConnector.connector;
  readonly connectionsPerOrigin: number;
  readonly originsMax: number;
}

/** The connections of one origin. */
export interface Origin {
  readonly pool: Pool;
  /** Whether ALPN chose HTTP/2 on every connection so far. */
  isHttp2: boolean;
}

/**
 * Keep-alive connections by origin. The least recently used origin is evicted when a new one needs
 * room.
 */
export class Pools implements AsyncDisposable {
  readonly #options: PoolsOptions;
  readonly #origins = new Map<string, Origin>();
  #newest = '';

  constructor(options: PoolsOptions) {
    this.#options = options;
  }

  /**
   * The key is the origin as the caller wrote it, so that a request to a known origin skips every
   * check that was made when its pool was opened.
   */
  get(key: string, checkTarget: () => Target): Origin {
    const knownPool = this.#origins.get(key);
    if (knownPool === undefined) return this.#open(key, checkTarget());
    if (key !== this.#newest) {
      this.#origins.delete(key);
      this.#origins.set(key, knownPool);
      this.#newest = key;
    }
    return knownPool;
  }

  #open(key: string, target: Target): Origin {
    const connect = this.#options.connect(target);
    let connectionsCount = 0;
    const pool = new Pool(target.origin, {
      allowH2: target.isSecure,
      connect: (place, callback) =>
        connect(place, (...result) => {
          if (result[0] === null) {
            const isHttp2 = 'alpnProtocol' in result[1] && result[1].alpnProtocol === 'h2';
            origin.isHttp2 = isHttp2 && (connectionsCount === 0 || origin.isHttp2);
            connectionsCount += 1;
          }
          callback(...result);
        }),
      connections: this.#options.connectionsPerOrigin,
      // A connection that lived longer would not notice that its host name now has another address.
      clientTtl: 300_000,
      keepAliveTimeout: 4000,
      keepAliveMaxTimeout: 30_000,
      maxHeaderSize: 32 * 1024,
      pipelining: 1,
      // undici's own timeouts are off, because they are coarse and restart with every byte; the
      // exchange enforces the deadlines.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const origin: Origin = { pool, isHttp2: false };
    this.#origins.set(key, origin);
    this.#newest = key;
    if (this.#origins.size > this.#options.originsMax) this.#evictOldest();
    return origin;
  }

  #evictOldest(): void {
    const [oldest] = this.#origins;
    if (oldest === undefined) return;
    this.#origins.delete(oldest[0]);
    // Closing waits for the running exchanges. Its errors are ignored, because no caller waits for
    // it.
    oldest[1].pool.close().catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const origins = [...this.#origins.values()];
    this.#origins.clear();
    await Promise.all(origins.map(({ pool }) => pool.destroy()));
  }
}
