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
  /** Whether every connection so far came to HTTP/2, by ALPN. */
  isHttp2: boolean;
}

/** Keep-alive connections by origin. The least recently used origin makes room for a new one. */
export class Pools implements AsyncDisposable {
  readonly #options: PoolsOptions;
  readonly #origins = new Map<string, Origin>();
  #newest = '';

  constructor(options: PoolsOptions) {
    this.#options = options;
  }

  /** Keyed by the origin as the caller wrote it, so that a hit skips every check that `open` has made. */
  get(key: string, check: () => Target): Origin {
    const known = this.#origins.get(key);
    if (known === undefined) return this.#open(key, check());
    if (key !== this.#newest) {
      this.#origins.delete(key);
      this.#origins.set(key, known);
      this.#newest = key;
    }
    return known;
  }

  #open(key: string, target: Target): Origin {
    const connect = this.#options.connect(target);
    let connections = 0;
    const pool = new Pool(target.origin, {
      allowH2: target.secure,
      connect: (place, callback) =>
        connect(place, (...result) => {
          if (result[0] === null) {
            const isHttp2 = 'alpnProtocol' in result[1] && result[1].alpnProtocol === 'h2';
            origin.isHttp2 = isHttp2 && (connections === 0 || origin.isHttp2);
            connections += 1;
          }
          callback(...result);
        }),
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
    // Waits for its running exchanges; a failure to close has nobody left to tell.
    oldest[1].pool.close().catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const origins = [...this.#origins.values()];
    this.#origins.clear();
    await Promise.all(origins.map(({ pool }) => pool.destroy()));
  }
}
