/**
 * Runs as root of a network namespace in which one listener receives the connections to every
 * address. Starts the product in the namespace (`product.testing.ts`), and sends to the product
 * over IPC the addresses to which connections were opened. The product prints the report at the
 * end.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';

import { publicAddresses } from '../../../services-src/egress/spellings.testing.ts';
import { publicPorts } from './stage.testing.ts';

execFileSync('ip', ['link', 'set', 'lo', 'up']);
execFileSync('ip', ['route', 'add', 'local', '0.0.0.0/0', 'dev', 'lo']);
execFileSync('ip', ['-6', 'route', 'add', 'local', '::/0', 'dev', 'lo']);

const expectedAddresses = new Set(publicAddresses);
const publicConnections: string[] = [];
const otherConnections: string[] = [];
for (const port of [80, 443, 8080, ...publicPorts]) {
  const canary = createServer((socket) => {
    const address = (socket.localAddress ?? '').replace(/^::ffff:(?=\d+\.)/, '');
    if (expectedAddresses.has(address)) publicConnections.push(`${address} ${port}`);
    else otherConnections.push(`${address}:${port}`);
    socket.on('error', () => {}).destroy();
  });
  canary.listen(port, '::').unref();
  await once(canary, 'listening');
}

// The product runs as an ordinary user in a nested user namespace, because Postgres refuses to run
// as root.
const product = spawn(
  'unshare',
  ['-U', '--map-user=1000', process.execPath, 'test/e2e/forbidden-urls/product.testing.ts'],
  { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
);
product.on('message', () =>
  product.send({ atPublic: publicConnections.splice(0), elsewhere: otherConnections.splice(0) }),
);
const [code] = (await once(product, 'exit')) as [number | null];
process.exitCode = code ?? 1;
