import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import * as zlib from 'node:zlib';

/** Up to here a good ratio is no bomb: a small page of zeros compresses a thousandfold. */
const ratioFloorBytes = 1024 * 1024;
const slabBytes = 16 * 1024;

export interface BodyLimits {
  /** Most bytes kept, after decoding. */
  readonly maxBytes: number;
  /** Most decoded bytes for each byte received. */
  readonly maxRatio: number;
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
}

/** Collects a body within its limits, decoding it if need be. */
export interface BodySink {
  /** Whether the body is decoded here, so that Content-Encoding no longer describes it. */
  readonly decodes: boolean;
  write(chunk: Buffer): void;
  end(): void;
  bytes(): Buffer;
  destroy(): void;
}

type Decoder = (firstByte: number) => Transform;

const decoders: Readonly<Record<string, Decoder | undefined>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  // Servers send both the zlib format that RFC 9110 names and the bare one.
  deflate: (firstByte) => ((firstByte & 0x0f) === 8 ? createInflate() : createInflateRaw()),
  br: () => createBrotliDecompress(),
  // Only newer releases of Node have it; without it such a body is handed on as it came.
  ...('createZstdDecompress' in zlib && { zstd: () => zlib.createZstdDecompress() }),
};

export function createBodySink(
  contentEncoding: string | undefined,
  limits: BodyLimits,
  events: BodyEvents,
): BodySink {
  const coding = contentEncoding?.trim().toLowerCase() ?? '';
  const decoder = Object.hasOwn(decoders, coding) ? decoders[coding] : undefined;
  const kept = createBytes(limits.maxBytes);
  if (decoder !== undefined) return createDecodingSink(decoder, { kept, limits, events });
  return {
    decodes: false,
    write: (chunk) => {
      if (kept.append(chunk)) events.onPiece(chunk);
      else events.onOverflow();
    },
    end: () => events.onComplete(),
    bytes: () => kept.take(),
    destroy: () => {},
  };
}

interface DecodingParts {
  readonly kept: Bytes;
  readonly limits: BodyLimits;
  readonly events: BodyEvents;
}

function createDecodingSink(decoder: Decoder, { kept, limits, events }: DecodingParts): BodySink {
  let stream: Transform | undefined;
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

interface Bytes {
  /** False when not all of it could be kept. */
  append(chunk: Buffer): boolean;
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
    take() {
      closeSlab();
      return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    },
  };
}
