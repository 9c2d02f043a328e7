const slabBytes = 16 * 1024;

/** Collects a body up to a limit. */
export interface ByteCollector {
  /** Returns false when not all of the chunk could be kept. */
  append(chunk: Buffer): boolean;
  /** How many more bytes can be kept. */
  room(): number;
  take(): Buffer;
}

/**
 * Keeps large chunks as they are, and copies small ones together: a body that arrives in one-byte
 * chunks must cost about its size in memory, not an object and a socket buffer per byte.
 */
export function createByteCollector(maxBytes: number): ByteCollector {
  const parts: Buffer[] = [];
  let slab = Buffer.alloc(0);
  let usedBytes = 0;
  let length = 0;

  function closeSlab(): void {
    if (usedBytes > 0) parts.push(slab.subarray(0, usedBytes));
    slab = Buffer.alloc(0);
    usedBytes = 0;
  }

  function keepChunk(chunk: Buffer): void {
    length += chunk.length;
    if (parts.length === 0 || chunk.length >= slabBytes / 2) {
      closeSlab();
      parts.push(chunk);
      return;
    }
    if (slab.length - usedBytes < chunk.length) {
      closeSlab();
      slab = Buffer.allocUnsafeSlow(slabBytes);
    }
    slab.set(chunk, usedBytes);
    usedBytes += chunk.length;
  }

  return {
    append(chunk) {
      const room = maxBytes - length;
      if (chunk.length <= room) {
        if (chunk.length > 0) keepChunk(chunk);
        return true;
      }
      if (room > 0) keepChunk(chunk.subarray(0, room));
      return false;
    },
    room: () => maxBytes - length,
    take() {
      closeSlab();
      return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    },
  };
}
