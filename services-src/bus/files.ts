import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { Objm, setSha256Backend } from '@nats-io/obj';

import { AppError } from '#errors';
import { chunksSubject, fileHours, filesBucket, filesStream } from '../contracts/files.ts';
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
  write(name: string, chunks: AsyncIterable<Uint8Array>): Promise<WrittenFile>;
}

export interface FileReader {
  /** The bytes of a stored file, read from the store as fast as they are taken. Fails when any are missing. */
  read(file: Pick<WrittenFile, 'chunksId' | 'size'>): ReadableStream<Uint8Array>;
}

const ackMs = 5_000;

export function openFileWriter(bus: Bus): FileWriter {
  setSha256Backend('native');
  const store = new Objm(jetstream(bus.nats, { timeout: ackMs, checkAPI: false }));
  const bucket = store.open(filesBucket, false);
  return {
    async write(name, chunks) {
      let broken: unknown;
      const source = chunks[Symbol.asyncIterator]();
      const body = new ReadableStream<Uint8Array>(
        {
          async pull(controller) {
            try {
              const { done, value } = await source.next();
              if (done === true) controller.close();
              else controller.enqueue(value);
            } catch (thrown) {
              broken = thrown;
              controller.error(thrown);
            }
          },
        },
        { highWaterMark: 0 },
      );
      try {
        const stored = await (await bucket).put({ name }, body);
        return {
          chunksId: stored.nuid,
          size: stored.size,
          sha256: Buffer.from(stored.digest.replace(/^SHA-256=/, ''), 'base64url').toString('hex'),
        };
      } catch (cause) {
        // oxlint-disable-next-line typescript/only-throw-error -- as it was thrown to us
        if (broken !== undefined) throw broken;
        // The store gave up; whoever makes the chunks must learn that nobody takes them.
        await source.return?.().catch(() => undefined);
        throw new AppError('unavailable', 'The answer could not be stored; try again later.', {
          cause,
        });
      }
    },
  };
}

export function openFileReader(bus: Bus): FileReader {
  const manager = jetstreamManager(bus.nats, { checkAPI: false, timeout: ackMs });
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
