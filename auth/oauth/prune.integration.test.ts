import { afterAll, beforeAll, expect, test } from 'vitest';

import { createLogger } from '#telemetry';
import { startOauthWorld } from '../../test/support/oauth-world.ts';
import type { OauthWorld } from '../../test/support/oauth-world.ts';
import { pruneEndedRows } from '../prune.ts';

let world: OauthWorld;
beforeAll(async () => {
  world = await startOauthWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const logger = createLogger({ component: 'auth', level: 'silent' });
const makeClientOlder = (clientId: string, days: number) => world.db`
  update auth.oauth_client
     set created_at = created_at - make_interval(days => ${days}),
         last_authorized_at = last_authorized_at - make_interval(days => ${days})
   where id = ${clientId}`;
const isKnown = async (clientId: string) =>
  (await world.db`select from auth.oauth_client where id = ${clientId}`).length === 1;

test('pruning deletes clients that nobody authorized within a day, and clients that nobody used for 90 days', async () => {
  const person = await world.person();
  const [fresh, neverAuthorized, used, revoked] = await Promise.all(
    Array.from({ length: 4 }, () => world.register()),
  );
  const live = await world.signInClient(person, { clientId: used ?? '' });
  await world.signInClient(person, { clientId: revoked ?? '' });
  await world.db`
    insert into auth.oauth_client_revocation (org_id, client_id, revoked_by)
    values (${person.orgId}, ${revoked ?? ''}, ${person.id})`;
  await makeClientOlder(neverAuthorized ?? '', 2);
  for (const clientId of [used, revoked, 'action-gateway-cli'])
    await makeClientOlder(clientId ?? '', 91);

  await pruneEndedRows(world, logger);
  expect(await isKnown(fresh ?? '')).toBe(true);
  expect(await isKnown(neverAuthorized ?? '')).toBe(false);
  // The refresh token of this client is still valid, so the client is treated as used.
  expect(await isKnown(live.clientId)).toBe(true);

  await world.db`update auth.oauth_token set expires_at = now() - interval '2 hours'`;
  await pruneEndedRows(world, logger);
  expect(await isKnown(live.clientId)).toBe(false);
  // The revoked client is kept: without its row, it could return under the same id.
  expect(await isKnown(revoked ?? '')).toBe(true);
  expect(await isKnown('action-gateway-cli')).toBe(true);
});

test('pruning deletes expired tokens and grants, and keeps grants with a valid refresh token', async () => {
  const person = await world.person();
  const chain = await world.signInClient(person);
  await world.db`update auth.oauth_grant set created_at = now() - interval '100 days'`;
  await pruneEndedRows(world, logger);
  const refreshed = await world.post('/oauth/token', {
    grant_type: 'refresh_token',
    client_id: chain.clientId,
    refresh_token: chain.refresh_token,
  });
  expect(refreshed.status).toBe(200);

  await world.db`update auth.oauth_token set expires_at = now() - interval '2 hours'`;
  await world.db`update auth.oauth_grant set created_at = now() - interval '2 days'`;
  await pruneEndedRows(world, logger);
  expect(await world.db`select from auth.oauth_token`).toHaveLength(0);
  expect(await world.db`select from auth.oauth_grant`).toHaveLength(0);
});
