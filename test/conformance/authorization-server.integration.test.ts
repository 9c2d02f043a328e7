import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { expect, test } from 'vitest';

import { freePort } from '../e2e/support/port.ts';
import { startOauthWorld } from '../support/oauth-world.ts';

/** `@modelcontextprotocol/conformance`, whose scenarios nobody here wrote; `npm run test:conformance:oauth`. */
test(
  'the authorization server passes the conformance scenarios of MCP',
  { timeout: 90_000 },
  async () => {
    await using world = await startOauthWorld({ authReplicas: 3 });
    const person = await world.person();
    const port = String(await freePort());
    const clientId = await world.register({ client_name: 'Conformance' });
    const suite = spawn(
      process.execPath,
      [
        'node_modules/@modelcontextprotocol/conformance/dist/index.js',
        'authorization',
        '--url',
        world.url,
        '--client-id',
        clientId,
        '--port',
        port,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    let output = '';
    let visited = false;
    const read = (chunk: string) => {
      output += chunk;
      const url = /^(http\S+\/oauth\/authorize\?\S+)$/m.exec(output)?.[1];
      if (url === undefined || visited) return;
      visited = true;
      // What a person does when told to open an address: allow, and follow the browser back.
      void person.browser.authorize(url).then((answer) => fetch(answer));
    };
    suite.stdout.setEncoding('utf8').on('data', read);
    suite.stderr.setEncoding('utf8').on('data', read);
    const [code] = await once(suite, 'exit');

    expect(code, output).toBe(0);
    expect(output.split('=== SUMMARY ===')[1]?.trim().split('\n').filter(Boolean)).toEqual([
      '✓ authorization-server-metadata-endpoint: 2 passed, 0 failed',
      '✓ authorization-code-grant: 1 passed, 0 failed',
      'Total: 3 passed, 0 failed',
    ]);
  },
);
