import { createHash } from 'node:crypto';

import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { Objm } from '@nats-io/obj';
import { headers as createHeaders, nuid } from '@nats-io/transport-node';

import { AppError } from '#errors';
import { chunksSubject, fileHours, filesBucket, filesStream } from '../contracts/files.ts';
import { storeApi } from './accounts.ts';
import type { Bus } from './connect.ts';

export interface WrittenFile {
  /** By which the chunks are read back. */
  readonly chunksId: string;
  readonly size: number;
  /** Hex. */
  readonly sha256: string;
}

export interface FileWriter {
  /**
   * Stores what the chunks give, one message at a time, so that no more than a message of it is in
   * memory. Nothing stays of a file whose chunks fail; what they throw is thrown on. `unavailable`
   * when the store does not take it, because it is full or does not answer.
   */
  write(chunks: AsyncIterable<Uint8Array>): Promise<WrittenFile>;
}

export interface FileReader {
  /** The bytes of a stored file, read from the store as fast as they are taken. Fails when any are missing. */
  read(file: Pick<WrittenFile, 'chunksId' | 'size'>): ReadableStream<Uint8Array>;
}

const ackMs = 5_000;
const messageBytesMax = 128 * 1024;

/**
 * Writes chunks as the object store does, under a subject of each file's own. The store's own client
 * also writes a description that nobody reads here, and needs rights over the whole bucket for it.
 */
export function openFileWriter(bus: Bus): FileWriter {
  const store = jetstream(bus.nats, { timeout: ackMs });
  return {
    async write(chunks) {
      const chunksId = nuid.next();
      const subject = chunksSubject(chunksId);
      const hash = createHash('sha256');
      let size = 0;
      try {
        for await (const message of inMessages(chunks)) {
          await store.publish(subject, message).catch(refuseFile);
          hash.update(message);
          size += message.length;
        }
      } catch (thrown) {
        // This replaces all there is under the subject. Where it fails, age takes the file back.
        const headers = createHeaders();
        headers.set('Nats-Rollup', 'sub');
        if (size > 0) await store.publish(subject, '', { headers }).catch(() => undefined);
        throw thrown;
      }
      return { chunksId, size, sha256: hash.digest('hex') };
    },
  };
}

function refuseFile(cause: unknown): never {
  throw new AppError('unavailable', 'The answer could not be stored; try again later.', { cause });
}

/** The same bytes in pieces that fit a message, and are not much smaller. */
async function* inMessages(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let pieces: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length;) {
      const piece = chunk.subarray(at, at + messageBytesMax - size);
      pieces.push(piece);
      size += piece.length;
      at += piece.length;
      if (size < messageBytesMax) continue;
      yield Buffer.concat(pieces);
      pieces = [];
      size = 0;
    }
  }
  if (size > 0) yield Buffer.concat(pieces);
}

export function openFileReader(bus: Bus): FileReader {
  const manager = jetstreamManager(bus.nats, {
    checkAPI: false,
    apiPrefix: storeApi,
    timeout: ackMs,
  });
  return {
    read({ chunksId, size }) {
      const subject = chunksSubject(chunksId);
      let sequence = 1;
      let missing = size;
      return new ReadableStream<Uint8Array>(
        {
          async pull(controller) {
            if (missing === 0) return controller.close();
            const { direct } = await manager;
            const query = { seq: sequence, next_by_subj: subject };
            const chunk = await direct.getMessage(filesStream, query);
            if (chunk === null || chunk.data.length > missing) {
              throw new Error('the stored file is not complete');
            }
            sequence = chunk.seq + 1;
            missing -= chunk.data.length;
            controller.enqueue(chunk.data);
            if (missing === 0) controller.close();
          },
        },
        // Nothing is read before somebody asks, for a HEAD nothing at all.
        { highWaterMark: 0 },
      );
    },
  };
}

const hour = 60 * 60 * 1_000_000_000;

/**
 * Creates the bucket, or brings it up to date, as the NATS user `provision`. The server itself drops
 * what is older than a file may be; the margin is the time that storing one may take.
 */
export async function provisionFiles(
  bus: Bus,
  { replicas, bytesMax }: { replicas: number; bytesMax: number },
): Promise<void> {
  const settings = { max_bytes: bytesMax };
  const bucket = await new Objm(bus.nats).create(filesBucket, {
    ...settings,
    ttl: fileHours * hour + hour / 6,
    replicas,
  });
  const { streamInfo } = await bucket.status();
  await (
    await jetstreamManager(bus.nats)
  ).streams.update(filesStream, {
    ...streamInfo.config,
    ...settings,
    num_replicas: replicas,
  });
}
