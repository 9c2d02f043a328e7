import { createOrg, createPerson } from '../support/people.ts';
import type { Query } from '../support/database.ts';
import { createAgent } from '../support/world.ts';
import { connectUpstream } from './gateway.ts';
import type { Target } from './measure.ts';

const orgsCount = 100;
const agentsPerOrg = 10;
/**
 * So many orgs are created at the same time: enough to keep the machine busy, and few enough for
 * the limits of one client address.
 */
const orgsAtOnce = 4;

/**
 * Creates 1,000 agents of 100 orgs; each org has its own service and secret. Returns one read call
 * for each agent. The calls are in such an order that neighbouring calls belong to different orgs.
 */
export async function createReaders(
  query: Query,
  { url, upstreamUrl }: { url: string; upstreamUrl: string },
): Promise<Target[]> {
  const targetsOfOrgs: Target[][] = [];
  let orgsLeft = orgsCount;
  const createOrgs = async () => {
    while (orgsLeft > 0) {
      orgsLeft -= 1;
      targetsOfOrgs.push(await createOrgWithReaders(query, { url, upstreamUrl }));
    }
  };
  await Promise.all(Array.from({ length: orgsAtOnce }, createOrgs));
  return Array.from({ length: agentsPerOrg }, (_, at) =>
    targetsOfOrgs.flatMap((targets) => targets[at] ?? []),
  ).flat();
}

async function createOrgWithReaders(
  query: Query,
  { url, upstreamUrl }: { url: string; upstreamUrl: string },
): Promise<Target[]> {
  const orgId = await createOrg(query);
  const admin = await createPerson(query, url, { orgId, name: 'admin', role: 'admin' });
  await connectUpstream(admin, upstreamUrl);
  const targets: Target[] = [];
  for (let at = 0; at < agentsPerOrg; at += 1) {
    const { key } = await createAgent(url, admin, `agent-${at}`);
    targets.push({
      url: `${url}/v1/actions/call`,
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ service: 'bench', action: 'get_item', params: { id: '42' } }),
    });
  }
  return targets;
}
