import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createAuthWorld, context, testDeadline } from '../world.testing.ts';
import type { AuthWorld, Person } from '../world.testing.ts';

let world: AuthWorld;
beforeAll(async () => {
  world = await createAuthWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const profileOf = ({ principal }: Person) => world.client.getProfile({ principal }, testDeadline());
const visit = ({ principal }: Person) => world.client.visitProfile({ principal }, testDeadline());
const change = ({ principal }: Person, body: { display_name?: string | null }) =>
  world.client.changeProfile({ principal, body, context }, testDeadline());
const changeUser = ({ principal }: Person, id: string, body: object) =>
  world.client.changeUser({ principal, id, body, context }, testDeadline());

describe('the profile', () => {
  test('shows people their own account', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });

    expect(await profileOf(ann)).toEqual({
      id: ann.id,
      handle: 'ann',
      display_name: null,
      email: null,
      role: 'member',
      org: { id: ann.orgId, name: `org-${ann.orgId}` },
      previous_visit_at: null,
      checklist: 'open',
    });
  });

  test('is refused to agents, and to clients that act as a person', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const bot = await world.agent(ann, 'bot');
    const forbidden = { code: 'forbidden' };

    await expect(profileOf(bot)).rejects.toMatchObject(forbidden);
    await expect(visit(bot)).rejects.toMatchObject(forbidden);
    await expect(change(bot, { display_name: 'Ann' })).rejects.toMatchObject(forbidden);
  });

  test('keeps whether the person has dismissed the checklist', async () => {
    const ann = await world.user({ name: 'ann', role: 'auditor' });
    const set = (checklist: 'open' | 'dismissed') =>
      world.client.changeProfile(
        { principal: ann.principal, body: { checklist }, context },
        testDeadline(),
      );

    expect(await set('dismissed')).toMatchObject({ checklist: 'dismissed' });
    expect(await visit(ann)).toMatchObject({ checklist: 'dismissed' });
    expect(await set('open')).toMatchObject({ checklist: 'open' });
  });
});

describe('a visit to the dashboard', () => {
  const ageLastSign = (person: Person, minutes: number) => world.db`
    update auth.visitor
       set last_sign_at = now() - make_interval(mins => ${minutes})
     where identity_id = ${person.id}
  `;

  test('begins with a request more than 30 minutes after the last one, which ended the previous visit', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });

    expect(await visit(ann)).toMatchObject({ previous_visit_at: null });
    await ageLastSign(ann, 29);
    expect(await visit(ann)).toMatchObject({ previous_visit_at: null });
    await ageLastSign(ann, 31);
    const [end] = await world.db<{ at: Date }[]>`
      select last_sign_at as at from auth.visitor where identity_id = ${ann.id}
    `;
    const { previous_visit_at: previous } = await visit(ann);
    expect(previous).toBe(end?.at.toISOString());
    expect(await visit(ann)).toMatchObject({ previous_visit_at: previous });
    expect(await profileOf(ann)).toMatchObject({ previous_visit_at: previous });
  });

  test('begins only once, however many tabs open at a time', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    await visit(ann);
    await ageLastSign(ann, 60);

    const visits = await Promise.all(Array.from({ length: 10 }, () => visit(ann)));

    const begins = new Set(visits.map(({ previous_visit_at: at }) => at));
    expect(begins.size).toBe(1);
    expect([...begins][0]).not.toBeNull();
  });
});

describe('a display name', () => {
  test('is set by the person or an admin, shown next to the handle, and recorded in the audit log', async () => {
    const admin = await world.user({ name: 'root', role: 'admin' });
    const ann = await world.user({ name: 'ann', role: 'auditor', orgId: admin.orgId });

    expect(await change(ann, { display_name: 'Ann Berg' })).toMatchObject({
      handle: 'ann',
      display_name: 'Ann Berg',
    });
    expect(
      await changeUser(admin, ann.id, { display_name: 'Ann B.', role: 'member' }),
    ).toMatchObject({
      name: 'ann',
      path: ['ann'],
      display_name: 'Ann B.',
      role: 'member',
    });
    const renewed = await world.renew(ann);
    const bot = await world.agent(renewed, 'bot');
    const me = await world.client.getMe({ principal: bot.principal }, testDeadline());
    expect(me).toMatchObject({ path: ['ann', 'bot'], display_name: 'Ann B.' });
    const rows = await world.db<{ body: string }[]>`
      select body from auth.outbox where type = 'identity.changed' and org_id = ${ann.orgId} order by id
    `;
    expect(rows.map(({ body }) => JSON.parse(body).data.changes)).toEqual([
      { display_name: { before: null, after: 'Ann Berg' } },
      { role: { before: 'auditor', after: 'member' } },
      { display_name: { before: 'Ann Berg', after: 'Ann B.' } },
    ]);
  });

  test('can be removed, and is stored in composed Unicode', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });

    expect(await change(ann, { display_name: 'Rene\u0301' })).toMatchObject({
      display_name: 'Ren\u00e9',
    });
    expect(await change(ann, { display_name: null })).toMatchObject({ display_name: null });
  });

  test('may be the same for two persons, because answers also show the handle', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const mallory = await world.user({ name: 'mallory', role: 'member', orgId: ann.orgId });
    await change(ann, { display_name: 'Ann Berg' });

    expect(await change(mallory, { display_name: 'Ann Berg' })).toMatchObject({
      handle: 'mallory',
    });
  });

  test('can be changed for another user only by admins of the org', async () => {
    const admin = await world.user({ name: 'root', role: 'admin' });
    const [ann, bob, eve] = await Promise.all(
      (['member', 'member', 'auditor'] as const).map((role, index) =>
        world.user({ name: `user${index}`, role, orgId: admin.orgId }),
      ),
    );
    const stranger = await world.user({ name: 'root', role: 'admin' });
    const bot = await world.agent(bob as Person, 'bot');
    const body = { display_name: 'X' };
    const id = (ann as Person).id;

    for (const caller of [bob, eve, bot] as Person[]) {
      await expect(changeUser(caller, id, body)).rejects.toMatchObject({ code: 'forbidden' });
    }
    await expect(changeUser(stranger, id, body)).rejects.toMatchObject({ code: 'not_found' });
    await expect(changeUser(admin, bot.id, body)).rejects.toMatchObject({ code: 'not_found' });
    await expect(changeUser(admin, id, {})).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(changeUser(admin, id, { display_name: 'An\u200bn' })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  test("is listed only for identities of the caller's own org", async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const bob = await world.user({ name: 'bob', role: 'member', orgId: ann.orgId });
    const stranger = await world.user({ name: 'eve', role: 'member' });
    const bot = await world.agent(ann, 'bot');
    await change(ann, { display_name: 'Ann Berg' });
    await change(stranger, { display_name: 'Eve' });
    const ids = [ann.id, bob.id, bot.id, stranger.id];

    const { names } = await world.client.listDisplayNames(
      { principal: bot.principal, ids },
      testDeadline(),
    );

    expect(names.toSorted((a, b) => a.id.localeCompare(b.id))).toEqual(
      [
        { id: ann.id, displayName: 'Ann Berg' },
        { id: bot.id, displayName: 'Ann Berg' },
      ].toSorted((a, b) => a.id.localeCompare(b.id)),
    );
  });
});
