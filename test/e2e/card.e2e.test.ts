import { createHash } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createToolCall, postMcp } from '../../gateway/mcp/clients.testing.ts';
import { createCanary } from '../support/canaries.ts';
import { createCallerWithKey } from '../support/http.ts';
import { createAgent, successfulBodyOf, startWorld, pollUntil } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

/**
 * A person decides on the approval card of a call, so the upstream must receive exactly what the
 * card shows.
 */
describe('the approval card of a call', () => {
  let world: World;
  let bot: Agent;
  beforeAll(async () => {
    world = await startWorld();
    bot = await createAgent(world.url, world.admin, 'bot');
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const suspendCall = async (call: object) =>
    successfulBodyOf(await bot.post('/v1/actions/call', { service: 'http', ...call }))
      .approval_id as string;
  const cardOf = async (id: string) =>
    successfulBodyOf(await world.admin.get(`/v1/approvals/${id}`));
  const decideApproval = (id: string, decision: object) =>
    world.admin.post(`/v1/approvals/${id}/resolve`, decision);
  const hitOf = async (path: string) => {
    const findHit = () => world.upstream.hits.find(({ url }) => url.startsWith(path));
    await pollUntil(() => findHit() !== undefined, 'the replay');
    return findHit();
  };

  test('shows the headers, media type and secrets that the upstream will receive; the audit log records the same', async () => {
    const value = createCanary();
    successfulBodyOf(await world.admin.post('/v1/secrets', { name: 'mysek', value }));
    const call = {
      method: 'POST',
      path: `${world.upstream.url}/issues?q=1`,
      headers: {
        'X-Amz-Target': 'DynamoDB.DeleteTable',
        Cookie: 'a=b',
        Authorization: 'Bearer stolen',
        'X-Role': 'root',
        'Content-Type': 'application/x-www-form-urlencoded',
      },
      body: { title: 't', amount: '1' },
      secrets: [{ name: 'mysek', in: 'query', key: 'note' }],
    };
    const shownCard = {
      method: 'POST',
      url: `${world.upstream.url}/issues?q=1`,
      params: {},
      headers: {
        'x-amz-target': 'DynamoDB.DeleteTable',
        cookie: '[REDACTED] (3 characters)',
        authorization: '[REDACTED] (13 characters)',
        'x-role': 'root',
      },
      content_type: 'application/x-www-form-urlencoded',
      body: 'title=t&amount=1',
      credentials: [{ kind: 'secret', name: 'mysek', in: 'query', key: 'note' }],
      redacted: ['/headers/authorization', '/headers/cookie'],
    };
    const dryRunAnswer = successfulBodyOf(
      await bot.post('/v1/actions/validate', { service: 'http', ...call }),
    );
    expect(dryRunAnswer.request).toEqual(shownCard);

    const id = await suspendCall(call);
    expect((await cardOf(id)).request).toEqual(shownCard);
    expect((await decideApproval(id, { resolution: 'allow' })).status).toBe(200);

    const hit = await hitOf('/issues');
    expect(hit).toMatchObject({
      method: 'POST',
      url: `/issues?q=1&note=${value}`,
      body: shownCard.body,
      headers: {
        'x-role': 'root',
        'x-amz-target': 'DynamoDB.DeleteTable',
        'content-type': shownCard.content_type,
      },
    });
    const rowsOf = async () =>
      successfulBodyOf(await world.admin.get(`/v1/audit?approval_id=${id}`)).items as {
        type: string;
        request: object | null;
      }[];
    const findRaisedRecord = async () =>
      (await rowsOf()).find(({ type }) => type === 'approval.raised');
    await pollUntil(async () => (await findRaisedRecord()) !== undefined, 'the audit row');
    const { headers, content_type, credentials } = shownCard;
    expect((await findRaisedRecord())?.request).toEqual({ headers, content_type, credentials });
  });

  test('shows small values in full when another value is too large, and asks for a confirmation before the call is allowed', async () => {
    const padding = 'x'.repeat(120_000);
    const body = { title: 'Fix typo', labels: ['evil'], body: padding };
    const id = await suspendCall({ method: 'POST', path: `${world.upstream.url}/padded`, body });

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

    const refusedReply = await decideApproval(id, { resolution: 'allow' });
    expect([refusedReply.status, refusedReply.body.error]).toEqual([
      422,
      'acknowledgement_required',
    ]);
    const rememberReply = await decideApproval(id, {
      resolution: 'allow_remember',
      acknowledge: 'too_large',
    });
    expect([rememberReply.status, rememberReply.body.error]).toEqual([
      422,
      'remember_keys_not_offered',
    ]);
    const misspelledReply = await decideApproval(id, { resolution: 'allow', acknowledge: 'yes' });
    expect([misspelledReply.status, misspelledReply.body.error]).toEqual([400, 'invalid_request']);
    expect((await cardOf(id)).status).toBe('pending');

    expect(
      (await decideApproval(id, { resolution: 'allow', acknowledge: 'too_large' })).status,
    ).toBe(200);
    expect((await hitOf('/padded'))?.body).toBe(JSON.stringify(body));
  });

  test('asks an agent that decides over MCP for a confirmation if a value is too large to be shown', async () => {
    const { id } = successfulBodyOf(
      await bot.post('/v1/identities/subagents', { name: 'helper', inherit_permissions: false }),
    );
    const { key } = successfulBodyOf(await bot.post(`/v1/identities/${id}/keys`, { name: 'test' }));
    const pattern = `http:POST:${world.upstream.host}/**`;
    successfulBodyOf(
      await world.admin.post('/v1/rules', { identity_id: bot.id, effect: 'allow', pattern }),
    );
    const call = { service: 'http', method: 'POST', url: `${world.upstream.url}/large` };
    const largeCall = { ...call, body: { text: 'x'.repeat(120_000) } };
    const helper = createCallerWithKey(world.url, key);
    const { approval_id: approvalId } = successfulBodyOf(
      await helper.post('/v1/actions/call', largeCall),
    );

    const approveOverMcp = async (more: object) => {
      const decision = { approval_id: approvalId, resolution: 'allow', ...more };
      const body = createToolCall('service_approve', decision);
      return (await postMcp(world.url, bot.key, { body })).body.result.structuredContent;
    };
    expect(await approveOverMcp({})).toMatchObject({ error: 'acknowledgement_required' });
    expect(await approveOverMcp({ acknowledge: 'too_large' })).toMatchObject({ status: 'allowed' });
    await hitOf('/large');
  });
});
