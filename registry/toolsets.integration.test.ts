import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';

import {
  bringForward,
  claimDueService,
  claimDueServices,
  noteAsked,
} from './repository/toolset.ts';
import { createRegistryWorld } from './world.testing.ts';
import type { RegistryWorld } from './world.testing.ts';

let world: RegistryWorld;
beforeAll(async () => {
  world = await createRegistryWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

async function insert(name: string, toolset: number | null, askedMinutesAgo: number) {
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

const minutes = (row: { orgId: string; serviceId: string }) =>
  world.db<{ minutes: number }[]>`
    select round(extract(epoch from tools_due_at - tools_asked_at) / 60)::integer as minutes
      from registry.connected_service
     where org_id = ${row.orgId}
       and id = ${row.serviceId}
  `.then(([found]) => found?.minutes);

test('a server is asked again after an hour, by one replica, whatever org it is of', async () => {
  const due = await insert('due', 3, 120);
  await insert('fresh', 1, 0);
  await insert('http', null, 120);
  const claim = () => claimDueServices(world.db, { limit: 5 });

  const claimed = (await Promise.all([claim(), claim(), claim()])).flat();

  expect(claimed).toMatchObject([
    { id: due.serviceId, template: { toolset: { serviceId: due.serviceId, version: 3 } } },
  ]);
  await noteAsked(world.db, { ...due, error: 'upstream_timeout' });
  expect(await claim()).toEqual([]);
  expect(await minutes(due)).toBe(60);
});

test('a server in use is asked after five minutes, and one that tells of a change at once, but not all the time', async () => {
  const [justAsked, inUse] = [await insert('just_asked', 1, 1), await insert('in_use', 1, 6)];
  const claim = (service: typeof inUse) => claimDueService(world.db, service);

  await bringForward(world.db, { ...inUse, isTold: false });
  const taken = await Promise.all([claim(inUse), claim(inUse)]);
  expect(taken.filter((service) => service !== undefined)).toHaveLength(1);

  await bringForward(world.db, { ...justAsked, isTold: false });
  expect(await claim(justAsked)).toBeUndefined();
  await bringForward(world.db, { ...justAsked, isTold: true });
  expect(await claim(justAsked)).toMatchObject({ id: justAsked.serviceId });
  // Told while it is being asked: it is asked once more, by whoever looks next.
  await bringForward(world.db, { ...justAsked, isTold: true });
  expect(await claim(justAsked)).toBeUndefined();
  expect(await minutes(justAsked)).toBe(0);
  // Its use does not put that off.
  await bringForward(world.db, { ...justAsked, isTold: false });
  expect(await minutes(justAsked)).toBe(0);
});

test('nothing is asked of a service that is out of use, or of another org', async () => {
  const service = await insert('out_of_use', 1, 30);
  const stranger = { ...service, orgId: uuidv7() };
  await bringForward(world.db, { ...stranger, isTold: true });
  expect(await minutes(service)).toBe(60);
  await bringForward(world.db, { ...service, isTold: true });
  expect(await claimDueService(world.db, stranger)).toBeUndefined();
  await world.db`
    update registry.connected_service
       set is_disabled = true
     where org_id = ${service.orgId}
       and id = ${service.serviceId}
  `;
  expect(await claimDueService(world.db, service)).toBeUndefined();
});
