/**
 * `prepack` of the package: compiles the command line with all packages that it uses into `dist`, and
 * puts their licences beside it. The installed package has no dependencies.
 */
import { copyFile, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'vite';

const folder = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url));

const packageFolders = new Set<string>();

await rm(join(folder, 'dist'), { recursive: true, force: true });
await build({
  root,
  configFile: false,
  logLevel: 'warn',
  publicDir: false,
  ssr: { noExternal: true },
  build: {
    ssr: join(root, 'cli/main.ts'),
    outDir: join(folder, 'dist'),
    target: 'node24',
    rollupOptions: { output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' } },
  },
  plugins: [
    {
      name: 'collect-packages',
      generateBundle(_options, bundle) {
        for (const chunk of Object.values(bundle)) {
          if (chunk.type === 'asset') continue;
          for (const id of chunk.moduleIds) {
            const [packageFolder] = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id) ?? [];
            if (packageFolder !== undefined) packageFolders.add(packageFolder);
          }
        }
      },
    },
  ],
});
await copyFile(join(root, 'LICENSE'), join(folder, 'LICENSE'));
const licences = await Promise.all([...packageFolders].toSorted().map(readLicence));
await writeFile(join(folder, 'THIRD-PARTY-LICENSES'), licences.join('\n'));

/** The name, version and licence text of a package. */
async function readLicence(packageFolder: string): Promise<string> {
  const manifest = await readFile(join(packageFolder, 'package.json'), 'utf8');
  const { name, version, license } = JSON.parse(manifest) as Record<string, string>;
  const file = (await readdir(packageFolder)).find((each) => /^licen[cs]e/i.test(each));
  if (file === undefined) throw new Error(`${name} has no licence text.`);
  const text = await readFile(join(packageFolder, file), 'utf8');
  return `${name} ${version} (${license})\n\n${text}`;
}
