/**
 * The licences of other people's packages that a release contains: in the image, in the dashboard
 * and in the npm package of the CLI. `node scripts/licences.ts` prints those of the image.
 */
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { Plugin } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The SPDX names of licences that are allowed inside a work under the Apache License 2.0. */
const licencesOfBundles = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'Unlicense',
];
/**
 * These further licences have conditions for changed files. The image contains such packages
 * unchanged, with their licence texts. No bundle may contain their code.
 */
const licencesOfImages = [...licencesOfBundles, 'CC-BY-4.0', 'MPL-2.0'];

/**
 * The copyright holders of packages that have the MIT licence but are published without its text.
 */
const copyrightHolders: Readonly<Record<string, string>> = {
  '@scalar/openapi-types': '2023-present Scalar',
  'abstract-logging': 'James Sumners',
  'koa-compose': '2013 TJ Holowaychuk tj@apex.sh',
  'vite-plugin-solid': 'Alexandre Mouton-Brady',
};
const mitText = `Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
`;

interface LockedPackage {
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
}

/**
 * The folders of the packages in the image. These are all packages that are neither for development
 * nor optional.
 */
export async function listImagePackages(): Promise<string[]> {
  const lockfile = await readFile(join(root, 'package-lock.json'), 'utf8');
  const { packages } = JSON.parse(lockfile) as { packages: Record<string, LockedPackage> };
  return Object.entries(packages)
    .filter(([path, { dev, optional, devOptional }]) => path && !dev && !optional && !devOptional)
    .map(([path]) => join(root, path));
}

/**
 * Returns the names, versions, licence texts and notices of packages.
 *
 * @param use `bundle` if the code of the packages becomes part of a compiled file, `image` if the
 * packages are shipped unchanged.
 * @throws if a package has no licence text, or a licence that does not allow this use.
 */
export async function describeLicences(
  packageFolders: Iterable<string>,
  use: 'bundle' | 'image',
): Promise<string> {
  const acceptedLicences = use === 'bundle' ? licencesOfBundles : licencesOfImages;
  const folders = [...new Set(packageFolders)].toSorted();
  const licences = await Promise.all(
    folders.map((folder) => readLicence(folder, acceptedLicences)),
  );
  return licences.join(`\n${'-'.repeat(80)}\n\n`);
}

async function readLicence(folder: string, acceptedLicences: readonly string[]): Promise<string> {
  const manifest = await readFile(join(folder, 'package.json'), 'utf8');
  const { name, version, license } = JSON.parse(manifest) as {
    readonly name: string;
    readonly version: string;
    readonly license?: unknown;
  };
  if (typeof license !== 'string' || !acceptedLicences.includes(license)) {
    throw new Error(
      `${name} has the licence ${JSON.stringify(license)}. Choose another package, or add the licence ` +
        'to scripts/licences.ts if it may be shipped with a work under the Apache License 2.0.',
    );
  }
  const texts = await readLicenceTexts(folder, name, license);
  return `${[`${name} ${version} (${license})`, ...texts.map((text) => text.trim())].join('\n\n')}\n`;
}

async function readLicenceTexts(
  folder: string,
  name: string,
  licence: string,
): Promise<readonly string[]> {
  const read = (file: string) => readFile(join(folder, file), 'utf8');
  const entries = await readdir(folder, { withFileTypes: true });
  const files = entries.flatMap((entry) => (entry.isFile() ? entry.name : [])).toSorted();
  const licences = files.filter((file) => /^(licen[cs]e|copying)/i.test(file));
  const notices = files.filter((file) => /^notice/i.test(file));
  if (licences.length > 0) return Promise.all([...licences, ...notices].map(read));

  const holder = copyrightHolders[name];
  if (holder !== undefined && licence === 'MIT') return [`Copyright (c) ${holder}\n\n${mitText}`];
  const readme = files.find((file) => /^readme/i.test(file));
  const [, section] = /^#+ licen[cs]e$([^#]*)/im.exec(readme ? await read(readme) : '') ?? [];
  if (section?.includes('Permission is hereby granted')) return [section];
  throw new Error(
    `${name} has no licence text: find its copyright holder, and name it in scripts/licences.ts.`,
  );
}

/**
 * Adds a file to a bundle. The file has the licences of all packages with code in the bundle.
 *
 * @param otherPackages packages in the bundle that the bundler does not see as modules.
 */
export function addLicences(fileName: string, otherPackages: readonly string[] = []): Plugin {
  return {
    name: 'add-licences',
    apply: 'build',
    async generateBundle(_options, bundle) {
      const ids = Object.values(bundle).flatMap((file) =>
        file.type === 'chunk' ? file.moduleIds : [],
      );
      const folders = ids.flatMap(
        (id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? [],
      );
      const others = otherPackages.map((name) => join(root, 'node_modules', name));
      const source = await describeLicences([...folders, ...others], 'bundle');
      this.emitFile({ type: 'asset', fileName, source });
    },
  };
}

if (import.meta.main) {
  process.stdout.write(await describeLicences(await listImagePackages(), 'image'));
}
