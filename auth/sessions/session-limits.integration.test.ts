import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createAuthWorld, context, testDeadline } from '../world.testing.ts';
import type { AuthWorld, Person } from '../world.testing.ts';

const minute = 60;
const day = 86_400;

let world: AuthWorld;
beforeAll(async () => {
  world = await createAuthWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const setIdleSeconds = async (admin: Person, seconds: number) => {
  const { principal } = await world.renew(admin);
  return world.client.changeOrg(
    { principal, body: { session_idle_seconds: seconds }, context },
    testDeadline(),
  );
};
const authenticate = ({ token }: Person) =>
  world.client.authenticate({ kind: 'session', token }, testDeadline());

/** Sets when a person's session was opened and last used, in seconds before now. */
const age = ({ id }: Person, { opened = 0, used }: { opened?: number; used: number }) => world.db`
  update auth.session
     set created_at = now() - make_interval(secs => ${opened}),
         last_used_at = now() - make_interval(secs => ${used})
   where identity_id = ${id}
`;
/** Drops the credentials that auth has cached, as any change does. */
const dropCache = (admin: Person) => setIdleSeconds(admin, 12 * 3_600);

async function createOrg() {
  const admin = await world.user({ name: 'root', role: 'admin' });
  return { admin, ann: await world.user({ name: 'ann', role: 'member', orgId: admin.orgId }) };
}

describe('the idle time after which a session ends', () => {
  test('is twelve hours by default, and an org may set it from five minutes to thirty days', async () => {
    const { admin } = await createOrg();
    const { principal } = admin;

    const org = await world.client.getOrg({ principal }, testDeadline());
    expect(org).toMatchObject({ session_idle_seconds: 43_200 });
    for (const seconds of [5 * minute, 30 * day]) {
      expect(await setIdleSeconds(admin, seconds)).toMatchObject({ session_idle_seconds: seconds });
    }
    for (const seconds of [0, 5 * minute - 1, 30 * day + 1, 600.5]) {
      await expect(setIdleSeconds(admin, seconds)).rejects.toMatchObject({
        code: 'invalid_request',
      });
    }
  });

  test('also applies to sessions that are already open', async () => {
    const { admin, ann } = await createOrg();

    await age(ann, { used: 10 * minute });
    await dropCache(admin);
    await authenticate(ann);
    await setIdleSeconds(admin, 5 * minute);
    await age(ann, { used: 6 * minute });
    await expect(authenticate(ann)).rejects.toMatchObject({ code: 'unauthenticated' });
    await setIdleSeconds(admin, 2 * day);
    await age(ann, { opened: 3 * day, used: day });
    await authenticate(ann);
  });

  test('does not affect the sessions of other orgs', async () => {
    const [first, second] = [await createOrg(), await createOrg()];
    await setIdleSeconds(first.admin, 5 * minute);
    await Promise.all([first, second].map(({ ann }) => age(ann, { used: 6 * minute })));

    await expect(authenticate(first.ann)).rejects.toMatchObject({ code: 'unauthenticated' });
    await authenticate(second.ann);
  });

  test('is shown in the list of sessions', async () => {
    const { admin } = await createOrg();
    await setIdleSeconds(admin, 5 * minute);
    const { principal } = await world.renew(admin);

    const { items } = await world.client.listSessions(
      { principal, page: { limit: 50, cursor: null } },
      testDeadline(),
    );

    const idleMs = items.map(
      ({ expires_at: end, last_used_at: used }) => Date.parse(end) - Date.parse(used),
    );
    expect(idleMs).toEqual([5 * minute * 1_000]);
  });
});

describe('a session in use', () => {
  test('ends after seven days, or after three times the idle time if that is longer', async () => {
    const { admin, ann } = await createOrg();

    await age(ann, { opened: 7 * day + 1, used: 1 });
    await dropCache(admin);
    await expect(authenticate(ann)).rejects.toMatchObject({ code: 'unauthenticated' });

    await setIdleSeconds(admin, 30 * day);
    await world.db`
      update auth.session set expires_at = now() + interval '1 day' where identity_id = ${ann.id}
    `;
    await age(ann, { opened: 89 * day, used: 29 * day });
    await authenticate(ann);
    await age(ann, { opened: 90 * day + 1, used: 1 });
    await dropCache(admin);
    await expect(authenticate(ann)).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  test('ends at the time that was set when it was opened, even if the org allows more now', async () => {
    const { admin, ann } = await createOrg();
    const [before] = await world.db<{ days: number }[]>`
      select extract(epoch from expires_at - created_at)::float8 / 86400 as days
        from auth.session where identity_id = ${ann.id}
    `;
    await setIdleSeconds(admin, 30 * day);
    const bob = await world.user({ name: 'bob', role: 'member', orgId: admin.orgId });
    const [after] = await world.db<{ days: number }[]>`
      select extract(epoch from expires_at - created_at)::float8 / 86400 as days
        from auth.session where identity_id = ${bob.id}
    `;

    expect([before?.days, after?.days].map((days) => Math.round(days ?? 0))).toEqual([7, 90]);
  });
});
