import { afterAll, beforeAll, expect, test } from 'vitest';

import { createLogger } from '#telemetry';
import { startOauthWorld } from '../../test/support/oauth-world.ts';
import type { OauthWorld } from '../../test/support/oauth-world.ts';
import { prune } from '../usecases/prune.ts';

let world: OauthWorld;
beforeAll(async () => {
  world = await startOauthWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const logger = createLogger({ component: 'auth', level: 'silent' });
const age = (clientId: string, days: number) => world.db`
  update auth.oauth_client
     set created_at = created_at - make_interval(days => ${days}),
         last_authorized_at = last_authorized_at - make_interval(days => ${days})
   where id = ${clientId}`;
const isKnown = async (clientId: string) =>
  (await world.db`select from auth.oauth_client where id = ${clientId}`).length === 1;

test('clients go when nobody let them in within a day, or nobody has used them for 90 days', async () => {
  const person = await world.person();
  const [fresh, neverLetIn, used, shutOut] = await Promise.all(
    Array.from({ length: 4 }, () => world.register()),
  );
  const live = await world.signInClient(person, { clientId: used ?? '' });
  await world.signInClient(person, { clientId: shutOut ?? '' });
  await world.db`
    insert into auth.oauth_client_revocation (org_id, client_id, revoked_by)
    values (${person.orgId}, ${shutOut ?? ''}, ${person.id})`;
  await age(neverLetIn ?? '', 2);
  for (const clientId of [used, shutOut, 'action-gateway-cli']) await age(clientId ?? '', 91);

  await prune(world, logger);
  expect(await isKnown(fresh ?? '')).toBe(true);
  expect(await isKnown(neverLetIn ?? '')).toBe(false);
  // Somebody may still refresh: it is used.
  expect(await isKnown(live.clientId)).toBe(true);

  await world.db`update auth.oauth_token set expires_at = now() - interval '2 hours'`;
  await prune(world, logger);
  expect(await isKnown(live.clientId)).toBe(false);
  // Or its metadata document could come back as if nothing had been decided.
  expect(await isKnown(shutOut ?? '')).toBe(true);
  expect(await isKnown('action-gateway-cli')).toBe(true);
});

test('what has expired goes, and what a live chain needs stays', async () => {
  const person = await world.person();
  const chain = await world.signInClient(person);
  await world.db`update auth.oauth_grant set created_at = now() - interval '100 days'`;
  await prune(world, logger);
  const refreshed = await world.post('/oauth/token', {
    grant_type: 'refresh_token',
    client_id: chain.clientId,
    refresh_token: chain.refresh_token,
  });
  expect(refreshed.status).toBe(200);

  await world.db`update auth.oauth_token set expires_at = now() - interval '2 hours'`;
  await world.db`update auth.oauth_grant set created_at = now() - interval '2 days'`;
  await prune(world, logger);
  expect(await world.db`select from auth.oauth_token`).toHaveLength(0);
  expect(await world.db`select from auth.oauth_grant`).toHaveLength(0);
});
