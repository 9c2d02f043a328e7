/** The whole product where every address has a listener. Started by `canaries.testing.ts`; prints one JSON object. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { launch } from '../../../launch.ts';
import { forbiddenUrls, publicAddresses } from '../../../services-src/egress/spellings.testing.ts';
import { createCaller, signIn } from '../../support/http.ts';
import { freePort } from '../support/port.ts';
import { createAgent } from '../support/world.ts';
import { entriesOf } from './entries.testing.ts';
import { startSite } from './site.testing.ts';
import { OpenCircuit, createTally, publicPorts, watched } from './stage.testing.ts';
import type { Entry } from './stage.testing.ts';

export interface EntryReport {
  readonly name: string;
  readonly isNeverCalled: boolean;
  readonly tried: number;
  /** Addresses that were connected to and must not be. */
  readonly reached: readonly string[];
  /** Public addresses that were not reached when it was given all of those. */
  readonly missed: readonly string[];
  /** How many of the URLs the product was told of, where nobody calls what is named. */
  readonly told: number;
  /** Attempts that came to nothing for reasons that lie elsewhere, the first few. */
  readonly mishaps: readonly string[];
  /** What refused the URLs, and how often. */
  readonly refusals: Readonly<Record<string, number>>;
  readonly seconds: number;
}

interface Hits {
  /** Public addresses and ports that were connected to since the last time. */
  readonly atPublic: readonly string[];
  readonly elsewhere: readonly string[];
}

const isEverything = process.env['FORBIDDEN_URLS'] === 'all';
/** Of several processes that share the entries, which this one is. */
const [part = 0, parts = 1] = (process.env['FORBIDDEN_URLS_PART'] ?? '0/1').split('/').map(Number);
const urls = forbiddenUrls();
/** Every spelling once, for entries that take several requests: with https, to its own port. */
const everySpelling = urls.filter((url) => /^https:\/\/[^/]*(?<!:8080)\/x$/.test(url));
const publicUrls = (port: number) =>
  publicAddresses.map(
    (address) => `https://${address.includes(':') ? `[${address}]` : address}:${port}/x`,
  );
const tally = createTally();
/** A busy machine may be too late for an answer. */
const attemptsMax = 3;
const dataDir = await mkdtemp(join(tmpdir(), 'aag-forbidden-'));
await using site = await startSite();
{
  const caFile = join(dataDir, 'site.pem');
  await writeFile(caFile, site.certificate);
  const unlimited = ['SIGN_IN_PER_MINUTE', 'IDENTITY_PER_MINUTE', 'USER_PER_MINUTE'];
  await using product = await launch(
    {
      PATH: process.env['PATH'],
      LOG_LEVEL: 'silent',
      PORT: String(await freePort()),
      EGRESS_CA_FILE: caFile,
      RATE_REGISTER_PER_HOUR: '0',
      REQUESTS_PER_HOUR: '0',
      APPROVALS_RAISED_PER_HOUR: '0',
      RATE_PUBLIC_PER_MINUTE: '0',
      ...Object.fromEntries(unlimited.map((name) => [`RATE_${name}`, '0'])),
    },
    { dataDir, durable: false },
  );
  const admin = await signIn(product.firstSignInUrl ?? '');
  const agent = watched(await createAgent(product.url, admin, 'bot'), tally);
  const anybody = watched(createCaller(product.url, {}), tally, [401]);
  const stage = { admin: watched(admin, tally), agent, anybody, site, url: product.url };
  const entries = await entriesOf(stage, [...urls, ...publicPorts.flatMap(publicUrls)]);
  const report: EntryReport[] = [];
  for (const [at, entry] of entries.entries()) {
    if (at % parts !== part) continue;
    const tried = await tryEntry(entry, at);
    report.push(tried);
    if (isEverything) process.stderr.write(`${JSON.stringify(tried)}\n`);
  }
  process.stdout.write(JSON.stringify(report));
}
await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
process.disconnect();

async function tryEntry(entry: Entry, offset: number): Promise<EntryReport> {
  const startedAt = performance.now();
  const port = publicPorts[offset] ?? 0;
  await attemptAll(entry, publicUrls(port));
  const atFirst = await hits();
  tally.take();
  // Another part of them through each entry.
  const some = () => urls.filter((_, at) => (at + offset) % entry.oneOf === 0);
  const chosen = isEverything ? (entry.isCostly ? everySpelling : urls) : some();
  const toldBefore = site.told();
  const { told, mishaps } = await attemptAll(entry, chosen);
  const { elsewhere } = await hits();
  const isMissed = (address: string) => !atFirst.atPublic.includes(`${address} ${port}`);
  return {
    name: entry.name,
    isNeverCalled: entry.isNeverCalled ?? false,
    tried: chosen.length,
    reached: [...new Set([...atFirst.elsewhere, ...elsewhere])],
    missed: publicAddresses.filter(isMissed),
    told: told + site.told() - toldBefore,
    mishaps: mishaps.slice(0, 5),
    refusals: tally.take(),
    seconds: Math.round((performance.now() - startedAt) / 1_000),
  };
}

async function attemptAll(
  entry: Entry,
  all: readonly string[],
): Promise<{ told: number; mishaps: string[] }> {
  const queue = all.toReversed();
  const mishaps: string[] = [];
  let told = 0;
  /** Says what kept it from being tried, again and again. */
  const attempt = async (url: string): Promise<unknown> => {
    let mishap: unknown;
    for (let round = 0; round < attemptsMax; round += 1) {
      try {
        if ((await entry.attempt(url)) === true) told += 1;
        return undefined;
      } catch (thrown) {
        if (thrown instanceof OpenCircuit && mayBeAsked(url)) return undefined;
        mishap = thrown;
      }
    }
    return mishap;
  };
  const worker = async () => {
    for (let url = queue.pop(); url !== undefined; url = queue.pop()) {
      const mishap = await attempt(url);
      if (mishap !== undefined) mishaps.push(`${url}: ${String(mishap)}`);
    }
  };
  await Promise.all(Array.from({ length: entry.atOnce ?? 8 }, worker));
  return { told, mishaps };
}

/** A name that nothing resolves, or a trick that leads to a public address: it did not answer. */
function mayBeAsked(url: string): boolean {
  const { hostname = '' } = URL.parse(url) ?? {};
  return isIP(hostname.replaceAll(/[[\]]/g, '')) === 0 || publicAddresses.includes(hostname);
}

async function hits(): Promise<Hits> {
  // The listener may learn of a connection a little later than its maker.
  await new Promise((resolve) => setTimeout(resolve, 50));
  process.send?.('hits');
  const [answer] = (await once(process, 'message')) as [Hits];
  return answer;
}
