import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { createStage } from '../neighbours.testing.ts';
import type { Stage } from '../neighbours.testing.ts';
import { agent } from '../principals.testing.ts';
import type { RunningGateway } from '../start.ts';
import { callTool, connectClient, initialize, postMcp, stateless } from './clients.testing.ts';

let stage: Stage;
let gateway: RunningGateway;
let url: string;

beforeAll(async () => {
  stage = await createStage();
  gateway = await stage.gateway();
  url = gateway.url;
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

const auditId = randomUUID();
const summary = {
  service: 'github',
  template: 'github',
  action: 'list_issues',
  permissionKeys: ['github:list_issues:acme/site'],
  risk: 'read' as const,
  nonRead: false,
  description: 'List issues',
};
let asked: unknown[];
beforeEach(() => {
  asked = [];
  stage.neighbours.policy.decide = async ({ call, options }) => {
    asked.push({ call, options });
    return { outcome: 'permit', permit: 'signed-permit-of-this-call', auditId, ...summary };
  };
  stage.neighbours.executor.execute = async () => ({
    kind: 'called',
    auditId,
    result: { status_code: 200, headers: { etag: 'x' }, body: [{ n: 1 }], duration_ms: 3 },
    replayed: false,
  });
});

const fiveTools = [
  'service_search',
  'service_read',
  'service_call',
  'service_auth',
  'service_approve',
];

describe('the SDK 1.x client', () => {
  test('initializes, lists the tools and calls one', async () => {
    await using connected = await connectClient(url, stage.tokenFor());
    const { client } = connected;

    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(fiveTools);
    const answer = await client.callTool({
      name: 'service_call',
      arguments: { service: 'github', action: 'list_issues', params: { repository: 'acme/site' } },
    });

    expect(answer.structuredContent).toEqual({
      status: 'called',
      result: { status_code: 200, body: [{ n: 1 }], duration_ms: 3 },
      action_description: 'List issues',
      audit_id: auditId,
    });
    expect(answer.isError).toBeUndefined();
    expect(asked).toMatchObject([
      { call: { kind: 'action', params: { repository: 'acme/site' } } },
    ]);
  });
});

describe('the revision without sessions', () => {
  test('discovers, lists and calls', async () => {
    const token = stage.tokenFor();

    const discovered = await postMcp(url, token, stateless('server/discover'));
    expect(discovered.status).toBe(200);
    expect(discovered.body.result).toMatchObject({
      supportedVersions: ['2026-07-28'],
      resultType: 'complete',
    });
    const listed = await postMcp(url, token, stateless('tools/list'));
    expect(listed.body.result).toMatchObject({ resultType: 'complete', cacheScope: 'private' });
    expect(listed.body.result.tools).toHaveLength(5);
    const params = {
      name: 'service_call',
      arguments: { service: 'github', action: 'list_issues' },
    };
    const called = await postMcp(url, token, stateless('tools/call', params));
    expect(called.body.result.structuredContent).toMatchObject({ status: 'called' });
  });
});

describe('without a session id', () => {
  test('a request of 2025 is answered all the same', async () => {
    const { status, body } = await postMcp(url, stage.tokenFor(agent()), {
      body: callTool('service_call', { service: 'github', action: 'list_issues' }),
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ id: 1, result: { structuredContent: { status: 'called' } } });
    expect((await postMcp(url, stage.tokenFor(), { body: initialize() })).status).toBe(200);
  });
});
