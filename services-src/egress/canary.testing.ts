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

const words = (text: string) => text.trim().split(/\s+/);

const forbidden = words(`
  0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 127.0.0.1 127.0.0.2
  127.255.255.254 168.63.129.16 169.254.0.1 169.254.169.254 169.254.170.2 172.16.0.1
  172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.1 192.168.255.255
  198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.250 240.0.0.1
  255.255.255.255 :: ::1 ::7f00:1 ::a9fe:a9fe ::ffff:127.0.0.1 ::ffff:169.254.169.254
  ::ffff:10.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::7f00:1
  100::1 2001::1 2001:0:1:2:3:4:5601:5601 2001:2::1 2001:10::1 2001:20::1 2001:db8::1
  2002:7f00:1:: 2002:a9fe:a9fe:: 3fff::1 4000::1 5f00::1 fc00::1 fd00:ec2::254 fd20:ce::254
  fd12:3456:789a::1 fe80::1 fec0::1 ff02::1
`);
/** Not to be reached even when the operator opens everything. */
const metadata = new Set(
  words(`
  169.254.169.254 169.254.170.2 100.100.100.200 168.63.129.16 192.0.0.192 fd00:ec2::254
  fd20:ce::254 ::a9fe:a9fe ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::
  2001:0:1:2:3:4:5601:5601 fe80::1
  `),
);
const allowed = words(`
  1.1.1.1 93.184.216.34 8.8.8.8 100.128.0.1 2606:4700::1111 2a00::1
`);

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

function spellings(address: string): string[] {
  if (address.includes(':')) {
    const groups = new URL(`http://[${address}]/`).hostname.slice(1, -1);
    return [`[${address}]`, `[${address.toUpperCase()}]`, `[${groups}]`];
  }
  const bytes = address.split('.').map(Number);
  const whole = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
  const [a, b, x, y] = bytes.map((byte) => byte.toString(16).padStart(2, '0'));
  return [
    address,
    `${address}.`,
    String(whole),
    `0x${whole.toString(16)}`,
    `0${whole.toString(8)}`,
    `0x${a}.0x${b}.0x${x}.0x${y}`,
    bytes.map((byte) => `0${byte.toString(8)}`).join('.'),
    `${bytes[0]}.${whole % 2 ** 24}`,
    `${bytes[0]}.${bytes[1]}.${whole % 2 ** 16}`,
    address.replaceAll(/[0-9]/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
    address.replaceAll('.', '\u3002'),
    address.replaceAll('.', '%2e'),
    `[::ffff:${a}${b}:${x}${y}]`,
    `[::${address}]`,
    `[64:ff9b::${address}]`,
    `[2002:${a}${b}:${x}${y}::]`,
  ];
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
  for (const spelling of spellings(address)) {
    for (const scheme of ['https', 'http']) await attempt(client, `${scheme}://${spelling}/`);
    await attempt(client, `https://${spelling}:8080/`);
  }
  for (answer of [[address], [allowed[0]!, address], [address, allowed[4]!]]) {
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
for (const address of forbidden) {
  const made = await hitsOf(async () => {
    await attemptAll(closed, address);
    if (metadata.has(address)) await attemptAll(opened, address);
  });
  if (made > 0) reached.push(address);
  if ((await hitsOf(() => connectUnguarded(address))) > 0) live += 1;
}

const falseRefusals: string[] = [];
for (const address of allowed) {
  answer = [address];
  const made = await hitsOf(async () => {
    await attempt(closed, `https://${address.includes(':') ? `[${address}]` : address}/`);
    await attempt(closed, 'https://public.test/');
  });
  if (made < 2) falseRefusals.push(address);
}

const report = { tried, forbidden: forbidden.length, live, reached, falseRefusals };
process.stdout.write(JSON.stringify(report));
