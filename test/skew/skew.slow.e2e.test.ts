import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { thisRelease } from '../support/deployment.ts';
import type { Release } from '../support/deployment.ts';
import { chooseSweepValue } from '../support/sweeps.ts';
import { pollUntil } from '../support/world.ts';
import { makeNextRelease, nextLogLines, nextSetting } from './next-release.ts';
import { checkOutBaseline, findBaseline } from './release.ts';
import { runSideBySide } from './run.ts';
import type { Outcome, Running } from './run.ts';

const timeoutMs = 3_600_000;
/** Shorter than the time limits of the requests in the load. */
const slowMs = 1_900;
const mixedApprovalCount = chooseSweepValue({ sampled: 30, whole: 400 });

async function createTemporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'aag-release-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

function printOutcome(what: string, { approvals, directCalls, auditRows }: Outcome): void {
  process.stdout.write(
    `${what}: ${approvals} approvals, ${directCalls} direct calls, ${auditRows} records of approvals\n`,
  );
}

/**
 * Replicas of both releases for each component. Each request goes to a randomly chosen replica.
 * Policy has two replicas of the later release, so that a request with a critical member reaches a
 * replica that knows the member often enough.
 */
const replicasOfBoth =
  (earlier: Release, later: Release) =>
  (component: Component): readonly Release[] =>
    component === 'policy' ? [earlier, later, later] : [earlier, later];

/**
 * Resolves when each change of the next release has had an effect. This may take a while, because
 * the replica for each request is chosen randomly.
 */
const untilAllEffects = ({ readTraces }: Running, lines: readonly string[]): Promise<void> =>
  pollUntil(async () => {
    const { eventTypes, recordsWithRegion: regions, logs } = await readTraces();
    const logOfNext = logs[1] ?? '';
    return (
      eventTypes.includes('service.listed') &&
      regions > 0 &&
      lines.every((line) => logOfNext.includes(line))
    );
  }, 'an effect of each change of the next release');

const runMixedReleases = (earlier: Release, next: Release): Promise<Outcome> =>
  runSideBySide({
    firstRelease: next,
    releases: [earlier, next],
    replicasOf: replicasOfBoth(earlier, next),
    slowMs,
    async runUnderLoad(running) {
      await running.untilDecided(mixedApprovalCount);
      await untilAllEffects(running, Object.values(nextLogLines));
    },
  });

/**
 * While the load runs: first replaces the replicas of each single component by the later release
 * and back again, and then upgrades all components. After that, does the same in the other
 * direction, until all components run the earlier release.
 */
async function rollReleases(
  earlier: Release,
  later: Release,
  waitUntilUpgraded: (running: Running) => Promise<void> = async () => undefined,
): Promise<Outcome> {
  return runSideBySide({
    firstRelease: earlier,
    releases: [earlier, later],
    replicasOf: () => [earlier, earlier],
    slowMs: Number.POSITIVE_INFINITY,
    async runUnderLoad(running) {
      const { deployment, servers, untilDecided } = running;
      for (const release of [later, earlier, later, earlier, later]) {
        await untilDecided(5);
        await servers.reload(release);
      }
      await servers.migrate(later);
      for (const [current, replacement] of [
        [earlier, later],
        [later, earlier],
      ] as const) {
        for (const component of components) {
          await deployment.replace(component, replacement);
          await untilDecided(20);
          await deployment.replace(component, current);
        }
        for (const component of components) await deployment.replace(component, replacement);
        await untilDecided(20);
        if (replacement === later) await waitUntilUpgraded(running);
      }
    },
  });
}

const baseline = await findBaseline();
const noReleaseReason = 'there is no release yet (test/skew/baseline)';

const checkOutLast = async (): Promise<Release> =>
  baseline === undefined ? thisRelease : checkOutBaseline(baseline, await createTemporaryFolder());

async function runBesideNextRelease(earlier: Release): Promise<void> {
  const next = await makeNextRelease(await createTemporaryFolder());
  const outcome = await runMixedReleases(earlier, { ...next, settings: nextSetting });
  printOutcome(`the release ${earlier.name} beside the next one`, outcome);

  expect(outcome.breaches).toEqual([]);
}

async function upgradeAndBack(...releases: Parameters<typeof rollReleases>): Promise<void> {
  const outcome = await rollReleases(...releases);
  const [earlier, later] = releases;
  printOutcome(`the release ${earlier.name} to ${later.name} and back`, outcome);
  expect(outcome.breaches).toEqual([]);
}

async function upgradeToNextReleaseAndBack(): Promise<void> {
  const next = await makeNextRelease(await createTemporaryFolder());
  // A greeting succeeds only after NATS has the permissions of the next release.
  const { greeted, located } = nextLogLines;
  await upgradeAndBack(thisRelease, next, (running) =>
    untilAllEffects(running, [greeted, located]),
  );
}

const sampledTests = [
  [
    baseline === undefined
      ? `replicas of this tree and of a made-up next release work side by side: ${noReleaseReason}`
      : 'replicas of the last release and of a made-up next one work side by side',
    async () => runBesideNextRelease(await checkOutLast()),
  ],
] as const;
const allTests = [
  [
    'replicas of this tree and of a made-up next release work side by side',
    () => runBesideNextRelease(thisRelease),
  ],
  [
    'this tree is upgraded to a made-up next release and back under load',
    upgradeToNextReleaseAndBack,
  ],
  ...(baseline === undefined
    ? []
    : [
        [
          'the last release is upgraded to this tree and back under load',
          async () => upgradeAndBack(await checkOutLast(), thisRelease),
        ] as const,
      ]),
] as const;

test.for(
  chooseSweepValue<readonly (readonly [string, () => Promise<void>])[]>({
    sampled: sampledTests,
    whole: allTests,
  }),
)('%s', { timeout: timeoutMs }, ([, check]) => check());
