import { beforeAll, describe, test } from 'vitest';

import { readTestedPages } from '../docs/code-blocks.ts';
import { startReader } from '../docs/reader.ts';
import type { Reader } from '../docs/reader.ts';

const pages = await readTestedPages();

/** The person reads the README first: the guides go on with the agent and the login that it makes. */
describe('a person who types what the README and then each guide says', () => {
  let reader: Reader;
  beforeAll(async () => {
    reader = await startReader();
    return () => reader[Symbol.asyncDispose]();
  });

  test.for([...pages])('gets what %s shows', { timeout: 360_000 }, async ([, blocks]) => {
    await reader.type(blocks);
  });
});
