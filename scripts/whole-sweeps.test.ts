import { glob, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { expect, test } from 'vitest';

import { wholeSweeps } from './whole-sweeps.ts';

const root = new URL('../', import.meta.url);
const { scripts } = JSON.parse(await readFile(new URL('package.json', root), 'utf8')) as {
  scripts: Record<string, string>;
};

/**
 * An npm script passes words to vitest. vitest runs every test file with one of these words in its
 * path.
 */
test('the npm scripts of the sweeps name only test files that exist', async () => {
  const isElsewhere = (name: string) => /node_modules|\.data/.test(name);
  const files = await Array.fromAsync(
    glob('**/*.test.ts', { cwd: fileURLToPath(root), exclude: isElsewhere }),
  );
  const namedFiles = Object.values(scripts).flatMap((command) => {
    const [, words = ''] = / run --project \w+ (.+)$/.exec(command) ?? [];
    return words
      .replace(/--\w+ \d+ /, '')
      .split(' ')
      .filter(Boolean);
  });

  expect(namedFiles.length).toBeGreaterThan(8);
  expect(namedFiles.filter((word) => !files.some((file) => file.includes(word)))).toEqual([]);
});

test('npm run test:all sets all variables that the npm scripts of the sweeps set', () => {
  const setVariables = Object.entries(scripts)
    .filter(([name]) => name.startsWith('test:'))
    .flatMap(([, command]) => [...command.matchAll(/\b([A-Z_]+)=(\S+)/g)])
    .map(([, name = '', value]) => [name, value] as const);

  expect(setVariables.length).toBeGreaterThan(8);
  expect(wholeSweeps).toMatchObject(Object.fromEntries(setVariables));
});
