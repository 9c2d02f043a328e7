import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { createClient } from '#bus';
import type { Client } from '#bus';
import { registry } from '#contracts/bus/registry';
import { createRegistryWorld, soon, store } from './world.testing.ts';
import type { Person, RegistryWorld } from './world.testing.ts';

let world: RegistryWorld;
let executor: Client<typeof registry>;
beforeAll(async () => {
  world = await createRegistryWorld();
  executor = createClient(await world.environment.connect('executor'), registry);
});
afterAll(() => world[Symbol.asyncDispose]());

const connect = (by: Person, body: { name: string; tier?: 'org'; secret: string }) => {
  const { name, tier, secret } = body;
  return world.client.createService(
    {
      principal: by.principal,
      body: {
        template: 'github',
        name,
        credentials: { secrets: { token: secret } },
        ...(tier === undefined ? {} : { tier }),
      },
    },
    soon(),
  );
};

test("which services use a secret is told of the org's and the user's own, and with no user of everybody's", async () => {
  const orgId = uuidv7();
  const names = async (references: string[], userId: string | null, org = orgId) => {
    const found = await executor.findSecretUses({ orgId: org, userId, references }, soon());
    return found.services.map(({ name, references: of }) => `${name}: ${of.join()}`);
  };

  const admin = world.person({ role: 'admin', orgId });
  const [ann, bob] = [world.person({ orgId }), world.person({ orgId })];
  const stranger = world.person({ role: 'admin' });
  for (const { userId } of [ann, bob, stranger]) store(world.vault, userId, 'token');
  store(world.vault, orgId, 'org/token');
  await connect(admin, { name: 'shared', tier: 'org', secret: 'token' });
  await connect(ann, { name: 'anns', secret: 'token' });
  await connect(bob, { name: 'bobs', secret: 'token' });
  await connect(bob, { name: 'borrows', secret: 'org/token' });
  await connect(stranger, { name: 'strange', secret: 'token' });

  expect(await names(['token'], ann.userId)).toEqual(['anns: token']);
  expect(await names(['org/token'], ann.userId)).toEqual(['org/shared: org/token']);
  expect(await names(['token', 'org/token', 'other'], null)).toEqual([
    'anns: token',
    'bobs: token',
    'borrows: org/token',
    'org/shared: org/token',
  ]);
  expect(await names(['other'], null)).toEqual([]);
});
