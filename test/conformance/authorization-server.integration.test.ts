import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { expect, test } from 'vitest';

import { lastingPort } from '../../services-src/embedded/index.ts';
import { startOauthWorld } from '../support/oauth-world.ts';

/**
 * Runs the scenarios for authorization servers of `@modelcontextprotocol/conformance`, a test suite
 * of another project. `npm run test:conformance:oauth` runs this test alone.
 */
test(
  'the gateway’s authorization server passes the conformance scenarios of MCP',
  { timeout: 180_000 },
  async () => {
    await using world = await startOauthWorld({ authReplicas: 3 });
    const person = await world.person();
    const port = String(await lastingPort());
    const clientId = await world.register({ client_name: 'Conformance' });
    const suiteProcess = spawn(
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
    let hasVisited = false;
    const readOutput = (chunk: string) => {
      output += chunk;
      const url = /^(http\S+\/oauth\/authorize\?\S+)$/m.exec(output)?.[1];
      if (url === undefined || hasVisited) return;
      hasVisited = true;
      // The suite tells a person to open an address. The test acts as that person: it allows the
      // client, and follows the redirect back to the suite.
      void person.browser.authorize(url).then((answer) => fetch(answer));
    };
    suiteProcess.stdout.setEncoding('utf8').on('data', readOutput);
    suiteProcess.stderr.setEncoding('utf8').on('data', readOutput);
    const [code] = await once(suiteProcess, 'exit');

    expect(code, output).toBe(0);
    expect(output.split('=== SUMMARY ===')[1]?.trim().split('\n').filter(Boolean)).toEqual([
      '✓ authorization-server-metadata-endpoint: 2 passed, 0 failed',
      '✓ authorization-code-grant: 1 passed, 0 failed',
      'Total: 3 passed, 0 failed',
    ]);
  },
);
