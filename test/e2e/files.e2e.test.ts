import { createHash } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createAgent, successfulBodyOf, startWorld } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

const sha256 = (bytes: ArrayBuffer) =>
  createHash('sha256').update(new Uint8Array(bytes)).digest('hex');

describe('an upstream’s answer that is too large to return inline', () => {
  let world: World;
  let agent: Agent;
  let stranger: Agent;
  const secret = 'CANARY-in-a-large-answer';

  beforeAll(async () => {
    world = await startWorld();
    const { admin, upstream, url } = world;
    agent = await createAgent(url, admin, 'bot');
    stranger = await createAgent(url, admin, 'other-bot');
    successfulBodyOf(
      await admin.post('/v1/secrets', {
        name: 'large',
        value: secret,
        tier: 'org',
        allowed_hosts: [upstream.host],
      }),
    );
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const downloadFile = (url: string, headers: Record<string, string>) => fetch(url, { headers });
  const bearerHeaderOf = ({ key }: Agent) => ({ authorization: `Bearer ${key}` });

  test('can be downloaded by the agent of an approved call and by its user, and by nobody else', async () => {
    const { admin, upstream } = world;
    const call = {
      service: 'http',
      method: 'POST',
      url: `${upstream.url}/echo`,
      body: { large: 'x'.repeat(600_000) },
      secrets: [{ name: 'org/large', in: 'header', key: 'authorization', prefix: 'Bearer ' }],
    };
    const { approval_id: id } = successfulBodyOf(await agent.post('/v1/actions/call', call));
    const decision = { resolution: 'allow', acknowledge: 'too_large' };
    successfulBodyOf(await admin.post(`/v1/approvals/${id}/resolve`, decision));
    const { result } = successfulBodyOf(await agent.post('/v1/actions/call', { approval_id: id }));

    const { file } = result;
    expect([result.status_code, result.body]).toEqual([200, null]);
    expect(file).toMatchObject({ name: 'echo', content_type: 'application/json' });
    for (const headers of [bearerHeaderOf(agent), { cookie: admin.cookie }]) {
      const answer = await downloadFile(file.download_url, headers);
      expect([answer.status, answer.headers.get('content-disposition')]).toEqual([
        200,
        'attachment; filename="echo"',
      ]);
      const bytes = await answer.arrayBuffer();
      expect([bytes.byteLength, sha256(bytes)]).toEqual([file.size, file.sha256]);
      const text = Buffer.from(bytes).toString();
      expect(text).toContain('x'.repeat(600_000));
      expect(text).not.toContain(secret);
      expect(text).not.toContain(Buffer.from(secret).toString('base64url'));
    }
    expect((await downloadFile(file.download_url, bearerHeaderOf(stranger))).status).toBe(404);
    expect((await downloadFile(file.download_url, {})).status).toBe(401);

    await world.tables.query('update executor.file set expires_at = now()');
    expect((await downloadFile(file.download_url, bearerHeaderOf(agent))).status).toBe(410);
    // The call's stored result stays the same after its file has expired.
    const secondAnswer = successfulBodyOf(
      await agent.post('/v1/actions/call', { approval_id: id }),
    );
    expect(secondAnswer.result.file).toEqual(file);
  });
});
