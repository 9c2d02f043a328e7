import { Readable } from 'node:stream';

import type { ByteCollector } from './bytes.ts';

/** The most bytes that may wait in memory between the upstream and a slower reader. */
const unreadBytesMax = 256 * 1024;

export interface SpillParts {
  /** Collects the beginning of the body; what does not fit goes into a stream. */
  readonly kept: ByteCollector;
  /** The most bytes of the stream. */
  readonly maxBytes: number;
  /** The body is larger than `kept`; the stream holds the whole body from its first byte. */
  onLarge(stream: Readable): void;
  /** The stream's buffer is full (`paused`), or can take more again. */
  onPressure(isPaused: boolean): void;
  /** The reader destroyed the stream. */
  onAbandoned(): void;
}

/**
 * Stores a body: in memory like `kept` while it fits, and otherwise as a stream whose reader sets
 * the pace.
 */
export interface Spill extends ByteCollector {
  end(): void;
  fail(error: Error): void;
}

export function createSpill({ kept, maxBytes, ...events }: SpillParts): Spill {
  let stream: Readable | undefined;
  let length = 0;

  function openStream(): Readable {
    const readable = new Readable({
      highWaterMark: unreadBytesMax,
      read: () => events.onPressure(false),
      destroy(error, done) {
        if (!readable.readableEnded) events.onAbandoned();
        done(error);
      },
    });
    // The stream may fail before it has a reader; a later reader still gets the error.
    readable.on('error', () => {});
    return readable;
  }

  function pushChunk(chunk: Buffer): void {
    if (chunk.length > 0 && stream?.push(chunk) === false) events.onPressure(true);
  }

  return {
    append(chunk) {
      length += chunk.length;
      if (stream === undefined) {
        const room = kept.room();
        if (chunk.length <= room) return kept.append(chunk);
        kept.append(chunk.subarray(0, room));
        if (length > maxBytes) return false;
        stream = openStream();
        events.onLarge(stream);
        pushChunk(kept.take());
        pushChunk(chunk.subarray(room));
        return true;
      }
      if (length > maxBytes) return false;
      pushChunk(chunk);
      return true;
    },
    room: () => maxBytes - length,
    take: () => (stream === undefined ? kept.take() : Buffer.alloc(0)),
    end: () => void stream?.push(null),
    fail: (error) => void stream?.destroy(error),
  };
}
