import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { recordToolRequest } from '../toolsets/toolset.sql.ts';
import { bringForwardToolRequest, claimDueService, claimDueServices } from './due-tools.sql.ts';
import { createRegistryWorld } from '../world.testing.ts';
import type { RegistryWorld } from '../world.testing.ts';

let world: RegistryWorld;
beforeAll(async () => {
  world = await createRegistryWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

async function insertService(name: string, toolset: number | null, askedMinutesAgo: number) {
  const [id, orgId] = [uuidv7(), uuidv7()];
  await world.db`
    insert into registry.connected_service
      (id, org_id, tier, owner_id, name, template_key, template_tier, template_version, title,
       base_url, hosts, auto_allow_reads, secrets, created_by, toolset_version, tools_asked_at,
       tools_due_at)
    values (${id}, ${orgId}, 'org', null, ${name}, 'issues', 'global', 1, 'Issues',
            'https://mcp.example.com', '{mcp.example.com}', true, '{}', ${uuidv7()}, ${toolset},
            now() - ${askedMinutesAgo}::integer * interval '1 minute',
            now() + (60 - ${askedMinutesAgo}::integer) * interval '1 minute')
  `;
  return { orgId, serviceId: id };
}

const minutesUntilDue = (row: { orgId: string; serviceId: string }) =>
  world.db<{ minutes: number }[]>`
    select round(extract(epoch from tools_due_at - tools_asked_at) / 60)::integer as minutes
      from registry.connected_service
     where org_id = ${row.orgId}
       and id = ${row.serviceId}
  `.then(([found]) => found?.minutes);

test('exactly one replica claims an MCP server for a new listing of its tools, an hour after the last listing, in any org', async () => {
  const dueService = await insertService('due', 3, 120);
  await insertService('fresh', 1, 0);
  await insertService('http', null, 120);
  const claimDue = () => claimDueServices(world.db, { limit: 5 });

  const claimedServices = (await Promise.all([claimDue(), claimDue(), claimDue()])).flat();

  expect(claimedServices).toMatchObject([
    {
      id: dueService.serviceId,
      template: { toolset: { serviceId: dueService.serviceId, version: 3 } },
    },
  ]);
  await recordToolRequest(world.db, { ...dueService, error: 'upstream_timeout' });
  expect(await claimDue()).toEqual([]);
  expect(await minutesUntilDue(dueService)).toBe(60);
});

test('the tools of an MCP server are listed again after five minutes if its service is used, and after ten seconds if it reports a change', async () => {
  const [justAsked, inUse] = [
    await insertService('just_asked', 1, 1),
    await insertService('in_use', 1, 6),
  ];
  const claimDue = (service: typeof inUse) => claimDueService(world.db, service);

  await bringForwardToolRequest(world.db, { ...inUse, isTold: false });
  const claimResults = await Promise.all([claimDue(inUse), claimDue(inUse)]);
  expect(claimResults.filter((service) => service !== undefined)).toHaveLength(1);

  await bringForwardToolRequest(world.db, { ...justAsked, isTold: false });
  expect(await claimDue(justAsked)).toBeUndefined();
  await bringForwardToolRequest(world.db, { ...justAsked, isTold: true });
  expect(await claimDue(justAsked)).toMatchObject({ id: justAsked.serviceId });
  // After another reported change the server is due again ten seconds after the last request.
  await bringForwardToolRequest(world.db, { ...justAsked, isTold: true });
  expect(await claimDue(justAsked)).toBeUndefined();
  expect(await minutesUntilDue(justAsked)).toBe(0);
  // A use of the service does not postpone the next request.
  await bringForwardToolRequest(world.db, { ...justAsked, isTold: false });
  expect(await minutesUntilDue(justAsked)).toBe(0);
});

test('the MCP server of a disabled service, or of a service of another org, is not claimed', async () => {
  const service = await insertService('out_of_use', 1, 30);
  const serviceOfOtherOrg = { ...service, orgId: uuidv7() };
  await bringForwardToolRequest(world.db, { ...serviceOfOtherOrg, isTold: true });
  expect(await minutesUntilDue(service)).toBe(60);
  await bringForwardToolRequest(world.db, { ...service, isTold: true });
  expect(await claimDueService(world.db, serviceOfOtherOrg)).toBeUndefined();
  await world.db`
    update registry.connected_service
       set is_disabled = true
     where org_id = ${service.orgId}
       and id = ${service.serviceId}
  `;
  expect(await claimDueService(world.db, service)).toBeUndefined();
});
