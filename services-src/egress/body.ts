import type { Readable, Transform } from 'node:stream';
import { createGunzip, createInflate, createInflateRaw } from 'node:zlib';

import { createSpill } from './spill.ts';
import type { Spill } from './spill.ts';

/** Up to here a good ratio is no bomb: a small page of zeros compresses a thousandfold. */
const ratioFloorBytes = 1024 * 1024;
const slabBytes = 16 * 1024;

export interface BodyLimits {
  /** Most bytes kept, after decoding. */
  readonly maxBytes: number;
  /** Most decoded bytes for each byte received. */
  readonly maxRatio: number;
  /** A body beyond `maxBytes` becomes a stream of at most this many bytes. */
  readonly streamMaxBytes?: number | undefined;
}

export interface BodyEvents {
  /** A limit was passed; what is kept so far is `body.bytes()`. */
  onOverflow(): void;
  /** One more decoded piece is kept. */
  onPiece(piece: Buffer): void;
  /** The encoding turned out to be broken. */
  onBroken(error: Error): void;
  /** The decoder wants no more for now, or more again. */
  onPressure(paused: boolean): void;
  /** All of it is here. */
  onComplete(): void;
  /** It does not fit, and goes on as this stream; `BodySink.finish` ends it. */
  onLarge(stream: Readable): void;
  /** Whoever read the stream wants no more of it. */
  onAbandoned(): void;
}

/** Collects a body within its limits, decoding it if need be. */
export interface BodySink {
  /** Whether the body is decoded here, so that Content-Encoding no longer describes it. */
  readonly decodes: boolean;
  write(chunk: Buffer): void;
  end(): void;
  bytes(): Buffer;
  /** Ends the stream, if the body became one: with an error when part of it is missing. */
  finish(error?: Error): void;
  destroy(): void;
}

type Decoder = (firstByte: number) => Transform;

/**
 * Those whose window is 32 KiB. Brotli's is up to 16 MiB and that of zstd 128 MiB, for each body: a
 * few upstreams could take all the memory there is. Nobody asks for them here; a body that comes in
 * them all the same is handed on as it came.
 */
const decoders: Readonly<Record<string, Decoder | undefined>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  // Servers send both the zlib format that RFC 9110 names and the bare one.
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
  readonly onPressure: (paused: boolean) => void;
}

/** Where the decoded bytes go: into memory, and beyond its limit into a stream if one is wanted. */
function createStore({ limits, events, onPressure }: StoreParts): {
  kept: Bytes;
  finish: BodySink['finish'];
} {
  const kept = createBytes(limits.maxBytes);
  if (limits.streamMaxBytes === undefined) return { kept, finish: () => {} };
  const spill: Spill = createSpill({
    kept,
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
    // The decoder then fills up, and by that slows the upstream down.
    onPressure: (paused) => void (paused ? stream?.pause() : stream?.resume()),
  });
  let received = 0;
  let decoded = 0;

  function open(firstByte: number): Transform {
    const opened = decoder(firstByte);
    opened.on('data', (chunk: Buffer) => {
      decoded += chunk.length;
      const bomb = decoded > ratioFloorBytes && decoded > received * limits.maxRatio;
      const fits = kept.append(chunk);
      if (!bomb && fits) {
        events.onPiece(chunk);
        return;
      }
      opened.destroy();
      events.onOverflow();
    });
    opened.on('drain', () => events.onPressure(false));
    opened.on('error', (error) => events.onBroken(error));
    opened.on('end', () => events.onComplete());
    return opened;
  }

  return {
    decodes: true,
    finish,
    write(chunk) {
      received += chunk.length;
      stream ??= open(chunk[0] ?? 0);
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

export interface Bytes {
  /** False when not all of it could be kept. */
  append(chunk: Buffer): boolean;
  /** How many more bytes it takes. */
  room(): number;
  take(): Buffer;
}

/**
 * Keeps large chunks as they are and copies small ones together: a body sent one byte a chunk must
 * cost about its size in memory, not an object and a socket buffer for each byte.
 */
function createBytes(maxBytes: number): Bytes {
  const parts: Buffer[] = [];
  let slab = Buffer.alloc(0);
  let used = 0;
  let length = 0;

  function closeSlab(): void {
    if (used > 0) parts.push(slab.subarray(0, used));
    slab = Buffer.alloc(0);
    used = 0;
  }

  function keep(chunk: Buffer): void {
    length += chunk.length;
    if (parts.length === 0 || chunk.length >= slabBytes / 2) {
      closeSlab();
      parts.push(chunk);
      return;
    }
    if (slab.length - used < chunk.length) {
      closeSlab();
      slab = Buffer.allocUnsafeSlow(slabBytes);
    }
    slab.set(chunk, used);
    used += chunk.length;
  }

  return {
    append(chunk) {
      const room = maxBytes - length;
      if (chunk.length <= room) {
        if (chunk.length > 0) keep(chunk);
        return true;
      }
      if (room > 0) keep(chunk.subarray(0, room));
      return false;
    },
    room: () => maxBytes - length,
    take() {
      closeSlab();
      return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    },
  };
}
