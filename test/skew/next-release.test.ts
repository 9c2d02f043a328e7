import { fileURLToPath } from 'node:url';

import { expect, test } from 'vitest';

import { editFiles } from './next-release.ts';

test('every text that the made-up next release replaces exists in this tree', async () => {
  const files = await editFiles(fileURLToPath(new URL('../../', import.meta.url)));

  expect(files.size).toBeGreaterThan(0);
});
