import { fileURLToPath } from 'node:url';

import tailwindcss from '@tailwindcss/vite';
import { defineConfig } from 'vite';
import solid from 'vite-plugin-solid';

const gatewayUrl = 'http://127.0.0.1:8080';

/**
 * The dashboard's build; `vite dashboard` serves it for development and forwards API requests to a
 * running gateway.
 */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  plugins: [solid(), tailwindcss()],
  build: {
    target: 'es2022',
    // No asset is inlined, because the content security policy allows nothing inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    // How long each plugin took concerns nobody who runs `npm start` for the first time.
    rolldownOptions: { checks: { pluginTimings: false } },
  },
  server: {
    proxy: {
      '/v1': { target: gatewayUrl, changeOrigin: true },
      '/sign-in': { target: gatewayUrl, changeOrigin: true },
    },
  },
});
