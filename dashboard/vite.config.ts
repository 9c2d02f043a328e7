import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';

import tailwindcss from '@tailwindcss/vite';
import { defineConfig } from 'vite';
import type { Plugin } from 'vite';
import solid from 'vite-plugin-solid';

import { addLicences } from '../scripts/licences.ts';

const gatewayUrl = 'http://127.0.0.1:8080';

/**
 * The configuration of the dashboard's build. `vite dashboard` uses it to serve the dashboard for
 * development, and forwards API requests to a running gateway.
 */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  plugins: [
    solid(),
    tailwindcss(),
    // Tailwind's style sheet becomes part of the dashboard's, so its licence is added here.
    addLicences('third-party-licenses.txt', ['tailwindcss']),
    compressAssets(),
  ],
  build: {
    target: 'es2022',
    // No asset is inlined, because the content security policy allows nothing inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    // People who run `npm start` for the first time do not need to see how long each plugin took.
    rolldownOptions: { checks: { pluginTimings: false } },
  },
  server: {
    proxy: {
      '/v1': { target: gatewayUrl, changeOrigin: true },
      '/sign-in': { target: gatewayUrl, changeOrigin: true },
    },
  },
});

/**
 * Also writes each script and style sheet in compressed forms, which the gateway sends to browsers.
 */
function compressAssets(): Plugin {
  return {
    name: 'compress-assets',
    apply: 'build',
    writeBundle({ dir = '' }) {
      const folder = join(dir, 'assets');
      for (const name of readdirSync(folder).filter((each) => /\.(?:js|css)$/.test(each))) {
        const content = readFileSync(join(folder, name));
        writeFileSync(join(folder, `${name}.br`), brotliCompressSync(content));
        writeFileSync(join(folder, `${name}.gz`), gzipSync(content));
      }
    },
  };
}
