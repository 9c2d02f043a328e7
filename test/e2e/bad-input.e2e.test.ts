import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Reply } from '../support/http.ts';
import { badBodies } from './bad-input/bodies.ts';
import { badCalls } from './bad-input/calls.ts';
import { badConnectionCalls, earlyConnectionCalls } from './bad-input/connection-calls.ts';
import { badConnections } from './bad-input/connections.ts';
import { badCredentials } from './bad-input/credentials.ts';
import { badIdentities } from './bad-input/identities.ts';
import { badDecisions, lateDecisions } from './bad-input/resources.ts';
import { badTemplates } from './bad-input/templates.ts';
import { setScene } from './bad-input/scene.ts';
import { badSignIns } from './bad-input/sign-in.ts';
import type { BadInput, Scene } from './bad-input/scene.ts';
import { pollUntil } from '../support/world.ts';

describe('the gateway answers bad input with a typed error, without any effect', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await setScene();
  });
  afterAll(() => scene[Symbol.asyncDispose]());

  test.for(
    [
      ...badBodies,
      ...badCalls,
      ...badConnectionCalls,
      ...badConnections,
      ...badDecisions,
      ...badIdentities,
      ...badSignIns,
      ...badTemplates,
    ].map((badInput) => [badInput.what, badInput] as const),
  )('it refuses %s', async ([, badInput]) => {
    const countsBefore = await scene.world.tables.count();
    const hitCount = scene.world.upstream.hits.length;
    const reply = await badInput.send(scene);
    expectRefusal(reply, badInput);
    expect(await scene.world.tables.count()).toEqual(countsBefore);
    expect(scene.world.upstream.hits.length).toBe(hitCount);
  });

  // These cases create rows before they send the bad input, so the test cannot compare the numbers
  // of rows. It checks instead that the upstream received nothing and that nothing named `intruder`
  // was created.
  test.for(
    [...badCredentials, ...earlyConnectionCalls, ...lateDecisions].map(
      (badInput) => [badInput.what, badInput] as const,
    ),
  )('it refuses %s', async ([, badInput]) => {
    const hitCount = scene.world.upstream.hits.length;
    expectRefusal(await badInput.send(scene), badInput);
    expect(scene.world.upstream.hits.length).toBe(hitCount);
    const names = await scene.world.tables.query('select name from auth.identity');
    expect(names.map(({ name }) => name)).not.toContain('intruder');
  });

  test('it answers ids of another org like ids that do not exist', async () => {
    const { admin, strangersApprovalId: strangersApproval, stranger } = scene;
    const missingId = '01890000-0000-7000-8000-000000000000';
    for (const path of [`/v1/approvals/`, `/v1/identities/`]) {
      const answerOfStranger = await admin.get(
        path + (path.includes('approvals') ? strangersApproval : stranger.id),
      );
      const answerForMissing = await admin.get(path + missingId);
      expect(answerOfStranger.status).toBe(404);
      expect({ ...answerOfStranger.body, request_id: '' }).toEqual({
        ...answerForMissing.body,
        request_id: '',
      });
    }
  });

  test('it can still send the call that waits for its approval, after all this bad input', async () => {
    const { admin, bot, approval, world } = scene;
    const path = `/v1/approvals/${approval.approval_id}`;
    expect((await admin.get(path)).body.status).toBe('pending');

    expect((await admin.post(`${path}/resolve`, { resolution: 'allow' })).status).toBe(200);
    await pollUntil(
      async () =>
        (await bot.post('/v1/actions/call', { approval_id: approval.approval_id })).body.status ===
        'called',
      'the replay',
    );
    expect(world.upstream.hits.map(({ method }) => method)).toEqual(['POST']);
  });
});

function expectRefusal({ status, headers, body }: Reply, badInput: BadInput): void {
  const text = JSON.stringify(body);
  expect({ status, error: body.error }, text).toEqual({
    status: badInput.status,
    error: badInput.error,
  });
  expect(headers.get('content-type')).toMatch(/^application\/json/);
  // Error messages of jq end in a caret that marks the place in the filter.
  expect(body.message).toMatch(/^[A-Za-z].{14,}[.?^]$/s);
  expect(body.request_id).toMatch(/^[0-9a-f-]{36}$/);
  if (status === 401) expect(headers.get('www-authenticate')).toMatch(/^Bearer/);
  if (badInput.tells !== undefined) expect(text).toMatch(badInput.tells);
  expect(text).not.toMatch(/<html|node_modules|\.[tj]s:\d|\n\s+at |select .* from/i);
  expect(text).not.toContain('CANARY');
}
