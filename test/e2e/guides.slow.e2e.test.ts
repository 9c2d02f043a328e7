import { beforeAll, describe, test } from 'vitest';

import { readTestedPages } from '../docs/code-blocks.ts';
import { startReader } from '../docs/reader.ts';
import type { Reader } from '../docs/reader.ts';

const pages = await readTestedPages();

/** The README comes first, because the guides use the agent and the login that it creates. */
describe('a person who types the commands of the README and then of each guide', () => {
  let reader: Reader;
  beforeAll(async () => {
    reader = await startReader();
    return () => reader[Symbol.asyncDispose]();
  });

  test.for([...pages])('gets what %s shows', { timeout: 360_000 }, async ([, blocks]) => {
    await reader.type(blocks);
  });
});
