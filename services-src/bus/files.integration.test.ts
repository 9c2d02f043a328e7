import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { createTestEnvironment } from '../../test/support/environment.ts';
import type { TestEnvironment } from '../../test/support/environment.ts';
import { openFileReader, openFileWriter } from './index.ts';
import type { FileReader, FileWriter } from './index.ts';

let environment: TestEnvironment;
let writer: FileWriter;
let reader: FileReader;
beforeAll(async () => {
  environment = await createTestEnvironment();
  writer = openFileWriter(await environment.connect('executor'));
  reader = openFileReader(await environment.connect('gateway'));
});
afterAll(() => environment[Symbol.asyncDispose]());

async function* splitIntoChunks(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

test.for([0, 1, 131_072, 131_073, 3_000_001])(
  'a file of %s bytes is read back as it was written',
  async (size) => {
    const bytes = randomBytes(size);
    const written = await writer.write(splitIntoChunks(bytes, 50_000));

    expect(written).toMatchObject({ size, sha256: sha256(bytes) });
    const readBytes = Buffer.from(await new Response(reader.read(written)).arrayBuffer());
    expect(sha256(readBytes)).toBe(sha256(bytes));
  },
);

test('writing a file throws the error of its source when reading the source fails', async () => {
  async function* failAfterChunk() {
    yield randomBytes(400_000);
    throw new Error('the upstream went away');
  }
  await expect(writer.write(failAfterChunk())).rejects.toThrow('the upstream went away');
});

test('reading a file fails when some of its bytes are missing', async () => {
  const written = await writer.write(splitIntoChunks(randomBytes(10), 10));
  const longerStream = reader.read({ ...written, size: 11 });
  await expect(new Response(longerStream).arrayBuffer()).rejects.toThrow('not complete');
});

test('writing a file into a full store fails as unavailable and leaves nothing in the store', async () => {
  const chunk = randomBytes(1024 * 1024);
  async function* createEndlessChunks() {
    for (let at = 0; at < 70; at += 1) yield chunk;
  }
  await expect(writer.write(createEndlessChunks())).rejects.toMatchObject({ code: 'unavailable' });
  // The store has removed the part of the failed file, so there is room again.
  expect(await writer.write(splitIntoChunks(chunk, 100_000))).toMatchObject({ size: 1_048_576 });
});
