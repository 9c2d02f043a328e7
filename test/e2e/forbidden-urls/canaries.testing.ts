/**
 * Runs as root of a network namespace in which every address there is leads to one listener, starts
 * the product in it (`product.testing.ts`), and tells it over IPC whom was connected to. What the
 * product prints at the end is the report.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';

import { publicAddresses } from '../../../services-src/egress/spellings.testing.ts';
import { publicPorts } from './stage.testing.ts';

execFileSync('ip', ['link', 'set', 'lo', 'up']);
execFileSync('ip', ['route', 'add', 'local', '0.0.0.0/0', 'dev', 'lo']);
execFileSync('ip', ['-6', 'route', 'add', 'local', '::/0', 'dev', 'lo']);

const expected = new Set(publicAddresses);
const atPublic: string[] = [];
const elsewhere: string[] = [];
for (const port of [80, 443, 8080, ...publicPorts]) {
  const canary = createServer((socket) => {
    const address = (socket.localAddress ?? '').replace(/^::ffff:(?=\d+\.)/, '');
    if (expected.has(address)) atPublic.push(`${address} ${port}`);
    else elsewhere.push(`${address}:${port}`);
    socket.on('error', () => {}).destroy();
  });
  canary.listen(port, '::').unref();
  await once(canary, 'listening');
}

// An ordinary user, in a user namespace of its own: Postgres refuses to be root.
const product = spawn(
  'unshare',
  ['-U', '--map-user=1000', process.execPath, 'test/e2e/forbidden-urls/product.testing.ts'],
  { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
);
product.on('message', () =>
  product.send({ atPublic: atPublic.splice(0), elsewhere: elsewhere.splice(0) }),
);
const [code] = (await once(product, 'exit')) as [number | null];
process.exitCode = code ?? 1;
