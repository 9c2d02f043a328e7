import { afterAll, beforeAll, expect, test } from 'vitest';

import { createAgent, successfulBodyOf, startWorld } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';
import { wholeTimeoutMs } from '../../scripts/whole-sweeps.ts';
import { startFleet } from './rolling/fleet.testing.ts';
import type { Fleet } from './rolling/fleet.testing.ts';
import { sendLoad } from './rolling/load.testing.ts';

/**
 * The number of requests during which replicas are restarted; `npm run test:rolling` sets it.
 * Without this number, one replica of each component is restarted once.
 */
const requestsMin = Number(process.env['ROLLING_CALLS'] ?? 0);

let world: World;
let fleet: Fleet;
let agent: Agent;
beforeAll(async () => {
  world = await startWorld({}, async (environment) => (fleet = await startFleet(environment)));
  const { admin, upstream, url } = world;
  agent = await createAgent(url, admin, 'bot');
  for (const method of ['GET', 'POST']) {
    const pattern = `http:${method}:${upstream.host}/**`;
    successfulBodyOf(
      await admin.post('/v1/rules', { identity_id: agent.id, effect: 'allow', pattern }),
    );
  }
});
afterAll(() => world[Symbol.asyncDispose]());

test(
  'no request fails while the replicas of every component are restarted one after the other',
  { timeout: wholeTimeoutMs },
  async () => {
    const rolledReplicas = fleet.replicas.slice(0, requestsMin > 0 ? 2 : 1).flat();
    let hasRolled = false;
    // The restarts may be over before a busy machine has answered this many requests.
    const wantedRequests = requestsMin > 0 ? requestsMin : 500;
    const loadResult = sendLoad(world, agent, {
      pauseMs: requestsMin > 0 ? 0 : 50,
      isOver: ({ succeeded, failures }) =>
        failures.size > 20 || (hasRolled && succeeded >= wantedRequests),
    });
    let hasLoadEnded = false;
    void loadResult.then(() => (hasLoadEnded = true));
    do {
      for (const replica of rolledReplicas) if (!hasLoadEnded) await replica.restart();
      hasRolled = true;
    } while (!hasLoadEnded && requestsMin > 0);
    const { succeeded, failures } = await loadResult;
    process.stderr.write(`${succeeded} requests succeeded during the restarts\n`);

    expect(Object.fromEntries(failures)).toEqual({});
    expect(fleet.crashes).toEqual([]);
    expect(succeeded).toBeGreaterThanOrEqual(wantedRequests);
  },
);
