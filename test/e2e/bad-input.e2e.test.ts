import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Reply } from '../support/http.ts';
import { badBodies } from './bad-input/bodies.ts';
import { badCalls } from './bad-input/calls.ts';
import { badConnections } from './bad-input/connections.ts';
import { badCredentials } from './bad-input/credentials.ts';
import { badIdentities } from './bad-input/identities.ts';
import { badDecisions, lateDecisions } from './bad-input/resources.ts';
import { badTemplates } from './bad-input/templates.ts';
import { setScene } from './bad-input/scene.ts';
import { badSignIns } from './bad-input/sign-in.ts';
import type { BadInput, Scene } from './bad-input/scene.ts';
import { until } from './support/world.ts';

describe('the gateway refuses, with a typed error and without any effect,', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await setScene();
  });
  afterAll(() => scene[Symbol.asyncDispose]());

  test.for(
    [
      ...badBodies,
      ...badCalls,
      ...badConnections,
      ...badDecisions,
      ...badIdentities,
      ...badSignIns,
      ...badTemplates,
    ].map((bad) => [bad.what, bad] as const),
  )('%s', async ([, bad]) => {
    const before = await scene.world.tables.count();
    const hits = scene.world.upstream.hits.length;
    const reply = await bad.send(scene);
    expectRefusal(reply, bad);
    expect(await scene.world.tables.count()).toEqual(before);
    expect(scene.world.upstream.hits.length).toBe(hits);
  });

  // These make something first, so what they may not do is told by what becomes of it.
  test.for([...badCredentials, ...lateDecisions].map((bad) => [bad.what, bad] as const))(
    '%s',
    async ([, bad]) => {
      const hits = scene.world.upstream.hits.length;
      expectRefusal(await bad.send(scene), bad);
      expect(scene.world.upstream.hits.length).toBe(hits);
      const names = await scene.world.tables.query('select name from auth.identity');
      expect(names.map(({ name }) => name)).not.toContain('intruder');
    },
  );

  test("another org's ids exactly as ids of nothing", async () => {
    const { admin, strangersApproval, stranger } = scene;
    const nothing = '01890000-0000-7000-8000-000000000000';
    for (const path of [`/v1/approvals/`, `/v1/identities/`]) {
      const theirs = await admin.get(
        path + (path.includes('approvals') ? strangersApproval : stranger.id),
      );
      const none = await admin.get(path + nothing);
      expect(theirs.status).toBe(404);
      expect({ ...theirs.body, request_id: '' }).toEqual({ ...none.body, request_id: '' });
    }
  });

  test('and loses nothing: the call that waited all the time is allowed and sent', async () => {
    const { admin, bot, approval, world } = scene;
    const path = `/v1/approvals/${approval.approval_id}`;
    expect((await admin.get(path)).body.status).toBe('pending');

    expect((await admin.post(`${path}/resolve`, { resolution: 'allow' })).status).toBe(200);
    await until(
      async () =>
        (await bot.post('/v1/actions/call', { approval_id: approval.approval_id })).body.status ===
        'called',
      'the replay',
    );
    expect(world.upstream.hits.map(({ method }) => method)).toEqual(['POST']);
  });
});

function expectRefusal({ status, headers, body }: Reply, bad: BadInput): void {
  const text = JSON.stringify(body);
  expect({ status, error: body.error }, text).toEqual({ status: bad.status, error: bad.error });
  expect(headers.get('content-type')).toMatch(/^application\/json/);
  // jq points at the place in a filter with a caret.
  expect(body.message).toMatch(/^[A-Za-z].{14,}[.?^]$/s);
  expect(body.request_id).toMatch(/^[0-9a-f-]{36}$/);
  if (status === 401) expect(headers.get('www-authenticate')).toMatch(/^Bearer/);
  if (bad.tells !== undefined) expect(text).toMatch(bad.tells);
  expect(text).not.toMatch(/<html|node_modules|\.[tj]s:\d|\n\s+at |select .* from/i);
  expect(text).not.toContain('CANARY');
}
