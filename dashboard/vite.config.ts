import { fileURLToPath } from 'node:url';

import tailwindcss from '@tailwindcss/vite';
import { defineConfig } from 'vite';
import solid from 'vite-plugin-solid';

const gateway = 'http://127.0.0.1:8080';

/** The dashboard's build; `vite dashboard` serves it for development and asks a running gateway for the rest. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  plugins: [solid(), tailwindcss()],
  build: {
    target: 'es2022',
    // Everything is a file of its own: the content security policy allows nothing inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  server: {
    proxy: {
      '/v1': { target: gateway, changeOrigin: true },
      '/sign-in': { target: gateway, changeOrigin: true },
    },
  },
});
