import { readFileSync } from 'node:fs';
import { createSecureContext, getCACertificates } from 'node:tls';
import type { SecureContext } from 'node:tls';

import { AppError } from '#errors';

import type { EgressAllow } from './allow.ts';
import { Breakers } from './breaker.ts';
import type { Attempt, BreakerOptions } from './breaker.ts';
import { createConnector } from './connect.ts';
import { Exchange } from './exchange.ts';
import type { EgressResponse } from './exchange.ts';
import { cancelled, closed, invalid, receivedHead } from './failures.ts';
import { createGuard, parseUrl, systemResolve } from './guard.ts';
import type { Resolve } from './guard.ts';
import { outgoingHeaders } from './headers.ts';
import type { HeaderInput } from './headers.ts';
import { createOwnAddresses } from './own.ts';
import type { OwnPlaces } from './own.ts';
import { Pools } from './pools.ts';
import { parseProxy } from './proxy.ts';

export interface EgressOptions {
  /** From EGRESS_ALLOW, by `parseEgressAllow`. */
  readonly allow: EgressAllow;
  /** EGRESS_PROXY: a CONNECT proxy. Other proxy variables of the environment are ignored. */
  readonly proxy?: string | undefined;
  /** EGRESS_CA_FILE: PEM certificates trusted besides the default ones. */
  readonly caFile?: string | undefined;
  /** Everything this installation listens on; refused even where `allow` says yes. */
  readonly ownAddresses?: OwnPlaces;
  readonly connectionsPerOrigin?: number;
  readonly originsMax?: number;
  /** Bound of opening one connection (DNS, TCP, TLS), whichever request waits for it. */
  readonly connectTimeoutMs?: number;
  /** When an upstream that does not answer is left alone. */
  readonly breaker?: BreakerOptions | undefined;
  /** For tests; otherwise the system's resolver. */
  readonly resolve?: Resolve;
}

export interface EgressRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: HeaderInput;
  readonly body?: Uint8Array | undefined;
  /** Until the request is on a live connection, waiting for a free one included. Default 5 s. */
  readonly connectTimeoutMs?: number;
  /** From then until the head of the answer. Default 30 s. */
  readonly firstByteTimeoutMs?: number;
  /** For everything. Default 60 s. */
  readonly totalTimeoutMs?: number;
  /** Of the decoded body. Default 10 MiB. */
  readonly maxBytes?: number;
  /** Decoded to received bytes, after the first MiB. Default 100. */
  readonly maxRatio?: number;
  /**
   * What a body beyond `maxBytes` does: fail with `response_too_large`, be cut, or become a stream
   * of at most `streamMaxBytes` (cut when it is known at once to be larger). Default `refuse`.
   */
  readonly overflow?: 'refuse' | 'truncate' | 'stream';
  /** Of the decoded body, with `overflow: 'stream'`. Default 256 MiB. */
  readonly streamMaxBytes?: number;
  /**
   * Asked with each decoded piece of the body: true when the answer is whole although the upstream
   * keeps the connection open (a stream of events). What has arrived is the body then.
   */
  readonly isWhole?: ((piece: Uint8Array) => boolean) | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Whose failures at this origin count together, for instance an org: what one meets there never
   * closes the origin to another. Without it the request knows no circuit breaker.
   */
  readonly circuit?: string | undefined;
  /** The last moment to change one's mind: called just before the first byte. What it throws is
   *  what the call throws, and nothing is sent. */
  readonly beforeSend?: (() => void) | undefined;
  /** Called when the request has been handed to the connection. */
  readonly onSent?: (() => void) | undefined;
}

/** The one way out. Everything that leaves the installation goes through it. */
export interface Egress extends AsyncDisposable {
  /**
   * Throws what `request` would throw for this URL, as far as that is known without asking DNS: for
   * forbidden schemes, ports and addresses, and for this installation's own listeners.
   */
  check(url: string): void;
  /**
   * Sends one request, once, and collects its answer; a redirect is an answer. Every failure of its
   * own is an `AppError`; `mayHaveLeft(error)` says whether the upstream may have seen the request.
   */
  request(request: EgressRequest): Promise<EgressResponse>;
}

const mebibyte = 1024 * 1024;
const methodName = /^[A-Z][A-Z-]{0,31}$/;
/** CONNECT and TRACE speak to the machinery between, not to an API. */
const forbiddenMethods = new Set(['CONNECT', 'TRACE']);

export function openEgress(options: EgressOptions): Egress {
  const guard = createGuard({
    allow: options.allow,
    own: createOwnAddresses(options.ownAddresses ?? { listeners: [], names: [] }),
    resolve: options.resolve ?? systemResolve,
  });
  const secureContext = createTrust(options.caFile);
  const proxy = options.proxy ? parseProxy(options.proxy) : undefined;
  const timeoutMs = options.connectTimeoutMs ?? 10_000;
  const pools = new Pools({
    connect: (target) => createConnector(target, { guard, secureContext, proxy, timeoutMs }),
    connectionsPerOrigin: options.connectionsPerOrigin ?? 64,
    originsMax: options.originsMax ?? 256,
  });
  const breakers = new Breakers(options.breaker);
  const patienceMs = options.breaker?.patienceMs ?? 5_000;
  let isClosed = false;

  return {
    check: (url) => void guard.target(parseUrl(url)),
    async request(request) {
      if (isClosed) throw closed();
      checkMethod(request.method);
      if (request.signal?.aborted) throw cancelled(request.signal.reason, 'nothing_sent');
      const url = parseUrl(request.url);
      const headers = outgoingHeaders(request.headers ?? []);
      const origin = pools.get(url.origin, () => guard.target(url));
      const attempt =
        request.circuit === undefined
          ? undefined
          : breakers.enter(`${url.origin} ${request.circuit}`);
      const startedAt = performance.now();
      const exchange = new Exchange(withDefaults(request), origin);
      const { method } = request;
      const body = request.body === undefined ? null : asBuffer(request.body);
      try {
        origin.pool.dispatch({ method, path: url.pathname + url.search, headers, body }, exchange);
      } catch (error) {
        exchange.onResponseError(undefined, error);
      }
      try {
        const response = await exchange.response;
        attempt?.answered();
        return response;
      } catch (error) {
        const waitedMs = performance.now() - startedAt;
        const gaveUp = request.signal?.aborted === true || waitedMs < patienceMs;
        attempt?.[verdictOf(error, gaveUp)]();
        throw error;
      }
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await pools[Symbol.asyncDispose]();
    },
  };
}

/** What a failure says about the upstream. `gaveUp`: its caller did not wait for long. */
function verdictOf(error: unknown, gaveUp: boolean): keyof Attempt {
  if (receivedHead(error) !== undefined) return 'answered';
  const code = error instanceof AppError ? error.code : undefined;
  if (code === 'upstream_timeout') return gaveUp ? 'undecided' : 'failed';
  return code === 'upstream_unreachable' || code === 'upstream_incomplete' ? 'failed' : 'undecided';
}

function checkMethod(method: string): void {
  if (!methodName.test(method) || forbiddenMethods.has(method)) {
    throw invalid('The method must be an upper-case HTTP method other than CONNECT and TRACE.');
  }
}

function withDefaults(request: EgressRequest) {
  return {
    method: request.method,
    connectTimeoutMs: request.connectTimeoutMs ?? 5000,
    firstByteTimeoutMs: request.firstByteTimeoutMs ?? 30_000,
    totalTimeoutMs: request.totalTimeoutMs ?? 60_000,
    maxBytes: request.maxBytes ?? 10 * mebibyte,
    maxRatio: request.maxRatio ?? 100,
    overflow: request.overflow ?? ('refuse' as const),
    streamMaxBytes:
      request.overflow === 'stream' ? (request.streamMaxBytes ?? 256 * mebibyte) : undefined,
    isWhole: request.isWhole,
    signal: request.signal,
    beforeSend: request.beforeSend,
    onSent: request.onSent,
  };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Made once: reading some 150 certificates for every connection would cost more than the handshake. */
function createTrust(caFile: string | undefined): SecureContext {
  if (caFile === undefined) return createSecureContext();
  return createSecureContext({
    ca: [...getCACertificates('default'), readFileSync(caFile, 'utf8')],
  });
}
