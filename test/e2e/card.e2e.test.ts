import { createHash } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { callTool, postMcp } from '../../gateway/mcp/clients.testing.ts';
import { canary } from '../support/canaries.ts';
import { withKey } from '../support/http.ts';
import { createAgent, created, startWorld, until } from './support/world.ts';
import type { Agent, World } from './support/world.ts';

/** A person allows what the card shows, and the upstream receives just that. */
describe('the card of a call', () => {
  let world: World;
  let bot: Agent;
  beforeAll(async () => {
    world = await startWorld();
    bot = await createAgent(world.url, world.admin, 'bot');
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const suspend = async (call: object) =>
    created(await bot.post('/v1/actions/call', { service: 'http', ...call })).approval_id as string;
  const cardOf = async (id: string) => created(await world.admin.get(`/v1/approvals/${id}`));
  const decide = (id: string, decision: object) =>
    world.admin.post(`/v1/approvals/${id}/resolve`, decision);
  const hitOf = async (path: string) => {
    const found = () => world.upstream.hits.find(({ url }) => url.startsWith(path));
    await until(() => found() !== undefined, 'the replay');
    return found();
  };

  test('shows headers, media type and secrets that the upstream receives, in the audit log too', async () => {
    const value = canary();
    created(await world.admin.post('/v1/secrets', { name: 'mysek', value }));
    const call = {
      method: 'POST',
      path: `${world.upstream.url}/issues?q=1`,
      headers: {
        'X-Amz-Target': 'DynamoDB.DeleteTable',
        Cookie: 'a=b',
        Authorization: 'Bearer stolen',
        Sudo: 'root',
        'Content-Type': 'application/x-www-form-urlencoded',
      },
      body: { title: 't', amount: '1' },
      secrets: [{ name: 'mysek', in: 'query', key: 'note' }],
    };
    const shown = {
      method: 'POST',
      url: `${world.upstream.url}/issues?q=1`,
      params: {},
      headers: {
        'x-amz-target': 'DynamoDB.DeleteTable',
        cookie: '[REDACTED]',
        authorization: '[REDACTED]',
        sudo: 'root',
      },
      content_type: 'application/x-www-form-urlencoded',
      body: 'title=t&amount=1',
      credentials: [{ kind: 'secret', name: 'mysek', in: 'query', key: 'note' }],
      redacted: ['/headers/authorization', '/headers/cookie'],
    };
    const asked = created(await bot.post('/v1/actions/validate', { service: 'http', ...call }));
    expect(asked.request).toEqual(shown);

    const id = await suspend(call);
    expect((await cardOf(id)).request).toEqual(shown);
    expect((await decide(id, { resolution: 'allow' })).status).toBe(200);

    const hit = await hitOf('/issues');
    expect(hit).toMatchObject({
      method: 'POST',
      url: `/issues?q=1&note=${value}`,
      body: shown.body,
      headers: {
        sudo: 'root',
        'x-amz-target': 'DynamoDB.DeleteTable',
        'content-type': shown.content_type,
      },
    });
    const rowsOf = async () =>
      created(await world.admin.get(`/v1/audit?approval_id=${id}`)).items as {
        type: string;
        request: object | null;
      }[];
    const raised = async () => (await rowsOf()).find(({ type }) => type === 'approval.raised');
    await until(async () => (await raised()) !== undefined, 'the audit row');
    const { headers, content_type, credentials } = shown;
    expect((await raised())?.request).toEqual({ headers, content_type, credentials });
  });

  test('hides no small value behind a large one, and is then allowed only by who says so', async () => {
    const padding = 'x'.repeat(120_000);
    const body = { title: 'Fix typo', labels: ['evil'], body: padding };
    const id = await suspend({ method: 'POST', path: `${world.upstream.url}/padded`, body });

    const card = await cardOf(id);
    expect(card.request).toMatchObject({
      too_large: true,
      content_type: 'application/json',
      body: { title: 'Fix typo', labels: ['evil'], body: expect.stringMatching(/^x{60,}…$/) },
      shortened: [
        {
          at: '/body/body',
          bytes: 120_000,
          sha256: createHash('sha256').update(padding).digest('hex'),
        },
      ],
    });
    expect(card.suggested_tiers).toEqual([]);

    const refused = await decide(id, { resolution: 'allow' });
    expect([refused.status, refused.body.error]).toEqual([422, 'acknowledgement_required']);
    const remembered = await decide(id, {
      resolution: 'allow_remember',
      acknowledge: 'too_large',
    });
    expect([remembered.status, remembered.body.error]).toEqual([422, 'remember_keys_not_offered']);
    const misspelled = await decide(id, { resolution: 'allow', acknowledge: 'yes' });
    expect([misspelled.status, misspelled.body.error]).toEqual([400, 'invalid_request']);
    expect((await cardOf(id)).status).toBe('pending');

    expect((await decide(id, { resolution: 'allow', acknowledge: 'too_large' })).status).toBe(200);
    expect((await hitOf('/padded'))?.body).toBe(JSON.stringify(body));
  });

  test('asks an agent that decides over MCP for the same word', async () => {
    const { id } = created(
      await bot.post('/v1/identities/subagents', { name: 'helper', inherit_permissions: false }),
    );
    const { key } = created(await bot.post(`/v1/identities/${id}/keys`, { name: 'test' }));
    const pattern = `http:POST:${world.upstream.host}/**`;
    created(await world.admin.post('/v1/rules', { identity_id: bot.id, effect: 'allow', pattern }));
    const call = { service: 'http', method: 'POST', url: `${world.upstream.url}/large` };
    const given = { ...call, body: { text: 'x'.repeat(120_000) } };
    const helper = withKey(world.url, key);
    const { approval_id: approvalId } = created(await helper.post('/v1/actions/call', given));

    const approve = async (more: object) => {
      const decision = { approval_id: approvalId, resolution: 'allow', ...more };
      const body = callTool('service_approve', decision);
      return (await postMcp(world.url, bot.key, { body })).body.result.structuredContent;
    };
    expect(await approve({})).toMatchObject({ error: 'acknowledgement_required' });
    expect(await approve({ acknowledge: 'too_large' })).toMatchObject({ status: 'allowed' });
    await hitOf('/large');
  });
});
