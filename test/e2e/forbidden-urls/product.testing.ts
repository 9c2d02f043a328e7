/**
 * Runs the whole product in a network in which every address has a listener. `canaries.testing.ts`
 * starts this file. The file prints its report as one JSON object.
 */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { launch } from '../../../launch.ts';
import {
  listForbiddenUrls,
  publicAddresses,
} from '../../../services-src/egress/spellings.testing.ts';
import { createCaller, signIn } from '../../support/http.ts';
import { lastingPort } from '../../../services-src/embedded/index.ts';
import { createAgent } from '../../support/world.ts';
import { createEntries } from './entries.testing.ts';
import { startSite } from './site.testing.ts';
import { OpenCircuit, createTally, publicPorts, watchCaller } from './stage.testing.ts';
import type { Entry } from './stage.testing.ts';

export interface EntryReport {
  readonly name: string;
  readonly isNeverCalled: boolean;
  readonly tried: number;
  /** Forbidden addresses to which the product opened a connection. */
  readonly reached: readonly string[];
  /**
   * Public addresses to which the product opened no connection, although the entry point gave it
   * each of these addresses.
   */
  readonly missed: readonly string[];
  /**
   * How many URLs were given to the product. This counts for entry points whose URLs the product
   * never calls.
   */
  readonly told: number;
  /** The first few attempts that failed for a reason other than the URL. */
  readonly mishaps: readonly string[];
  /** How many URLs were refused with each error code. */
  readonly refusals: Readonly<Record<string, number>>;
  readonly seconds: number;
}

interface Hits {
  /**
   * Public addresses and ports to which the product has opened a connection since the last report.
   */
  readonly atPublic: readonly string[];
  readonly elsewhere: readonly string[];
}

const isFullRun = process.env['FORBIDDEN_URLS'] === 'all';
/**
 * Several processes share the entry points: `part` is the index of this process, and `parts` the
 * number of processes.
 */
const [part = 0, parts = 1] = (process.env['FORBIDDEN_URLS_PART'] ?? '0/1').split('/').map(Number);
const urls = listForbiddenUrls();
/**
 * One URL for each spelling of an address, with https and the default port, for entry points that
 * take several requests per URL.
 */
const everySpelling = urls.filter((url) => /^https:\/\/[^/]*(?<!:8080)\/x$/.test(url));
const publicUrls = (port: number) =>
  publicAddresses.map(
    (address) => `https://${address.includes(':') ? `[${address}]` : address}:${port}/x`,
  );
const answerCounts = createTally();
/** The test repeats a failed attempt, because an answer can time out on a busy machine. */
const attemptsMax = 3;
const dataDir = await mkdtemp(join(tmpdir(), 'aag-forbidden-'));
await using site = await startSite();
{
  const caFile = join(dataDir, 'site.pem');
  await writeFile(caFile, site.certificate);
  const unlimitedRates = ['SIGN_IN_PER_MINUTE', 'IDENTITY_PER_MINUTE', 'USER_PER_MINUTE'];
  await using product = await launch(
    {
      PATH: process.env['PATH'],
      LOG_LEVEL: 'silent',
      PORT: String(await lastingPort()),
      EGRESS_CA_FILE: caFile,
      RATE_REGISTER_PER_HOUR: '0',
      REQUESTS_PER_HOUR: '0',
      APPROVALS_RAISED_PER_HOUR: '0',
      RATE_PUBLIC_PER_MINUTE: '0',
      ...Object.fromEntries(unlimitedRates.map((name) => [`RATE_${name}`, '0'])),
    },
    { dataDir, durable: false },
  );
  const admin = await signIn(product.firstSignInUrl ?? '');
  const agent = watchCaller(await createAgent(product.url, admin, 'bot'), answerCounts);
  const anybody = watchCaller(createCaller(product.url, {}), answerCounts, [401]);
  const stage = { admin: watchCaller(admin, answerCounts), agent, anybody, site, url: product.url };
  const entries = await createEntries(stage, [...urls, ...publicPorts.flatMap(publicUrls)]);
  const entryReports: EntryReport[] = [];
  for (const [at, entry] of entries.entries()) {
    if (at % parts !== part) continue;
    const tried = await tryEntry(entry, at);
    entryReports.push(tried);
    if (isFullRun) process.stderr.write(`${JSON.stringify(tried)}\n`);
  }
  process.stdout.write(JSON.stringify(entryReports));
}
await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
process.disconnect();

async function tryEntry(entry: Entry, offset: number): Promise<EntryReport> {
  const startedAt = performance.now();
  const port = publicPorts[offset] ?? 0;
  await attemptAll(entry, publicUrls(port));
  answerCounts.take();
  // The offset gives each entry point a different part of the URLs.
  const sampleUrls = () => urls.filter((_, at) => (at + offset) % entry.oneOf === 0);
  const chosenUrls = isFullRun ? (entry.isCostly ? everySpelling : urls) : sampleUrls();
  const toldBefore = site.told();
  const { told, mishaps } = await attemptAll(entry, chosenUrls);
  const { atPublic, elsewhere } = await requestHits();
  const isMissed = (address: string) => !atPublic.includes(`${address} ${port}`);
  return {
    name: entry.name,
    isNeverCalled: entry.isNeverCalled ?? false,
    tried: chosenUrls.length,
    reached: [...new Set(elsewhere)],
    missed: publicAddresses.filter(isMissed),
    told: told + site.told() - toldBefore,
    mishaps: mishaps.slice(0, 5),
    refusals: answerCounts.take(),
    seconds: Math.round((performance.now() - startedAt) / 1_000),
  };
}

async function attemptAll(
  entry: Entry,
  all: readonly string[],
): Promise<{ told: number; mishaps: string[] }> {
  const queuedUrls = all.toReversed();
  const mishaps: string[] = [];
  let told = 0;
  /**
   * Makes the attempt up to `attemptsMax` times, and returns the last error if all of them fail.
   */
  const attempt = async (url: string): Promise<unknown> => {
    let mishap: unknown;
    for (let attemptNumber = 0; attemptNumber < attemptsMax; attemptNumber += 1) {
      try {
        if ((await entry.attempt(url)) === true) told += 1;
        return undefined;
      } catch (thrown) {
        if (thrown instanceof OpenCircuit && mayFailToConnect(url)) return undefined;
        mishap = thrown;
      }
    }
    return mishap;
  };
  const attemptQueued = async () => {
    for (let url = queuedUrls.pop(); url !== undefined; url = queuedUrls.pop()) {
      const mishap = await attempt(url);
      if (mishap !== undefined) mishaps.push(`${url}: ${String(mishap)}`);
    }
  };
  await Promise.all(Array.from({ length: entry.attemptsAtOnceMax ?? 8 }, attemptQueued));
  return { told, mishaps };
}

/**
 * True for a name that does not resolve and for a spelling of a public address. A connection to
 * such a host may fail, and then the executor pauses calls to the host.
 */
function mayFailToConnect(url: string): boolean {
  const { hostname = '' } = URL.parse(url) ?? {};
  return isIP(hostname.replaceAll(/[[\]]/g, '')) === 0 || publicAddresses.includes(hostname);
}

async function requestHits(): Promise<Hits> {
  // Waits, because the listener may record a connection slightly later than the product opens it.
  await new Promise((resolve) => setTimeout(resolve, 50));
  process.send?.('hits');
  const [answer] = (await once(process, 'message')) as [Hits];
  return answer;
}
