/**
 * Runs inside a network namespace in which every address there is leads to one listener, and tries
 * to get the guarded client to reach the forbidden ones. Prints one JSON object. Started by
 * `namespace.integration.test.ts`.
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

let hits = 0;
for (const port of [80, 443, 8080]) {
  const canary = createServer((socket) => {
    hits += 1;
    socket.on('error', () => {}).destroy();
  });
  canary.listen(port, '::').unref();
  await once(canary, 'listening');
}

/** How many connections `run` made. The listener may learn of one a little later than its maker. */
async function hitsOf(run: () => Promise<unknown>): Promise<number> {
  const before = hits;
  await run();
  await new Promise((resolve) => setTimeout(resolve, 3));
  return hits - before;
}

let answer: readonly string[] = [];
let tried = 0;
const resolve = async () => answer;
await using closed = openEgress({ allow: parseEgressAllow(''), resolve });
await using opened = openEgress({ allow: parseEgressAllow('0.0.0.0/0,::/0,any.test:80'), resolve });

async function attempt(client: Egress, url: string): Promise<void> {
  tried += 1;
  // Whatever comes of it: what counts is who was connected to.
  await client.request({ method: 'GET', url, totalTimeoutMs: 2000 }).catch(() => {});
}

async function attemptAll(client: Egress, address: string): Promise<void> {
  for (const spelling of spellingsOf(address)) {
    for (const scheme of ['https', 'http']) await attempt(client, `${scheme}://${spelling}/`);
    await attempt(client, `https://${spelling}:8080/`);
  }
  for (answer of [[address], [publicAddresses[0]!, address], [address, publicAddresses[4]!]]) {
    await attempt(client, 'https://name.test/');
    await attempt(client, 'http://any.test/');
  }
}

async function connectUnguarded(address: string): Promise<void> {
  const socket = connect(80, address).on('error', () => {});
  await new Promise((done) => socket.on('close', done));
}

const reached: string[] = [];
let live = 0;
for (const address of forbiddenAddresses) {
  const made = await hitsOf(async () => {
    await attemptAll(closed, address);
    if (metadata.has(address)) await attemptAll(opened, address);
  });
  if (made > 0) reached.push(address);
  if ((await hitsOf(() => connectUnguarded(address))) > 0) live += 1;
}

const falseRefusals: string[] = [];
for (const address of publicAddresses) {
  answer = [address];
  const made = await hitsOf(async () => {
    await attempt(closed, `https://${address.includes(':') ? `[${address}]` : address}/`);
    await attempt(closed, 'https://public.test/');
  });
  if (made < 2) falseRefusals.push(address);
}

const report = { tried, forbidden: forbiddenAddresses.length, live, reached, falseRefusals };
process.stdout.write(JSON.stringify(report));
