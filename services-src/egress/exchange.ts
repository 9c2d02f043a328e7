import type { Readable } from 'node:stream';

import type { Dispatcher } from 'undici';

import type { AppError } from '#errors';

import { createBodySink } from './body.ts';
import type { BodyEvents, BodyLimits, BodySink } from './body.ts';
import {
  callCancelled,
  errorOfTransport,
  answerIncomplete,
  markNothingSent,
  upstreamTimedOut,
  responseTooLarge,
} from './failures.ts';
import type { Progress, ResponseHead } from './failures.ts';
import { headerValueOf, toIncomingHeaders } from './headers.ts';
import type { HeaderPair } from './header-pair.ts';

export interface EgressResponse {
  readonly status: number;
  /**
   * The headers as received, without Content-Encoding and Content-Length when the body was decoded.
   */
  readonly headers: HeaderPair[];
  /** The decoded body. */
  readonly body: Uint8Array;
  /**
   * Whether the body was cut because it exceeded `maxBytes` (or the ratio) and the caller did not
   * choose `refuse`.
   */
  readonly truncated: boolean;
  /**
   * The whole decoded body, when it exceeded `maxBytes` and the caller asked for a stream; `body`
   * is then empty. The receiver must read it to its end or destroy it. It fails with the errors of
   * the exchange, including `response_too_large` beyond `streamMaxBytes`.
   */
  readonly stream: Readable | null;
  readonly durationMs: number;
}

export interface ExchangeOptions extends BodyLimits {
  readonly method: string;
  readonly connectTimeoutMs: number;
  readonly firstByteTimeoutMs: number;
  readonly totalTimeoutMs: number;
  readonly overflow: 'refuse' | 'truncate' | 'stream';
  readonly isWhole: ((piece: Uint8Array) => boolean) | undefined;
  readonly signal: AbortSignal | undefined;
  readonly beforeSend: (() => void) | undefined;
  readonly onSent: (() => void) | undefined;
}

/**
 * No honest server sends more interim (1xx) answers; each one costs work without ending the
 * exchange.
 */
const interimAnswersMax = 16;

/**
 * One request and its answer, as a handler of undici's `dispatch`. The lower-level `dispatch` is
 * used for its `onRequestStart`: undici calls it just before it writes to an open connection (TCP
 * and TLS done). So every failure before `onRequestStart` provably sent nothing.
 */
export class Exchange implements Dispatcher.DispatchHandler, BodyEvents {
  readonly response: Promise<EgressResponse>;
  readonly #options: ExchangeOptions;
  readonly #origin: { readonly isHttp2: boolean };
  readonly #startedAt = performance.now();
  #resolve!: (response: EgressResponse) => void;
  #reject!: (error: unknown) => void;
  #progress: Progress = 'nothing_sent';
  #sentAt = 0;
  #settled = false;
  #controller: Dispatcher.DispatchController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #interim = 0;
  #head: ResponseHead | undefined;
  #body: BodySink | undefined;
  /** True after the answer was returned while its body continues as a stream. */
  #streaming = false;

  constructor(options: ExchangeOptions, origin: { readonly isHttp2: boolean }) {
    this.#options = options;
    this.#origin = origin;
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    options.signal?.addEventListener('abort', this.#onAbort, { once: true });
    // One timer serves all deadlines and is always set to the nearest one, so an answer in time
    // costs one start and one stop of a timer.
    const { connectTimeoutMs, firstByteTimeoutMs, totalTimeoutMs } = options;
    this.#setTimer(Math.min(connectTimeoutMs, firstByteTimeoutMs, totalTimeoutMs));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // An error is thrown instead of aborting the request: an abort would also destroy the healthy
    // connection.
    if (this.#settled || !this.#mayStart()) throw new Error('not to be sent');
    this.#progress = 'nothing_sent';
    try {
      this.#options.beforeSend?.();
    } catch (error) {
      markNothingSent(error);
      this.#settle();
      this.#reject(error);
      throw error;
    }
    this.#controller = controller;
    this.#progress = 'sent';
    this.#sentAt = performance.now();
  }

  onRequestSent(): void {
    this.#options.onSent?.();
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200) {
      this.#interim += 1;
      if (this.#interim > interimAnswersMax)
        this.#fail(answerIncomplete(undefined, this.#progress));
      return;
    }
    const headers = toIncomingHeaders(controller.rawHeaders ?? []);
    this.#progress = 'head_received';
    this.#head = { status, headers };
    const coding = this.#options.method === 'HEAD' ? undefined : 'content-encoding';
    this.#body = createBodySink(coding && headerValueOf(headers, coding), this.#options, this);
    const announcedBytes = Number(headerValueOf(headers, 'content-length') ?? 0);
    if (announcedBytes > this.#announcedMax()) this.onOverflow();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#settled) this.#body?.write(chunk);
  }

  onResponseEnd(): void {
    if (!this.#settled) this.#body?.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: unknown): void {
    this.#fail(errorOfTransport(error, this.#progress, this.#head));
  }

  onOverflow(): void {
    const isCut = this.#options.overflow !== 'refuse' && !this.#streaming;
    if (isCut) this.#succeed(true);
    else this.#fail(responseTooLarge(this.#progress, this.#head));
  }

  /** The answer is returned now; deadlines and limits apply until the last byte of the stream. */
  onLarge(stream: Readable): void {
    if (this.#settled || this.#streaming) return;
    this.#streaming = true;
    this.#answer({ stream, truncated: false, body: Buffer.alloc(0) });
  }

  onAbandoned(): void {
    this.#fail(callCancelled(undefined, this.#progress, this.#head));
  }

  onPiece(piece: Buffer): void {
    if (this.#settled || this.#options.isWhole?.(piece) !== true) return;
    this.#succeed(false);
    this.#drop();
  }

  onBroken(error: Error): void {
    this.#fail(answerIncomplete(error, this.#progress, this.#head));
  }

  onPressure(isPaused: boolean): void {
    if (isPaused) this.#controller?.pause();
    else this.#controller?.resume();
  }

  onComplete(): void {
    this.#succeed(false);
  }

  /**
   * A second start means that undici sends the request again. Over HTTP/2 undici does so only when
   * the upstream has said that it did not and will not process the request (RFC 9113 §8.7: a
   * refused stream, or one beyond the last stream of a GOAWAY). Over HTTP/1.1 an upstream cannot
   * say that, so a second start is refused.
   */
  #mayStart(): boolean {
    return this.#progress === 'nothing_sent' || (this.#progress === 'sent' && this.#origin.isHttp2);
  }

  readonly #onAbort = (): void => {
    this.#fail(callCancelled(this.#options.signal?.reason, this.#progress, this.#head));
  };

  #succeed(truncated: boolean): void {
    if (this.#settled || this.#head === undefined || this.#body === undefined) return;
    this.#settle();
    if (this.#streaming) {
      this.#body.finish();
      return;
    }
    this.#answer({ stream: null, truncated, body: this.#body.bytes() });
    if (truncated) this.#drop();
  }

  #answer(answerPart: Pick<EgressResponse, 'body' | 'stream' | 'truncated'>): void {
    if (this.#head === undefined) return;
    const { status, headers } = this.#head;
    const durationMs = performance.now() - this.#startedAt;
    const decodedHeaders = this.#body?.decodes ? withoutEncoding(headers) : headers;
    this.#resolve({ status, headers: decodedHeaders, ...answerPart, durationMs });
  }

  #fail(error: AppError): void {
    if (this.#settled) return;
    this.#settle();
    if (this.#streaming) this.#body?.finish(error);
    else this.#reject(error);
    this.#drop();
  }

  #settle(): void {
    this.#settled = true;
    clearTimeout(this.#timer);
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
  }

  /**
   * Closes the connection: otherwise the remaining bytes of this answer would be read as the next
   * answer.
   */
  #drop(): void {
    this.#body?.destroy();
    this.#controller?.abort(new Error('not wanted any more'));
  }

  /** The largest announced Content-Length for which the body is still read. */
  #announcedMax(): number {
    const { method, overflow, maxBytes, streamMaxBytes = maxBytes } = this.#options;
    if (method === 'HEAD' || overflow === 'truncate') return Infinity;
    return overflow === 'stream' ? streamMaxBytes : maxBytes;
  }

  #setTimer(ms: number): void {
    this.#timer = setTimeout(() => this.#onTimer(), ms);
  }

  #onTimer(): void {
    const remainingMs = this.#deadline() - performance.now();
    if (remainingMs > 0) this.#setTimer(Math.ceil(remainingMs));
    else this.#fail(upstreamTimedOut(this.#progress, this.#head));
  }

  /** The time of the nearest deadline in the current phase of the exchange. */
  #deadline(): number {
    const totalDeadline = this.#startedAt + this.#options.totalTimeoutMs;
    if (this.#progress === 'head_received') return totalDeadline;
    if (this.#progress === 'sent') {
      return Math.min(totalDeadline, this.#sentAt + this.#options.firstByteTimeoutMs);
    }
    return Math.min(totalDeadline, this.#startedAt + this.#options.connectTimeoutMs);
  }
}

function withoutEncoding(headers: HeaderPair[]): HeaderPair[] {
  return headers.filter(([name]) => !/^content-(encoding|length)$/i.test(name));
}
