import type { Readable } from 'node:stream';

import type { Dispatcher } from 'undici';

import type { AppError } from '#errors';

import { createBodySink } from './body.ts';
import type { BodyEvents, BodyLimits, BodySink } from './body.ts';
import {
  cancelled,
  fromTransport,
  incomplete,
  markNothingSent,
  timedOut,
  tooLarge,
} from './failures.ts';
import type { Progress, ResponseHead } from './failures.ts';
import { headerValue, incomingHeaders } from './headers.ts';
import type { HeaderPair } from './headers.ts';

export interface EgressResponse {
  readonly status: number;
  /** As received, but without Content-Encoding and Content-Length when the body was decoded. */
  readonly headers: HeaderPair[];
  /** Decoded. */
  readonly body: Uint8Array;
  /** The body passed `maxBytes` (or the ratio) and the caller asked for its beginning. */
  readonly truncated: boolean;
  /**
   * The whole decoded body, when it passed `maxBytes` and the caller asked for a stream: `body` is
   * empty then. Whoever gets it reads it to its end or destroys it. It fails with the errors of
   * the exchange, `response_too_large` beyond `streamMaxBytes` among them.
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

/** More interim answers than any honest server sends; each would otherwise put off nothing but cost work. */
const interimMax = 16;

/**
 * One request and its answer, as undici's dispatch handler. The point of writing it at this level is
 * `onRequestStart`: undici calls it when a live connection (TCP and TLS done) is about to be written
 * to, and not before. So everything that fails earlier provably sent nothing.
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
  /** The answer has been given, and its body goes on as a stream. */
  #streaming = false;

  constructor(options: ExchangeOptions, origin: { readonly isHttp2: boolean }) {
    this.#options = options;
    this.#origin = origin;
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    options.signal?.addEventListener('abort', this.#onAbort, { once: true });
    // One timer for all deadlines, set to the nearest: an answer in time costs one start and one stop.
    const { connectTimeoutMs, firstByteTimeoutMs, totalTimeoutMs } = options;
    this.#setTimer(Math.min(connectTimeoutMs, firstByteTimeoutMs, totalTimeoutMs));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Thrown, not aborted: an abort would also destroy the healthy connection.
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
      if (this.#interim > interimMax) this.#fail(incomplete(undefined, this.#progress));
      return;
    }
    const headers = incomingHeaders(controller.rawHeaders ?? []);
    this.#progress = 'head_received';
    this.#head = { status, headers };
    const coding = this.#options.method === 'HEAD' ? undefined : 'content-encoding';
    this.#body = createBodySink(coding && headerValue(headers, coding), this.#options, this);
    const announced = Number(headerValue(headers, 'content-length') ?? 0);
    if (announced > this.#announcedMax()) this.onOverflow();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#settled) this.#body?.write(chunk);
  }

  onResponseEnd(): void {
    if (!this.#settled) this.#body?.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: unknown): void {
    this.#fail(fromTransport(error, this.#progress, this.#head));
  }

  onOverflow(): void {
    const isCut = this.#options.overflow !== 'refuse' && !this.#streaming;
    if (isCut) this.#succeed(true);
    else this.#fail(tooLarge(this.#progress, this.#head));
  }

  /** The answer is given now; deadlines and limits hold until the last byte of the stream. */
  onLarge(stream: Readable): void {
    if (this.#settled || this.#streaming) return;
    this.#streaming = true;
    this.#answer({ stream, truncated: false, body: Buffer.alloc(0) });
  }

  onAbandoned(): void {
    this.#fail(cancelled(undefined, this.#progress, this.#head));
  }

  onPiece(piece: Buffer): void {
    if (this.#settled || this.#options.isWhole?.(piece) !== true) return;
    this.#succeed(false);
    this.#drop();
  }

  onBroken(error: Error): void {
    this.#fail(incomplete(error, this.#progress, this.#head));
  }

  onPressure(paused: boolean): void {
    if (paused) this.#controller?.pause();
    else this.#controller?.resume();
  }

  onComplete(): void {
    this.#succeed(false);
  }

  /**
   * A second start is undici sending the request again. Over HTTP/2 it does so only with what the
   * upstream has said it did not and will not process (RFC 9113 §8.7: a refused stream, or one beyond
   * a GOAWAY). Over HTTP/1.1 nobody can say that, so there it is not its to decide.
   */
  #mayStart(): boolean {
    return this.#progress === 'nothing_sent' || (this.#progress === 'sent' && this.#origin.isHttp2);
  }

  readonly #onAbort = (): void => {
    this.#fail(cancelled(this.#options.signal?.reason, this.#progress, this.#head));
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

  #answer(part: Pick<EgressResponse, 'body' | 'stream' | 'truncated'>): void {
    if (this.#head === undefined) return;
    const { status, headers } = this.#head;
    const durationMs = performance.now() - this.#startedAt;
    const decoded = this.#body?.decodes ? withoutEncoding(headers) : headers;
    this.#resolve({ status, headers: decoded, ...part, durationMs });
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

  /** Gives the connection up: what is still on its way would otherwise be read as the next answer. */
  #drop(): void {
    this.#body?.destroy();
    this.#controller?.abort(new Error('not wanted any more'));
  }

  /** What an honest Content-Length may say before it is not worth reading on. */
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
    else this.#fail(timedOut(this.#progress, this.#head));
  }

  /** The nearest deadline of the phase we are in. */
  #deadline(): number {
    const total = this.#startedAt + this.#options.totalTimeoutMs;
    if (this.#progress === 'head_received') return total;
    if (this.#progress === 'sent') {
      return Math.min(total, this.#sentAt + this.#options.firstByteTimeoutMs);
    }
    return Math.min(total, this.#startedAt + this.#options.connectTimeoutMs);
  }
}

function withoutEncoding(headers: HeaderPair[]): HeaderPair[] {
  return headers.filter(([name]) => !/^content-(encoding|length)$/i.test(name));
}
