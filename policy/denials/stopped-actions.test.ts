import { expect, test } from 'vitest';

import { deadlineIn } from '#bus';
import type { ServiceRecord } from '#contracts/bus/registry';
import { compilePattern } from '#permission-key';
import { actionOf, paramOf, templateOf } from '../action.testing.ts';
import type { Lookups } from '../deps.ts';
import { searchStoppedActions } from './stopped-actions.ts';

const owner = { orgId: 'org', userId: 'ann' };

/**
 * Twenty services on one host. Each template has a thousand long paths that differ only at their
 * end.
 */
const templates = Array.from({ length: 20 }, (_, at) =>
  templateOf(
    Array.from({ length: 1_000 }, (_, index) =>
      actionOf(`get${index}`, {
        path: `${'/a'.repeat(60)}/{id}/${index}`,
        params: [paramOf('id', 'path')],
      }),
    ),
    { key: `own${at}`, tier: 'user' },
  ),
);
const services = templates.map(({ key, tier, version }): ServiceRecord => ({
  id: key,
  name: key,
  tier: 'user',
  ownerId: owner.userId,
  status: 'ready',
  template: { key, tier, ownerId: owner.userId, version },
  baseUrl: 'https://a.example',
  hosts: ['a.example'],
  secrets: {},
  connection: null,
  autoAllowReads: false,
}));
async function* listPages() {
  yield* services;
}
const getTemplate = async (_orgId: string, { key }: { key: string }) =>
  templates.find((each) => each.key === key)!;
const lookups = {
  getTemplate,
  getUncheckedTemplate: getTemplate,
  findByHost: async () => ({ services, templates: [], isCut: false }),
} as unknown as Lookups;

test('the search for the actions that a deny rule stops lets other requests run in between, whatever templates members wrote', async () => {
  let turns = 0;
  let [longest, total, before] = [0, 0, process.threadCpuUsage()];
  let next: NodeJS.Immediate;
  const takeTurn = () => {
    turns += 1;
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, user + system);
    total += user + system;
    before = process.threadCpuUsage();
    next = setImmediate(takeTurn);
  };
  next = setImmediate(takeTurn);
  const pattern = compilePattern('own19:get7:*', false);
  const { stoppedActions: stops, isCut } = await searchStoppedActions(
    lookups,
    { owner, services: listPages() },
    { pattern, riskAtLeast: null, deadline: deadlineIn(60_000) },
  );
  clearImmediate(next);

  expect(stops.length).toBeGreaterThan(0);
  expect(isCut).toBe(true);
  expect(turns).toBeGreaterThan(30);
  // One turn takes up to a fifth of the computation, including garbage collection. A search that
  // lets nothing else run would take a single turn.
  expect(longest).toBeLessThan(total / 2);
});
