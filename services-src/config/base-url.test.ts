import { expect, test } from 'vitest';

import { deriveBaseUrl } from './base-url.ts';

test.for([
  [{ HOST: '127.0.0.1', PORT: 8080 }, 'http://127.0.0.1:8080'],
  [{ HOST: '0.0.0.0', PORT: 80 }, 'http://127.0.0.1:80'],
  [{ HOST: '::', PORT: 8080 }, 'http://127.0.0.1:8080'],
  [{ HOST: '::1', PORT: 8080 }, 'http://[::1]:8080'],
  [{ HOST: '0.0.0.0', PORT: 1, BASE_URL: 'https://g.example' }, 'https://g.example'],
] as const)('the gateway with the settings %j has the base URL %s', ([settings, url]) => {
  expect(deriveBaseUrl(settings)).toBe(url);
});
