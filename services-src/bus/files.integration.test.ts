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

async function* chunksOf(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

test.for([0, 1, 131_072, 131_073, 3_000_001])(
  'a file of %s bytes is read back as it was written',
  async (size) => {
    const bytes = randomBytes(size);
    const written = await writer.write(chunksOf(bytes, 50_000));

    expect(written).toMatchObject({ size, sha256: sha256(bytes) });
    const read = Buffer.from(await new Response(reader.read(written)).arrayBuffer());
    expect(sha256(read)).toBe(sha256(bytes));
  },
);

test('what fails half way is taken back, and its error is the one thrown', async () => {
  async function* broken() {
    yield randomBytes(400_000);
    throw new Error('the upstream went away');
  }
  await expect(writer.write(broken())).rejects.toThrow('the upstream went away');
});

test('a file of which a part is missing does not pass for a whole one', async () => {
  const written = await writer.write(chunksOf(randomBytes(10), 10));
  const longer = reader.read({ ...written, size: 11 });
  await expect(new Response(longer).arrayBuffer()).rejects.toThrow('not complete');
});

test('a store that is full is unavailable, and says so', async () => {
  const chunk = randomBytes(1024 * 1024);
  async function* endless() {
    for (let at = 0; at < 70; at += 1) yield chunk;
  }
  await expect(writer.write(endless())).rejects.toMatchObject({ code: 'unavailable' });
  // What was stored of it makes room again.
  expect(await writer.write(chunksOf(chunk, 100_000))).toMatchObject({ size: 1_048_576 });
});
