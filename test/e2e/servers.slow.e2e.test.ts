import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import { listAll } from './kill/client.ts';
import { fillDisk, startWalSegment } from './servers/disk.ts';
import { createActors, findBreaches, pidOf, startLoad } from './servers/load.ts';
import type { Actors, AnsweredCall } from './servers/load.ts';
import { needs, withOwnDisk } from '../support/needs.ts';
import { adminUrlOf, endProcessesOf, processesOf, startProgram } from '../support/program.ts';
import { startUpstream } from '../support/upstream.ts';
import type { Upstream } from '../support/upstream.ts';
import { pollUntil } from '../support/world.ts';

/** The settings of `npm start` for a client that makes calls as fast as it can. */
const settingsFor = (upstream: Upstream) => ({
  EGRESS_ALLOW: upstream.host,
  RATE_IDENTITY_PER_MINUTE: '0',
  RATE_USER_PER_MINUTE: '0',
});

async function openDataDir(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'aag-servers-'));
  onTestFinished(async () => {
    await endProcessesOf(dataDir);
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });
  return dataDir;
}

/** Waits until a read and a write that began after this moment have succeeded. */
async function untilCallsWork(answeredCalls: readonly AnsweredCall[]): Promise<void> {
  const startedAt = performance.now();
  const hasSucceeded = (wantedKind: AnsweredCall['kind']) =>
    answeredCalls.some(
      ({ kind, outcome, endedAt, tookMs }) =>
        kind === wantedKind && outcome === 'called' && endedAt - tookMs > startedAt,
    );
  await pollUntil(() => hasSucceeded('read') && hasSucceeded('write'), 'calls that work');
}

/**
 * Checks promises 1, 4, 6 and 7 of docs/reference/reliability.md#promises by the upstream's log,
 * the answers that the callers got, and the audit log.
 */
async function expectPromisesKept(
  { admin }: Actors,
  { answeredCalls, upstream }: { answeredCalls: readonly AnsweredCall[]; upstream: Upstream },
): Promise<void> {
  expect(findBreaches(answeredCalls, upstream)).toEqual([]);
  const answeredWithResult = answeredCalls.filter(({ outcome }) => outcome === 'called');
  let unrecordedCalls: AnsweredCall[] = answeredWithResult;
  await pollUntil(async () => {
    const rows = await listAll(admin, '/v1/audit').catch((error: Error) => {
      // A component may take up to 30 s to find its servers again.
      if (error.message.includes('"unavailable"')) return [];
      throw error;
    });
    const recordedIds = new Set(rows.map((row) => row.call_id));
    unrecordedCalls = answeredWithResult.filter(({ auditId }) => !recordedIds.has(auditId));
    return unrecordedCalls.length === 0;
  }, 'the audit rows');
  await expect
    .poll(async () => (await admin.get('/v1/audit/verify')).body)
    .toMatchObject({ valid: true });
}

test('npm start starts a killed Postgres and a killed NATS again, loses no answered call, and sends no call twice', async () => {
  const dataDir = await openDataDir();
  using upstream = await startUpstream();
  await using program = startProgram(dataDir, settingsFor(upstream));
  const actors = await createActors(program, upstream);
  let answeredCalls: readonly AnsweredCall[];
  {
    await using load = startLoad(actors);
    answeredCalls = load.answeredCalls;
    for (const server of ['nats', 'postgres'] as const) {
      await untilCallsWork(answeredCalls);
      const pid = await pidOf(dataDir, server);
      process.kill(pid, 'SIGKILL');
      await pollUntil(
        async () => ![pid, Number.NaN].includes(await pidOf(dataDir, server).catch(() => pid)),
        `the next ${server}`,
      );
    }
    await untilCallsWork(answeredCalls);
  }
  await expectPromisesKept(actors, { answeredCalls, upstream });

  program.kill('SIGTERM');
  expect((await program.ended).code).toBe(0);
  expect(await processesOf(dataDir)).toEqual([]);
});

// `npm test` does not run a sample of this test, because the test needs a machine that may mount a
// disk.
const diskFullSeconds = Number(process.env['DISK_FULL_SECONDS'] ?? 0);
const disk = needs('a disk of its own');

test.runIf(disk.isAvailable).for(diskFullSeconds > 0 ? [diskFullSeconds] : [])(
  `npm start works within 30 s after its disk, which was full for %i s, was freed, and reports no unsent call as possibly sent${disk.note}`,
  { timeout: 180_000 + diskFullSeconds * 1_000 },
  async (seconds) => {
    const folder = await openDataDir();
    const commandWithSmallDisk = withOwnDisk(folder, { mebibytes: 260 });
    using upstream = await startUpstream();
    await using program = startProgram(
      join(folder, 'data'),
      settingsFor(upstream),
      commandWithSmallDisk,
    );
    const actors = await createActors(program, upstream);
    const folderFromOutside = join('/proc', String(program.pid), 'root', folder);
    let answeredCalls: readonly AnsweredCall[];
    {
      await using load = startLoad(actors);
      answeredCalls = load.answeredCalls;
      await untilCallsWork(answeredCalls);
      const adminUrl = await adminUrlOf(join(folderFromOutside, 'data'));
      const endsAt = performance.now() + seconds * 1_000;
      while (performance.now() < endsAt) {
        await fillDisk(join(folderFromOutside, 'ballast'));
        // A new segment of the write-ahead log does not fit on the disk, so Postgres ends again and
        // again.
        await startWalSegment(adminUrl).catch(() => undefined);
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
      await rm(join(folderFromOutside, 'ballast'));
      const freedAt = performance.now();
      await untilCallsWork(answeredCalls);
      expect(performance.now() - freedAt).toBeLessThan(30_000);
    }
    await expectPromisesKept(actors, { answeredCalls, upstream });
    const arrivedUrls = new Set(upstream.hits.map(({ url }) => url));
    const unknownWithoutArrival = answeredCalls.filter(
      ({ outcome, number }) =>
        outcome === 'outcome_unknown' && !arrivedUrls.has(`/writes/${number}`),
    );
    expect(unknownWithoutArrival).toEqual([]);

    program.kill('SIGTERM');
    expect((await program.ended).code).toBe(0);
    expect(await processesOf(folder)).toEqual([]);
  },
);
