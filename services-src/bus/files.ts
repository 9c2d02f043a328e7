import { createHash } from 'node:crypto';

import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { Objm } from '@nats-io/obj';
import { headers as createHeaders, nuid } from '@nats-io/transport-node';

import { AppError } from '#errors';
import { chunksSubjectOf, fileHours, filesBucket, filesStream } from '../contracts/files.ts';
import { storeApiPrefix } from './accounts.ts';
import type { Bus } from './connect.ts';

export interface WrittenFile {
  /** The id under which the chunks of the file are stored. */
  readonly chunksId: string;
  readonly size: number;
  /** The SHA-256 of the file in hex. */
  readonly sha256: string;
}

export interface FileWriter {
  /**
   * Stores the chunks one message at a time, so that at most one message is in memory. When reading
   * the chunks fails, the stored part is removed and the error is rethrown. Throws `unavailable`
   * when the store is full or does not answer.
   */
  write(chunks: AsyncIterable<Uint8Array>): Promise<WrittenFile>;
}

export interface FileReader {
  /** Streams a stored file as fast as the consumer reads. Fails when bytes are missing. */
  read(file: Pick<WrittenFile, 'chunksId' | 'size'>): ReadableStream<Uint8Array>;
}

const ackMs = 5_000;
const messageBytesMax = 128 * 1024;

/**
 * Writes files in the format of the NATS object store, with one subject per file. The store's own
 * client also writes metadata that no component reads, and would need rights over the whole bucket
 * for it.
 */
export function openFileWriter(bus: Bus): FileWriter {
  const jetstreamClient = jetstream(bus.nats, { timeout: ackMs });
  return {
    async write(chunks) {
      const chunksId = nuid.next();
      const subject = chunksSubjectOf(chunksId);
      const hash = createHash('sha256');
      let size = 0;
      try {
        for await (const message of resizeToMessages(chunks)) {
          await jetstreamClient.publish(subject, message).catch(throwUnavailable);
          hash.update(message);
          size += message.length;
        }
      } catch (error) {
        // The roll-up message replaces all messages under the subject. If sending it fails, the
        // stored part expires like any file.
        const headers = createHeaders();
        headers.set('Nats-Rollup', 'sub');
        if (size > 0)
          await jetstreamClient.publish(subject, '', { headers }).catch(() => undefined);
        throw error;
      }
      return { chunksId, size, sha256: hash.digest('hex') };
    },
  };
}

function throwUnavailable(cause: unknown): never {
  throw new AppError('unavailable', 'The answer could not be stored; try again later.', { cause });
}

/** Splits and joins the chunks into pieces of the largest size that fits into a message. */
async function* resizeToMessages(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let pieces: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    for (let offset = 0; offset < chunk.length;) {
      const piece = chunk.subarray(offset, offset + messageBytesMax - size);
      pieces.push(piece);
      size += piece.length;
      offset += piece.length;
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
    apiPrefix: storeApiPrefix,
    timeout: ackMs,
  });
  return {
    read({ chunksId, size }) {
      const subject = chunksSubjectOf(chunksId);
      let sequence = 1;
      let missingBytes = size;
      return new ReadableStream<Uint8Array>(
        {
          async pull(controller) {
            if (missingBytes === 0) return controller.close();
            const { direct } = await manager;
            const query = { seq: sequence, next_by_subj: subject };
            const chunk = await direct.getMessage(filesStream, query);
            if (chunk === null || chunk.data.length > missingBytes) {
              throw new Error('the stored file is not complete');
            }
            sequence = chunk.seq + 1;
            missingBytes -= chunk.data.length;
            controller.enqueue(chunk.data);
            if (missingBytes === 0) controller.close();
          },
        },
        // The store is read only on demand, so a HEAD request reads nothing.
        { highWaterMark: 0 },
      );
    },
  };
}

const hourNanos = 60 * 60 * 1_000_000_000;

/**
 * Creates or updates the bucket of files, as the NATS user `provision`. The NATS server deletes
 * files that are too old; the margin allows for the time that storing a file takes. An existing
 * bucket keeps its number of copies unless `replicas` gives one.
 */
export async function provisionFiles(
  bus: Bus,
  { replicas, bytesMax }: { replicas: number | undefined; bytesMax: number },
): Promise<void> {
  const settings = { max_bytes: bytesMax };
  const bucket = await new Objm(bus.nats).create(filesBucket, {
    ...settings,
    ttl: fileHours * hourNanos + hourNanos / 6,
    replicas: replicas ?? 1,
  });
  const { streamInfo } = await bucket.status();
  await (
    await jetstreamManager(bus.nats)
  ).streams.update(filesStream, {
    ...streamInfo.config,
    ...settings,
    num_replicas: replicas ?? streamInfo.config.num_replicas,
  });
}
