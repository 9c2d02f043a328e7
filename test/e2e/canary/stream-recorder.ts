import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { repeat } from '#process';

const readEveryMs = 10;

export interface StreamRecorder extends AsyncDisposable {
  /** Everything that the streams' files on the disk have contained so far. */
  readonly readRecordedBytes: () => Buffer;
}

/**
 * Reads the files of the streams again and again, because the NATS server removes a message from
 * them as soon as all readers have received the message.
 */
export function recordStreams(dataDir: string): StreamRecorder {
  const recorded: Buffer[] = [];
  const lastContents = new Map<string, Buffer>();
  const reading = repeat(readEveryMs, async () => {
    for await (const path of glob(join(dataDir, 'nats/jetstream/**/*.blk'))) {
      // The server may remove the file at any moment.
      const content = await readFile(path).catch(() => Buffer.alloc(0));
      const lastContent = lastContents.get(path) ?? Buffer.alloc(0);
      lastContents.set(path, content);
      const hasGrown = content.subarray(0, lastContent.length).equals(lastContent);
      recorded.push(hasGrown ? content.subarray(lastContent.length) : content);
    }
  });
  return {
    readRecordedBytes: () => Buffer.concat(recorded),
    [Symbol.asyncDispose]: () => reading[Symbol.asyncDispose](),
  };
}
