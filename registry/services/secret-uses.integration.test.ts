import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { createClient } from '#bus';
import type { Client } from '#bus';
import { registry } from '#contracts/bus/registry';
import { createRegistryWorld, testDeadline, storeSecret } from '../world.testing.ts';
import type { Person, RegistryWorld } from '../world.testing.ts';

let world: RegistryWorld;
let executorClient: Client<typeof registry>;
beforeAll(async () => {
  world = await createRegistryWorld();
  executorClient = createClient(await world.environment.connect('executor'), registry);
});
afterAll(() => world[Symbol.asyncDispose]());

const connectService = (by: Person, body: { name: string; tier?: 'org'; secret: string }) => {
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
    testDeadline(),
  );
};

test('findSecretUses finds the services of a user that use a secret, or when no user is given those of the whole org', async () => {
  const orgId = uuidv7();
  const listServiceNames = async (
    references: string[],
    userId: string | null,
    searchedOrgId = orgId,
  ) => {
    const foundUses = await executorClient.findSecretUses(
      { orgId: searchedOrgId, userId, references },
      testDeadline(),
    );
    return foundUses.services.map(({ name, references: of }) => `${name}: ${of.join()}`);
  };

  const admin = world.person({ role: 'admin', orgId });
  const [ann, bob] = [world.person({ orgId }), world.person({ orgId })];
  const stranger = world.person({ role: 'admin' });
  for (const { userId } of [ann, bob, stranger]) storeSecret(world.vault, userId, 'token');
  storeSecret(world.vault, orgId, 'org/token');
  await connectService(admin, { name: 'shared', tier: 'org', secret: 'token' });
  await connectService(ann, { name: 'anns', secret: 'token' });
  await connectService(bob, { name: 'bobs', secret: 'token' });
  await connectService(bob, { name: 'borrows', secret: 'org/token' });
  await connectService(stranger, { name: 'strange', secret: 'token' });

  expect(await listServiceNames(['token'], ann.userId)).toEqual(['anns: token']);
  expect(await listServiceNames(['org/token'], ann.userId)).toEqual(['org/shared: org/token']);
  expect(await listServiceNames(['token', 'org/token', 'other'], null)).toEqual([
    'anns: token',
    'bobs: token',
    'borrows: org/token',
    'org/shared: org/token',
  ]);
  expect(await listServiceNames(['other'], null)).toEqual([]);
});
