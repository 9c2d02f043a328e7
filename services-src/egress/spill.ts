import { Readable } from 'node:stream';

import type { Bytes } from './body.ts';

/** What may wait in memory between the upstream and a slower reader. */
const aheadBytesMax = 256 * 1024;

export interface SpillParts {
  /** Collects the beginning; what it holds no more goes into a stream. */
  readonly kept: Bytes;
  /** Most bytes of the stream. */
  readonly maxBytes: number;
  /** The body is larger than what is kept: here is all of it, from its first byte. */
  onLarge(stream: Readable): void;
  /** The reader wants no more for now, or more again. */
  onPressure(paused: boolean): void;
  /** The reader gave up. */
  onAbandoned(): void;
}

/** Like `kept`, but a body that does not fit becomes a stream that its reader paces. */
export interface Spill extends Bytes {
  end(): void;
  fail(error: Error): void;
}

export function createSpill({ kept, maxBytes, ...events }: SpillParts): Spill {
  let stream: Readable | undefined;
  let length = 0;

  function open(): Readable {
    const opened = new Readable({
      highWaterMark: aheadBytesMax,
      read: () => events.onPressure(false),
      destroy(error, done) {
        if (!opened.readableEnded) events.onAbandoned();
        done(error);
      },
    });
    // It may fail before anybody reads it; whoever does is told then.
    opened.on('error', () => {});
    return opened;
  }

  function push(chunk: Buffer): void {
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
        stream = open();
        events.onLarge(stream);
        push(kept.take());
        push(chunk.subarray(room));
        return true;
      }
      if (length > maxBytes) return false;
      push(chunk);
      return true;
    },
    room: () => maxBytes - length,
    take: () => (stream === undefined ? kept.take() : Buffer.alloc(0)),
    end: () => void stream?.push(null),
    fail: (error) => void stream?.destroy(error),
  };
}
