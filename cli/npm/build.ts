/**
 * The `prepack` script of the npm package. It compiles the CLI and all packages that it uses into
 * `dist`, and writes their licences beside it. It also copies the files that start the CLI, and the
 * licence of this project.
 */
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'vite';

import { addLicences } from '../../scripts/licences.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url));

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
  plugins: [addLicences('THIRD-PARTY-LICENSES')],
});
for (const [from, to] of [
  ['cli/bin.mjs', 'dist/bin.mjs'],
  ['scripts/follow-starter.mjs', 'scripts/follow-starter.mjs'],
  ['LICENSE', 'LICENSE'],
] as const) {
  await cp(join(root, from), join(folder, to));
}
