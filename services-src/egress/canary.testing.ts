/**
 * Runs inside a network namespace in which all addresses lead to one listener, and tries to make
 * the guarded client connect to the forbidden ones. Prints one JSON object.
 * `namespace.integration.test.ts` starts it.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

import { openEgress, parseEgressAllow } from './index.ts';
import type { Egress } from './index.ts';
import {
  forbiddenAddresses,
  metadataAddresses,
  publicAddresses,
  spellingsOf,
} from './spellings.testing.ts';

const metadata = new Set(metadataAddresses);

execFileSync('ip', ['link', 'set', 'lo', 'up']);
execFileSync('ip', ['route', 'add', 'local', '0.0.0.0/0', 'dev', 'lo']);
execFileSync('ip', ['-6', 'route', 'add', 'local', '::/0', 'dev', 'lo']);

let connectionsCount = 0;
for (const port of [80, 443, 8080]) {
  const canary = createServer((socket) => {
    connectionsCount += 1;
    socket.on('error', () => {}).destroy();
  });
  canary.listen(port, '::').unref();
  await once(canary, 'listening');
}

/**
 * The number of connections that `run` made. It waits a little, because the listener may notice a
 * connection later than the client.
 */
async function countConnections(run: () => Promise<unknown>): Promise<number> {
  const countBefore = connectionsCount;
  await run();
  await new Promise((resolve) => setTimeout(resolve, 3));
  return connectionsCount - countBefore;
}

let dnsAnswer: readonly string[] = [];
let attemptsCount = 0;
const resolve = async () => dnsAnswer;
await using closedEgress = openEgress({ allow: parseEgressAllow(''), resolve });
await using openedEgress = openEgress({
  allow: parseEgressAllow('0.0.0.0/0,::/0,any.test:80'),
  resolve,
});

async function attemptRequest(client: Egress, url: string): Promise<void> {
  attemptsCount += 1;
  // Only the connections matter, not the outcome.
  await client.request({ method: 'GET', url, totalTimeoutMs: 2000 }).catch(() => {});
}

async function attemptAll(client: Egress, address: string): Promise<void> {
  for (const spelling of spellingsOf(address)) {
    for (const scheme of ['https', 'http'])
      await attemptRequest(client, `${scheme}://${spelling}/`);
    await attemptRequest(client, `https://${spelling}:8080/`);
  }
  for (dnsAnswer of [[address], [publicAddresses[0]!, address], [address, publicAddresses[4]!]]) {
    await attemptRequest(client, 'https://name.test/');
    await attemptRequest(client, 'http://any.test/');
  }
}

async function connectUnguarded(address: string): Promise<void> {
  const socket = connect(80, address).on('error', () => {});
  await new Promise((done) => socket.on('close', done));
}

const reachedAddresses: string[] = [];
let liveAddressesCount = 0;
for (const address of forbiddenAddresses) {
  const connectionsMade = await countConnections(async () => {
    await attemptAll(closedEgress, address);
    if (metadata.has(address)) await attemptAll(openedEgress, address);
  });
  if (connectionsMade > 0) reachedAddresses.push(address);
  if ((await countConnections(() => connectUnguarded(address))) > 0) liveAddressesCount += 1;
}

const falseRefusals: string[] = [];
for (const address of publicAddresses) {
  dnsAnswer = [address];
  const connectionsMade = await countConnections(async () => {
    await attemptRequest(
      closedEgress,
      `https://${address.includes(':') ? `[${address}]` : address}/`,
    );
    await attemptRequest(closedEgress, 'https://public.test/');
  });
  if (connectionsMade < 2) falseRefusals.push(address);
}

const report = {
  tried: attemptsCount,
  forbidden: forbiddenAddresses.length,
  live: liveAddressesCount,
  reached: reachedAddresses,
  falseRefusals,
};
process.stdout.write(JSON.stringify(report));
