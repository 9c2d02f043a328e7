/**
 * Runs inside network and mount namespaces in which the names of an installation's containers
 * resolve to a private network that the operator allowed, with a listener on each port. Prints
 * which hosts and ports were reached. `namespace.integration.test.ts` starts it.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { openEgress, parseEgressAllow } from './index.ts';
import { ownAddressesOf } from './own.ts';

const hostsPath = join(mkdtempSync(join(tmpdir(), 'aag-own-')), 'hosts');
const containers = { gateway: 2, auth: 3, nats: 4, postgres: 5, collector: 6, alias: 4, api: 20 };
const hostsLines = Object.entries(containers).map(([name, at]) => `172.18.0.${at} ${name}\n`);
writeFileSync(hostsPath, `127.0.0.1 localhost\n${hostsLines.join('')}`);
execFileSync('mount', ['--bind', hostsPath, '/etc/hosts']);
execFileSync('ip', ['link', 'set', 'lo', 'up']);
execFileSync('ip', ['route', 'add', 'local', '172.16.0.0/12', 'dev', 'lo']);

let hits = 0;
for (const port of [80, 4222, 4318, 5432, 8080, 8081, 8222]) {
  const listener = createServer((socket) => {
    hits += 1;
    socket.on('error', () => {}).destroy();
  });
  listener.listen(port, '0.0.0.0').unref();
  await once(listener, 'listening');
}

await using egress = openEgress({
  allow: parseEgressAllow('172.16.0.0/12'),
  ownAddresses: ownAddressesOf({
    HOST: 'gateway',
    PORT: 8080,
    BASE_URL: 'https://gateway.example',
    OAUTH_URL: 'http://auth:8081',
    NATS_URL: 'nats://executor:CANARY-password@nats:4222',
    DATABASE_URL: 'postgres://executor:CANARY-password@postgres:5432/gateway',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
  }),
});

async function isReached(place: string): Promise<boolean> {
  const before = hits;
  // Only the connections matter, not the outcome.
  await egress
    .request({ method: 'GET', url: `http://${place}/`, totalTimeoutMs: 2000 })
    .catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 20));
  return hits > before;
}

const ownNames = [
  'nats:4222',
  'nats:8222',
  'postgres:5432',
  'gateway:8080',
  'auth:8081',
  'collector:4318',
  'alias:4222',
  'alias:8222',
  'alias:80',
  '172.18.0.4:4222',
  '172.18.0.4:8222',
  '172.18.0.5:80',
  '[::ffff:172.18.0.5]:5432',
  '172.18.0.2:8080',
  '172.18.0.3:8081',
];
const reachedOwnPlaces: string[] = [];
for (const place of ownNames) if (await isReached(place)) reachedOwnPlaces.push(place);
const reachedOtherPlaces: string[] = [];
for (const place of ['api', 'api:8222', '172.18.0.20:4222']) {
  if (await isReached(place)) reachedOtherPlaces.push(place);
}
process.stdout.write(JSON.stringify({ reached: reachedOwnPlaces, neighbours: reachedOtherPlaces }));
