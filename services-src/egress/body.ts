import type { Readable, Transform } from 'node:stream';
import { createGunzip, createInflate, createInflateRaw } from 'node:zlib';

import { createByteCollector } from './bytes.ts';
import type { ByteCollector } from './bytes.ts';
import { createSpill } from './spill.ts';
import type { Spill } from './spill.ts';

/**
 * The ratio is not checked below this size: a harmless small page of zeros shrinks a thousandfold
 * when it is compressed.
 */
const ratioFloorBytes = 1024 * 1024;

export interface BodyLimits {
  /** The most bytes that are kept, counted after decoding. */
  readonly maxBytes: number;
  /** The most decoded bytes per byte received. */
  readonly maxRatio: number;
  /** A body beyond `maxBytes` becomes a stream of at most this many bytes. */
  readonly streamMaxBytes?: number | undefined;
}

export interface BodyEvents {
  /** Called when a limit was exceeded; `body.bytes()` returns the bytes that were kept. */
  onOverflow(): void;
  /** Called when another decoded piece was kept. */
  onPiece(piece: Buffer): void;
  /** Called when the body is not valid in its encoding. */
  onBroken(error: Error): void;
  /** Called when the consumer's buffer is full (`paused`), and when it can take more again. */
  onPressure(isPaused: boolean): void;
  /** Called when the whole body has arrived. */
  onComplete(): void;
  /**
   * Called when the body exceeds `maxBytes` and continues as this stream; `BodySink.finish` ends
   * the stream.
   */
  onLarge(stream: Readable): void;
  /** Called when the reader of the stream has destroyed it. */
  onAbandoned(): void;
}

/** Collects a body within its limits, and decodes it if needed. */
export interface BodySink {
  /** Whether the sink decodes the body, so that Content-Encoding no longer describes it. */
  readonly decodes: boolean;
  write(chunk: Buffer): void;
  end(): void;
  bytes(): Buffer;
  /** Ends the stream, if the body became one. Passes an error when part of the body is missing. */
  finish(error?: Error): void;
  destroy(): void;
}

type Decoder = (firstByte: number) => Transform;

/**
 * Only encodings whose decoder needs a window of at most 32 KiB. Brotli's window is up to 16 MiB
 * and zstd's 128 MiB for each body, so a few upstreams could use up all memory. Requests do not ask
 * for Brotli or zstd; a body that comes in one of them anyway is passed on undecoded.
 */
const decoders: Readonly<Record<string, Decoder | undefined>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  // Servers use the name `deflate` for the zlib format, which RFC 9110 requires, and for raw
  // deflate.
  deflate: (firstByte) => ((firstByte & 0x0f) === 8 ? createInflate() : createInflateRaw()),
};

export function createBodySink(
  contentEncoding: string | undefined,
  limits: BodyLimits,
  events: BodyEvents,
): BodySink {
  const coding = contentEncoding?.trim().toLowerCase() ?? '';
  const decoder = Object.hasOwn(decoders, coding) ? decoders[coding] : undefined;
  if (decoder !== undefined) return createDecodingSink(decoder, { limits, events });
  const { kept, finish } = createStore({
    limits,
    events,
    onPressure: events.onPressure.bind(events),
  });
  return {
    decodes: false,
    finish,
    write: (chunk) => {
      if (kept.append(chunk)) events.onPiece(chunk);
      else events.onOverflow();
    },
    end: () => events.onComplete(),
    bytes: () => kept.take(),
    destroy: () => {},
  };
}

interface StoreParts {
  readonly limits: BodyLimits;
  readonly events: BodyEvents;
  readonly onPressure: (isPaused: boolean) => void;
}

/**
 * Creates the storage for decoded bytes: memory up to `maxBytes`, and a stream beyond that if the
 * caller wants one.
 */
function createStore({ limits, events, onPressure }: StoreParts): {
  kept: ByteCollector;
  finish: BodySink['finish'];
} {
  const keptBytes = createByteCollector(limits.maxBytes);
  if (limits.streamMaxBytes === undefined) return { kept: keptBytes, finish: () => {} };
  const spill: Spill = createSpill({
    kept: keptBytes,
    maxBytes: limits.streamMaxBytes,
    onLarge: (stream) => events.onLarge(stream),
    onAbandoned: () => events.onAbandoned(),
    onPressure,
  });
  return { kept: spill, finish: (error) => (error ? spill.fail(error) : spill.end()) };
}

type DecodingParts = Omit<StoreParts, 'onPressure'>;

function createDecodingSink(decoder: Decoder, { limits, events }: DecodingParts): BodySink {
  let stream: Transform | undefined;
  const { kept, finish } = createStore({
    limits,
    events,
    // A paused decoder fills up, which in turn slows the upstream down.
    onPressure: (isPaused) => void (isPaused ? stream?.pause() : stream?.resume()),
  });
  let receivedBytes = 0;
  let decodedBytes = 0;

  function openDecoder(firstByte: number): Transform {
    const decodedStream = decoder(firstByte);
    decodedStream.on('data', (chunk: Buffer) => {
      decodedBytes += chunk.length;
      const isBomb =
        decodedBytes > ratioFloorBytes && decodedBytes > receivedBytes * limits.maxRatio;
      const fitsInLimit = kept.append(chunk);
      if (!isBomb && fitsInLimit) {
        events.onPiece(chunk);
        return;
      }
      decodedStream.destroy();
      events.onOverflow();
    });
    decodedStream.on('drain', () => events.onPressure(false));
    decodedStream.on('error', (error) => events.onBroken(error));
    decodedStream.on('end', () => events.onComplete());
    return decodedStream;
  }

  return {
    decodes: true,
    finish,
    write(chunk) {
      receivedBytes += chunk.length;
      stream ??= openDecoder(chunk[0] ?? 0);
      if (!stream.write(chunk)) events.onPressure(true);
    },
    end() {
      if (stream === undefined) events.onComplete();
      else stream.end();
    },
    bytes: () => kept.take(),
    destroy: () => {
      stream?.on('error', () => {}).destroy();
    },
  };
}
