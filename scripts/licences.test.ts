import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { describeLicences, listImagePackages } from './licences.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aag-licences-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function makePackage(license: unknown, files: Record<string, string> = {}): Promise<string> {
  const path = await mkdtemp(join(folder, 'package-'));
  await mkdir(path, { recursive: true });
  const manifest = { name: basename(path), version: '1.0.0', license };
  await writeFile(join(path, 'package.json'), JSON.stringify(manifest));
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text);
  return path;
}

test('every package in the image has a licence that may be shipped, and a licence text', async () => {
  const folders = await listImagePackages();
  const text = await describeLicences(folders, 'image');
  for (const name of ['fastify', '@kobalte/core', 'pg-types', 'vite-plugin-solid'])
    expect(text).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(MIT\\)$`, 'm'));
  expect(text.match(/^\S+ \d+\.\d+\.\d+\S* \(.+\)$/gm)?.length).toBe(folders.length);
});

test('the description of a package contains its licence and its notice', async () => {
  const files = { 'LICENSE.md': 'a licence', NOTICE: 'a notice', 'README.md': 'Hello' };
  const path = await makePackage('Apache-2.0', files);
  expect(await describeLicences([path, path], 'bundle')).toBe(
    `${basename(path)} 1.0.0 (Apache-2.0)\n\na licence\n\na notice\n`,
  );
});

test('the licence text of a package may be in its README', async () => {
  const readme = '# Name\n\n## License\n\nCopyright Ann. Permission is hereby granted\n\n## More';
  const path = await makePackage('MIT', { 'readme.md': readme });
  const text = await describeLicences([path], 'bundle');
  expect(text).toContain('Copyright Ann');
  expect(text).not.toContain('More');
});

test.each([
  ['GPL-3.0-only'],
  ['(MIT OR GPL-3.0-only)'],
  ['UNLICENSED'],
  [undefined],
  [{ type: 'MIT' }],
])('a package with the licence %j is refused', async (license) => {
  const path = await makePackage(license, { LICENSE: 'text' });
  await expect(describeLicences([path], 'image')).rejects.toThrow('Choose another package');
});

test('a package that has no licence text is refused', async () => {
  const path = await makePackage('MIT', { 'README.md': '## License\n\nMIT' });
  await expect(describeLicences([path], 'image')).rejects.toThrow('has no licence text');
});

test('a package whose licence also covers changed files is allowed in the image, but not in a bundle', async () => {
  const path = await makePackage('MPL-2.0', { LICENSE: 'text' });
  expect(await describeLicences([path], 'image')).toContain('(MPL-2.0)');
  await expect(describeLicences([path], 'bundle')).rejects.toThrow('MPL-2.0');
});
