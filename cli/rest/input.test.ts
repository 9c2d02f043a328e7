import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { makeFolder } from '../program.testing.ts';
import { readTextFile } from './input.ts';

test('a file is read as it is, up to the limit', async () => {
  await using folder = await makeFolder();
  const file = join(folder.path, 'text');
  await writeFile(file, '\uFEFFé\r\n');
  expect(await readTextFile(file, 7)).toBe('\uFEFFé\r\n');
  await expect(readTextFile(file, 6)).rejects.toThrow('has more than 6 bytes');
});

test('a file that never ends is refused at the limit', async () => {
  await expect(readTextFile('/dev/zero')).rejects.toThrow('has more than 1048576 bytes');
});

test('bytes that are not UTF-8 are refused', async () => {
  await using folder = await makeFolder();
  const file = join(folder.path, 'latin1');
  await writeFile(file, Buffer.from('CANARY-caf\xe9', 'latin1'));
  const refusal = expect.objectContaining({
    exitCode: 2,
    message: expect.stringMatching(/^(?!.*CANARY).*is not text in UTF-8/),
  });
  await expect(readTextFile(file)).rejects.toEqual(refusal);
});

test.each(['/nonexistent/file', '/'])('the path %s is refused as unreadable', async (path) => {
  await expect(readTextFile(path)).rejects.toThrow(/cannot be read \((ENOENT|EISDIR)\)/);
});
