import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { claimUnaskedServices, noteAsked } from './repository/toolset.ts';
import { createRegistryWorld } from './world.testing.ts';
import type { RegistryWorld } from './world.testing.ts';

let world: RegistryWorld;
beforeAll(async () => {
  world = await createRegistryWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const hour = 60 * 60_000;

async function insert(name: string, toolset: number | null, askedHoursAgo: number) {
  const [id, orgId] = [uuidv7(), uuidv7()];
  await world.db`
    insert into registry.connected_service
      (id, org_id, tier, owner_id, name, template_key, template_tier, template_version, title,
       base_url, hosts, auto_allow_reads, secrets, created_by, toolset_version, tools_asked_at)
    values (${id}, ${orgId}, 'org', null, ${name}, 'issues', 'global', 1, 'Issues',
            'https://mcp.example.com', '{mcp.example.com}', true, '{}', ${uuidv7()}, ${toolset},
            now() - ${askedHoursAgo}::integer * interval '1 hour')
  `;
  return { orgId, serviceId: id };
}

test('a server is asked again after an hour, by one replica, whatever org it is of', async () => {
  const due = await insert('due', 3, 2);
  await insert('fresh', 1, 0);
  await insert('http', null, 2);
  const claim = () => claimUnaskedServices(world.db, { olderThanMs: hour, limit: 5 });

  const claimed = (await Promise.all([claim(), claim(), claim()])).flat();

  expect(claimed).toMatchObject([
    { id: due.serviceId, template: { toolset: { serviceId: due.serviceId, version: 3 } } },
  ]);
  await noteAsked(world.db, { ...due, error: 'upstream_timeout' });
  expect(await claim()).toEqual([]);
});
