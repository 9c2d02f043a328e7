/** The whole product where every address has a listener. Started by `canaries.testing.ts`; prints one JSON object. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { launch } from '../../../launch.ts';
import { forbiddenUrls, publicAddresses } from '../../../services-src/egress/spellings.testing.ts';
import { createCaller, signIn } from '../../support/http.ts';
import { createAgent } from '../support/world.ts';
import { entriesOf } from './entries.testing.ts';
import type { Entry } from './entries.testing.ts';

export interface EntryReport {
  readonly name: string;
  readonly tried: number;
  /** Addresses that were connected to and must not be. */
  readonly reached: readonly string[];
  /** Connections to public addresses, when it was given all of those. */
  readonly atPublic: number;
}

interface Hits {
  readonly atPublic: number;
  readonly elsewhere: readonly string[];
}

const isEverything = process.env['FORBIDDEN_URLS'] === 'all';
const urls = forbiddenUrls();
const dataDir = await mkdtemp(join(tmpdir(), 'aag-forbidden-'));
{
  await using product = await launch(
    {
      PATH: process.env['PATH'],
      LOG_LEVEL: 'silent',
      PORT: '0',
      ...Object.fromEntries(
        ['SIGN_IN_PER_MINUTE', 'IDENTITY_PER_MINUTE', 'USER_PER_MINUTE'].map((name) => [
          `RATE_${name}`,
          '0',
        ]),
      ),
    },
    { dataDir, durable: false },
  );
  const admin = await signIn(product.firstSignInUrl ?? '');
  const agent = await createAgent(product.url, admin, 'bot');
  const anybody = createCaller(product.url, {});
  const entries = await entriesOf({ admin, agent, anybody });
  const report: EntryReport[] = [];
  for (const [at, entry] of entries.entries()) report.push(await tryEntry(entry, at));
  process.stdout.write(JSON.stringify(report));
}
await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
process.disconnect();

async function tryEntry(entry: Entry, offset: number): Promise<EntryReport> {
  const before = await hits();
  const publicUrls = publicAddresses.map(
    (address) => `https://${address.includes(':') ? `[${address}]` : address}/x`,
  );
  let { atPublic } = before;
  // An upstream that did not answer the entry before is left alone for a while.
  for (let round = 0; round < 10 && atPublic === before.atPublic; round += 1) {
    if (round > 0) await new Promise((resolve) => setTimeout(resolve, 1_000));
    await attemptAll(entry, publicUrls);
    ({ atPublic } = await hits());
  }
  // Another part of them through each entry.
  const chosen = isEverything ? urls : urls.filter((_, at) => (at + offset) % entry.oneOf === 0);
  await attemptAll(entry, chosen);
  const { elsewhere } = await hits();
  return {
    name: entry.name,
    tried: chosen.length,
    reached: [...new Set(elsewhere)],
    atPublic: atPublic - before.atPublic,
  };
}

async function attemptAll(entry: Entry, all: readonly string[]): Promise<void> {
  const queue = all.toReversed();
  const worker = async () => {
    for (let url = queue.pop(); url !== undefined; url = queue.pop())
      await entry.attempt(url).catch(() => {});
  };
  await Promise.all(Array.from({ length: entry.atOnce ?? 8 }, worker));
}

async function hits(): Promise<Hits> {
  // The listener may learn of a connection a little later than its maker.
  await new Promise((resolve) => setTimeout(resolve, 50));
  process.send?.('hits');
  const [answer] = (await once(process, 'message')) as [Hits];
  return answer;
}
