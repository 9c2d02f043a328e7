import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';

/**
 * Tests no-network.ts, which is preloaded in the corpus run. Without this test, the absence of
 * network errors in a corpus run could mean that no-network.ts detects none.
 */
test.each([
  "import net from 'node:net'; net.connect(9, '127.0.0.1')",
  "import { createConnection } from 'node:net'; createConnection(9, '127.0.0.1')",
  "import http from 'node:http'; http.get('http://127.0.0.1:9/')",
  "import https from 'node:https'; https.get('https://127.0.0.1:9/')",
  "import { lookup } from 'node:dns'; lookup('localhost', () => {})",
  "import dns from 'node:dns/promises'; await dns.resolve4('localhost')",
  "import dgram from 'node:dgram'; dgram.createSocket('udp4').send('x', 9, '127.0.0.1')",
  "await fetch('http://127.0.0.1:9/')",
])(
  'a thread without network access ends with an error when it runs this code: %s',
  async (code) => {
    const preload = new URL('no-network.ts', import.meta.url).href;
    const program = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
    await using worker = new Worker(program, { execArgv: ['--import', preload] });
    const [error] = (await once(worker, 'error')) as [Error];
    expect(error.message).toContain('the importer wanted the network');
  },
);
