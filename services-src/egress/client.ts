import { readFileSync } from 'node:fs';
import { createSecureContext, getCACertificates } from 'node:tls';
import type { SecureContext } from 'node:tls';
import { errors } from 'undici';

import { AppError } from '#errors';
import type { Logger } from '#telemetry';
import { componentOf } from '../telemetry/logger.ts';
import { limitRepeats } from '../telemetry/limit-repeats.ts';
import { observe } from '../telemetry/metrics.ts';

import type { EgressAllow } from './allow.ts';
import { Breakers } from './breaker.ts';
import type { Attempt, BreakerOptions } from './breaker.ts';
import { createConnector } from './connect.ts';
import type { ConnectorOptions } from './connect.ts';
import { Exchange } from './exchange.ts';
import type { EgressResponse } from './exchange.ts';
import {
  AddressRefused,
  callCancelled,
  connectionClosed,
  invalidRequest,
  receivedHeadOf,
} from './failures.ts';
import { createGuard, parseUrl, resolveBySystem } from './guard.ts';
import type { HostResolver } from './guard.ts';
import { toOutgoingHeaders } from './headers.ts';
import type { HeaderInput } from './headers.ts';
import { observeExchange } from './observe-exchange.ts';
import { createOwnAddresses } from './own.ts';
import type { OwnPlaces } from './own.ts';
import { Pools } from './pools.ts';
import { ProxyFailure } from './proxy.ts';
import type { Proxy } from './proxy.ts';

export interface EgressOptions {
  /** The value of EGRESS_ALLOW, parsed by `parseEgressAllow`. */
  readonly allow: EgressAllow;
  /** EGRESS_PROXY: a CONNECT proxy. Other proxy variables of the environment are ignored. */
  readonly proxy?: Proxy | undefined;
  /** Logs, once a minute for each host, that the proxy opens no connection. */
  readonly logger?: Logger | undefined;
  /** EGRESS_CA_FILE: PEM certificates that are trusted in addition to the default ones. */
  readonly caFile?: string | undefined;
  /**
   * The addresses at which this installation listens; calls to them are refused even when `allow`
   * lists them.
   */
  readonly ownAddresses?: OwnPlaces;
  readonly connectionsPerOrigin?: number;
  readonly originsMax?: number;
  /**
   * The time limit of opening one connection (DNS, TCP, TLS), for all requests that wait for it.
   */
  readonly connectTimeoutMs?: number;
  /**
   * The options of the circuit breaker, which pauses requests to an upstream that does not answer.
   */
  readonly breaker?: BreakerOptions | undefined;
  /** Replaces the system's resolver in tests. */
  readonly resolve?: HostResolver;
}

export interface EgressRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: HeaderInput;
  readonly body?: Uint8Array | undefined;
  /**
   * The time limit until the request is on an open connection, including the wait for a free one.
   * Default 5 s.
   */
  readonly connectTimeoutMs?: number;
  /**
   * The time limit from the moment the request is on a connection until the head of the answer.
   * Default 30 s.
   */
  readonly firstByteTimeoutMs?: number;
  /** The time limit of the whole exchange. Default 60 s. */
  readonly totalTimeoutMs?: number;
  /** The limit of the decoded body. Default 10 MiB. */
  readonly maxBytes?: number;
  /** The most decoded bytes per byte received, checked after the first MiB. Default 100. */
  readonly maxRatio?: number;
  /**
   * What happens to a body beyond `maxBytes`: it fails with `response_too_large`, is cut, or
   * becomes a stream of at most `streamMaxBytes` (a body that announces more is cut). Default
   * `refuse`.
   */
  readonly overflow?: 'refuse' | 'truncate' | 'stream';
  /** The limit of the decoded body with `overflow: 'stream'`. Default 256 MiB. */
  readonly streamMaxBytes?: number;
  /**
   * Called with each decoded piece of the body. Returns true when the answer is complete although
   * the upstream keeps the connection open, as in a stream of events; the call then returns the
   * body that has arrived.
   */
  readonly isWhole?: ((piece: Uint8Array) => boolean) | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * The group, for instance an org, whose failures at one origin count together: failures of one
   * group never open the circuit breaker for another group. Without a group, no circuit breaker
   * applies to the request.
   */
  readonly circuit?: string | undefined;
  /**
   * Called just before the first byte is sent. When it throws, nothing is sent and the call throws
   * the same error.
   */
  readonly beforeSend?: (() => void) | undefined;
  /** Called when the request has been handed to the connection. */
  readonly onSent?: (() => void) | undefined;
}

/** The HTTP client for all requests that leave the installation. */
export interface Egress extends AsyncDisposable {
  /**
   * Throws the error that `request` would throw for this URL, as far as that is known without DNS:
   * for forbidden schemes, ports and addresses, and for this installation's own listeners.
   */
  check(url: string): void;
  /**
   * Sends one request once and collects its answer. It does not follow redirects but returns them
   * as answers. Every failure of the exchange is an `AppError`; `mayHaveLeft(error)` says whether
   * the upstream may have seen the request.
   */
  request(request: EgressRequest): Promise<EgressResponse>;
}

const mebibyte = 1024 * 1024;
const methodName = /^[A-Z][A-Z-]{0,31}$/;
/** CONNECT and TRACE are for proxies; no API uses them. */
const forbiddenMethods = new Set(['CONNECT', 'TRACE']);

export function openEgress(options: EgressOptions): Egress {
  const guard = createGuard({
    allow: options.allow,
    own: createOwnAddresses(options.ownAddresses ?? { listeners: [], names: [] }),
    resolve: options.resolve ?? resolveBySystem,
    isResolvedByProxy: options.proxy?.resolvesNames ?? false,
  });
  const secureContext = createTrust(options.caFile);
  const { proxy } = options;
  const onProxyFailure = createProxyWarning(options);
  const timeoutMs = options.connectTimeoutMs ?? 10_000;
  const pools = new Pools({
    connect: (target) =>
      createConnector(target, { guard, secureContext, proxy, timeoutMs, onProxyFailure }),
    connectionsPerOrigin: options.connectionsPerOrigin ?? 64,
    originsMax: options.originsMax ?? 256,
  });
  const breakers = new Breakers(options.breaker);
  const patienceMs = options.breaker?.patienceMs ?? 5_000;
  const breakerMetrics = observe('aag.breakers.open', () => [
    { value: breakers.countOpen(), labels: { component: componentOf(options.logger) } },
  ]);
  let isClosed = false;

  return {
    check: (url) => void guard.target(parseUrl(url)),
    async request(request) {
      if (isClosed) throw connectionClosed();
      checkMethod(request.method);
      if (request.signal?.aborted) throw callCancelled(request.signal.reason, 'nothing_sent');
      const url = parseUrl(request.url);
      const headers = toOutgoingHeaders(request.headers ?? []);
      const origin = pools.get(url.origin, () => guard.target(url));
      const attempt =
        request.circuit === undefined
          ? undefined
          : breakers.enter(`${url.origin} ${request.circuit}`);
      const startedAt = performance.now();
      const { method } = request;
      try {
        const response = await observeExchange({ method, url }, () => {
          const exchange = new Exchange(withDefaults(request), origin);
          const body = request.body === undefined ? null : toBuffer(request.body);
          const path = url.pathname + url.search;
          try {
            origin.pool.dispatch({ method, path, headers, body }, exchange);
          } catch (error) {
            exchange.onResponseError(undefined, error);
          }
          return exchange.response;
        });
        attempt?.answered();
        return response;
      } catch (error) {
        const waitedMs = performance.now() - startedAt;
        const hasGivenUp = request.signal?.aborted === true || waitedMs < patienceMs;
        attempt?.[verdictOf(error, hasGivenUp)]();
        throw error;
      }
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      breakerMetrics[Symbol.dispose]();
      await pools[Symbol.asyncDispose]();
    },
  };
}

/**
 * What a failure shows about the upstream. `hasGivenUp` means that the caller aborted or waited too
 * short a time.
 */
function verdictOf(error: unknown, hasGivenUp: boolean): keyof Attempt {
  if (receivedHeadOf(error) !== undefined) return 'answered';
  const { code, details } = AppError.from(error);
  // The proxy answers at once, and says nothing about the upstream.
  if (details['reason'] === 'proxy_refused') return 'undecided';
  if (code === 'upstream_timeout') return hasGivenUp ? 'undecided' : 'failed';
  return code === 'upstream_unreachable' || code === 'upstream_incomplete' ? 'failed' : 'undecided';
}

/** Creates the function that logs why there is no connection by way of the proxy. */
function createProxyWarning({ proxy, logger }: EgressOptions): ConnectorOptions['onProxyFailure'] {
  if (proxy === undefined || logger === undefined) return () => {};
  const limitedLogger = limitRepeats(logger);
  return (error, { host, port }) => {
    if (error instanceof AddressRefused) return;
    const problem =
      error instanceof ProxyFailure
        ? error.message
        : error instanceof errors.ConnectTimeoutError
          ? 'The forward proxy (EGRESS_PROXY) did not connect in time'
          : 'A host name could not be looked up here';
    const advice = proxy.resolvesNames
      ? ''
      : ' If only the proxy may look names up, set EGRESS_PROXY_RESOLVES=on.';
    limitedLogger.warn({ target: `${host}:${port}` }, `${problem}.${advice}`);
  };
}

function checkMethod(method: string): void {
  if (!methodName.test(method) || forbiddenMethods.has(method)) {
    throw invalidRequest(
      'The method must be an upper-case HTTP method other than CONNECT and TRACE.',
    );
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

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * The TLS context is created once: reading some 150 certificates for every connection would cost
 * more than the handshake.
 */
function createTrust(caFile: string | undefined): SecureContext {
  if (caFile === undefined) return createSecureContext();
  return createSecureContext({
    ca: [...getCACertificates('default'), readFileSync(caFile, 'utf8')],
  });
}
