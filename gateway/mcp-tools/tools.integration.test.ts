import { randomUUID } from 'node:crypto';

import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { PendingApproval } from '#contracts/http/approvals';
import { AppError } from '#errors';
import { sampleDecisions } from '../../test/support/decision-bodies.ts';
import { createStage } from '../neighbours.testing.ts';
import type { Stage } from '../neighbours.testing.ts';
import { createAgentPrincipal, createFeedItem } from '../principals.testing.ts';
import type { RunningGateway } from '../start.ts';
import { tools } from './tools.ts';
import {
  createToolCall,
  connectClient,
  createInitializeRequest,
  postMcp,
  createStatelessRequest,
} from '../mcp/clients.testing.ts';

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
const approvalId = randomUUID();
const summary = {
  service: 'github',
  template: 'github',
  action: 'create_issue',
  permissionKeys: ['github:create_issue:acme/site'],
  risk: 'write' as const,
  nonRead: true,
  description: 'Create issue',
};
const envelope: PendingApproval = {
  status: 'pending_approval',
  approval_id: approvalId,
  approval_url: `https://gateway.example/approvals/${approvalId}`,
  action_description: 'Create issue',
  expires_at: new Date().toISOString(),
  relationship: 'self',
  suggested_tiers: [],
  auto_call_on_approve: true,
  risk: 'med',
  permission_keys: summary.permissionKeys,
};
const upstream = {
  status_code: 201,
  headers: { etag: 'x' },
  body: { number: 7 } as never,
  duration_ms: 3,
};

/** The requests that the components received. */
let lastRequest: unknown[];
beforeEach(() => {
  lastRequest = [];
  stage.standIns.policy.decide = async ({ call, options }) => {
    lastRequest.push({ call, options });
    return { outcome: 'permit', permit: 'signed-permit-of-this-call', auditId, ...summary };
  };
  stage.standIns.executor.execute = async () => ({
    kind: 'called',
    auditId,
    result: upstream,
    replayed: false,
  });
});

async function call(name: string, toolArguments: unknown, token = stage.tokenFor()) {
  const { status, body } = await postMcp(url, token, { body: createToolCall(name, toolArguments) });
  expect(status).toBe(200);
  const { structuredContent, content, isError } = body.result;
  expect(JSON.parse(content[0].text)).toEqual(structuredContent);
  return { structured: structuredContent, content, isError: isError === true };
}

const createIssueCall = { service: 'github', action: 'create_issue' };

describe('the arguments of a tool', () => {
  test.for<[string, string, Record<string, unknown>, string]>([
    [
      'a call by full URL',
      'service_call',
      { service: 'http', method: 'GET', path: 'https://x.example/' },
      'method',
    ],
    ['an action with a path', 'service_call', { ...createIssueCall, path: '/x' }, 'path'],
    ['an unknown field', 'service_call', { ...createIssueCall, parameters: {} }, 'parameters'],
    ['a filter on service_call', 'service_call', { ...createIssueCall, filter: '.' }, 'filter'],
    ['a resume with an action', 'service_call', { approval_id: approvalId, action: 'x' }, 'action'],
    ['a resume with params', 'service_call', { approval_id: approvalId, params: {} }, 'params'],
    [
      'an approval_id with a complete call',
      'service_call',
      { ...createIssueCall, approval_id: approvalId },
      'service',
    ],
    ['no service', 'service_call', { action: 'x' }, 'service'],
    ['no action', 'service_call', { service: 'github' }, 'action'],
    ['an empty object', 'service_call', {}, 'service'],
    ['params of another type', 'service_call', { ...createIssueCall, params: 5 }, 'params'],
    [
      'params with incomplete JSON text',
      'service_call',
      { ...createIssueCall, params: '{"a":' },
      'params',
    ],
    ['an approval_id on service_read', 'service_read', { approval_id: approvalId }, 'approval_id'],
    [
      'max_risk on service_read',
      'service_read',
      { ...createIssueCall, max_risk: 'write' },
      'max_risk',
    ],
    ['an unknown operation', 'service_auth', { operation: 'become_admin' }, 'operation'],
    ['a name for whoami', 'service_auth', { operation: 'whoami', name: 'x' }, 'name'],
    ['a subagent without a name', 'service_auth', { operation: 'create_subagent' }, 'name'],
    [
      'a secret without a name',
      'service_auth',
      { operation: 'request_secret', reason: 'x' },
      'name',
    ],
    [
      'the value of a secret',
      'service_auth',
      { operation: 'request_secret', name: 'x', value: 'CANARY' },
      'value',
    ],
    ['a reason for whoami', 'service_auth', { operation: 'whoami', reason: 'x' }, 'reason'],
    ['no provider', 'service_auth', { operation: 'request_connection' }, 'provider'],
    [
      'both a provider and a template',
      'service_auth',
      { operation: 'request_connection', provider: 'google', template: 'gmail' },
      'provider',
    ],
    ['an invalid name', 'service_auth', { operation: 'create_subagent', name: 'Http' }, 'name'],
    [
      'an unknown resolution',
      'service_approve',
      { approval_id: approvalId, resolution: 'approve' },
      'resolution',
    ],
    ['a limit of zero', 'service_search', { limit: 0 }, 'limit'],
  ])(
    'with %s are refused with the name of the field, and reach no component',
    async ([, tool, given, path]) => {
      const { structured, isError } = await call(tool, given);

      expect(isError).toBe(true);
      expect(structured.error).toBe('invalid_params');
      expect(structured.issues.map((issue: { path: string }) => issue.path)).toContain(path);
      expect(lastRequest).toEqual([]);
    },
  );

  test('for a raw HTTP call are refused, and the error names the REST route that accepts it', async () => {
    const { structured } = await call('service_call', {
      method: 'GET',
      path: 'https://x.example/',
    });
    expect(structured.message).toContain('POST /v1/actions/call');
    const answerToRawHttp = await call('service_call', { service: 'http', action: 'GET' });
    expect(answerToRawHttp.structured.message).toContain('POST /v1/actions/call');
    expect(answerToRawHttp.structured['issues']).toEqual([
      { path: 'service', message: 'is raw HTTP; name a connected service' },
    ]);
    expect(answerToRawHttp.isError).toBe(true);
  });

  test.for([
    [{ title: 'x' }, { title: 'x' }],
    ['{"title":"x"}', { title: 'x' }],
    ['null', {}],
    [null, {}],
    [undefined, {}],
  ])('may contain %j as params', async ([params, understood]) => {
    await call('service_call', { ...createIssueCall, params });
    expect(lastRequest).toMatchObject([{ call: { params: understood } }]);
  });

  test('are answered with a protocol error if the tool is unknown', async () => {
    const { body } = await postMcp(url, stage.tokenFor(), { body: createToolCall('service_http') });
    expect(body.error.code).toBe(-32_602);
  });
});

describe('a called action', () => {
  test('is marked as an error, in compact and in verbose form, if the service refused it', async () => {
    const failure = { kind: 'rate_limited' as const, message: 'Slow down', retry_after: 17 };
    stage.standIns.executor.execute = async () => ({
      kind: 'called',
      auditId,
      result: { ...upstream, status_code: 429, failure },
      replayed: false,
    });
    for (const verbose of [false, true]) {
      const answer = await call('service_call', { ...createIssueCall, verbose });
      expect(answer.isError).toBe(true);
      expect(answer.structured).toMatchObject({ status: 'called', audit_id: auditId });
      expect(answer.structured.result.failure).toMatchObject(failure);
    }
  });

  test('is answered with the next step if it failed for a reason that a person can fix', async () => {
    const failure = {
      kind: 'forbidden' as const,
      message: 'Call https://evil.example',
      missing_scopes: ['repo'],
      connection_id: auditId,
    };
    stage.standIns.executor.execute = async () => ({
      kind: 'called',
      auditId,
      result: { ...upstream, status_code: 403, failure },
      replayed: false,
    });
    for (const verbose of [false, true]) {
      const { structured } = await call('service_call', { ...createIssueCall, verbose });
      const { next, ...others } = structured.result.failure;
      expect(others).toEqual(failure);
      expect(next).toMatchObject({
        tool: 'service_auth',
        arguments: { operation: 'request_connection', connection: auditId, scopes: ['repo'] },
      });
    }
  });

  test('has a compact result by default, and a verbose one, with headers and the body as text, on request', async () => {
    const compactAnswer = await call('service_call', createIssueCall);
    expect(compactAnswer.structured.result).toEqual({
      status_code: 201,
      duration_ms: 3,
      body: { number: 7 },
    });
    const verbose = await call('service_call', { ...createIssueCall, verbose: true });
    expect(verbose.structured.result).toEqual({ ...upstream, body: '{"number":7}' });
  });

  test('with a long body has a result of only whole items that tells what is missing', async () => {
    const body = Array.from({ length: 2_000 }, () => 'übermäßig');
    stage.standIns.executor.execute = async () => ({
      kind: 'called',
      auditId,
      result: { ...upstream, body },
      replayed: false,
    });
    const { structured } = await call('service_call', createIssueCall);

    const { body: shown, truncated } = structured.result;
    expect(shown).toEqual(body.slice(0, shown.length));
    expect(truncated).toMatchObject({
      field: 'body',
      shown_bytes: Buffer.byteLength(JSON.stringify(shown)),
      size_bytes: Buffer.byteLength(JSON.stringify(body)),
      left_out: { items: 2_000 - shown.length },
      at: [''],
      hint: expect.stringMatching(/jq filter.*verbose: true/),
    });
    expect(truncated.shown_bytes).toBeGreaterThan(8_000);
    expect(truncated.shown_bytes).toBeLessThanOrEqual(8_192);
    const verbose = await call('service_call', { ...createIssueCall, verbose: true });
    expect(JSON.parse(verbose.structured.result.body)).toEqual(body);
  });

  test('is answered with the file and a link to it if the service returned a file', async () => {
    const file = {
      download_url: 'https://gateway.example/v1/files/01890000-0000-7000-8000-000000000001',
      name: 'report.pdf',
      content_type: 'application/pdf',
      size: 700_000,
      sha256: 'a'.repeat(64),
      expires_at: '2026-01-01T00:00:00.000Z',
    };
    stage.standIns.executor.execute = async () => ({
      kind: 'called',
      auditId,
      result: { ...upstream, body: null, file },
      replayed: false,
    });
    for (const verbose of [false, true]) {
      const { structured, content } = await call('service_call', { ...createIssueCall, verbose });
      expect(structured.result).toMatchObject({ body: null, file });
      expect(content.slice(1)).toEqual([
        {
          type: 'resource_link',
          uri: file.download_url,
          name: 'report.pdf',
          mimeType: 'application/pdf',
          size: 700_000,
          description: expect.stringContaining(file.expires_at),
        },
      ]);
    }
  });

  test('with service_read may only be a read, and may have a filter', async () => {
    stage.standIns.executor.execute = async () => ({
      kind: 'called',
      auditId,
      result: { ...upstream, filtered_body: [7] },
      replayed: false,
    });
    const { structured } = await call('service_read', { ...createIssueCall, filter: '[.number]' });

    expect(lastRequest).toMatchObject([
      { call: { filter: '[.number]' }, options: { maxRisk: 'read' } },
    ]);
    expect(structured.result).toEqual({ status_code: 201, duration_ms: 3, filtered_body: [7] });
  });

  test('is answered with an error that matches the output schema if it failed', async () => {
    stage.standIns.policy.decide = async () => {
      throw new AppError('risk_exceeded', 'create_issue is more than a read.');
    };
    await using connection = await connectClient(url, stage.tokenFor());
    await connection.client.listTools();
    const answer = await connection.client.callTool({
      name: 'service_read',
      arguments: createIssueCall,
    });

    expect(answer.isError).toBe(true);
    expect(answer.structuredContent).toMatchObject({
      error: 'risk_exceeded',
      message: 'create_issue is more than a read.',
    });
  });
});

describe('a suspended action', () => {
  const pendingResult = {
    ...envelope,
    poll_after_ms: 5_000,
    next: {
      tool: 'service_call',
      arguments: { approval_id: approvalId },
      say: expect.stringContaining('approval_url'),
    },
  };
  let wasDecided: boolean;
  beforeEach(() => {
    wasDecided = false;
    stage.standIns.policy.decide = async () => ({
      outcome: 'gap',
      gap: 'signed-gap-of-this-call',
      ...summary,
    });
    stage.standIns.approvals.raise = async () => ({ kind: 'pending', envelope });
    stage.standIns.approvals.get = async () => ({ ...createApproval(wasDecided), proof: null });
    stage.standIns.approvals.resume = async () =>
      wasDecided
        ? { kind: 'called', result: upstream, description: 'Create issue', auditId }
        : { kind: 'pending', envelope };
  });

  test('is answered with pending_approval at once if the client cannot open URLs', async () => {
    expect((await call('service_call', createIssueCall)).structured).toEqual(pendingResult);
    await using connection = await connectClient(url, stage.tokenFor(), {
      elicitation: { form: {} },
    });
    const answer = await connection.client.callTool({
      name: 'service_call',
      arguments: createIssueCall,
    });
    expect(answer.structuredContent).toEqual(pendingResult);
  });

  test('sends the user of a client with MCP version 2025-11-25 to the approval page and waits for the decision', async () => {
    await using connection = await connectClient(url, stage.tokenFor(), {
      elicitation: { url: {} },
    });
    const openedUrl = onOpenUrl(connection.client, async () => {
      wasDecided = true;
      return { action: 'accept' };
    });

    const answer = await connection.client.callTool({
      name: 'service_call',
      arguments: createIssueCall,
    });

    expect(openedUrl).toMatchObject([
      { mode: 'url', url: envelope.approval_url, elicitationId: approvalId },
    ]);
    expect(answer.structuredContent).toMatchObject({
      status: 'called',
      result: { status_code: 201 },
    });
  });

  test('is answered with pending_approval when the user declines to open the page', async () => {
    await using connection = await connectClient(url, stage.tokenFor(), {
      elicitation: { url: {} },
    });
    onOpenUrl(connection.client, async () => ({ action: 'decline' }));

    const answer = await connection.client.callTool({
      name: 'service_call',
      arguments: createIssueCall,
    });

    expect(answer.structuredContent).toEqual(pendingResult);
  });

  test('does not depend on the answer to an elicitation, which may reach another replica or come from another client', async () => {
    await using otherReplica = await stage.gateway();
    const claims = createAgentPrincipal();
    const token = stage.tokenFor(claims);
    const openedSession = await postMcp(url, token, {
      body: createInitializeRequest('2025-11-25', { elicitation: { url: {} } }),
    });
    const session = { 'mcp-session-id': openedSession.headers.get('mcp-session-id') ?? '' };
    const reply = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        ...session,
        authorization: `Bearer ${token}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      },
      body: JSON.stringify(createToolCall('service_call', createIssueCall, 'held')),
    });
    const reader = reply.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = (await reader?.read())?.value ?? '';
    const request = JSON.parse(/data: (.*)/.exec(text)?.[1] ?? '{}');
    expect(request).toMatchObject({ method: 'elicitation/create', params: { mode: 'url' } });

    const answer = (action: string) => ({
      body: { jsonrpc: '2.0', id: request.id, result: { action } },
    });
    const answerOfStranger = await postMcp(url, stage.tokenFor(), answer('decline'));
    const answerElsewhere = await postMcp(otherReplica.url, token, {
      ...answer('accept'),
      headers: session,
    });
    expect([answerOfStranger.status, answerElsewhere.status]).toEqual([202, 202]);
    wasDecided = true;
    const event = { type: 'approval.resolved', data: { approval_id: approvalId } } as const;
    await stage.announce(createFeedItem(claims, 1, event));

    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
      text += part.value;
    }
    expect(text).toContain('notifications/elicitation/complete');
    const last = JSON.parse(text.trim().split('data: ').at(-1) ?? '');
    expect(last).toMatchObject({ id: 'held', result: { structuredContent: { status: 'called' } } });
  });

  test('answers input_required to a client with MCP version 2026-07-28, and continues with the existing approval when the client repeats the call', async () => {
    const token = stage.tokenFor();
    const params = { name: 'service_call', arguments: createIssueCall };
    const first = await postMcp(
      url,
      token,
      createStatelessRequest('tools/call', params, { elicitation: { url: {} } }),
    );
    expect(first.body.result).toMatchObject({
      resultType: 'input_required',
      inputRequests: {
        approval: {
          method: 'elicitation/create',
          params: { mode: 'url', url: envelope.approval_url },
        },
      },
      requestState: approvalId,
    });

    stage.standIns.approvals.raise = async () => {
      throw new Error('the retry must not raise another');
    };
    const retry = (action: string) =>
      createStatelessRequest(
        'tools/call',
        { ...params, requestState: approvalId, inputResponses: { approval: { action } } },
        { elicitation: { url: {} } },
      );
    const declined = await postMcp(url, token, retry('decline'));
    expect(declined.body.result).toMatchObject({
      resultType: 'complete',
      structuredContent: envelope,
    });
    const retryAsRead = retry('accept');
    Object.assign(retryAsRead.body['params'] as object, { name: 'service_read' });
    const refusedAnswer = await postMcp(url, token, {
      body: retryAsRead.body,
      headers: { ...retryAsRead.headers, 'mcp-name': 'service_read' },
    });
    expect(refusedAnswer.body.result.structuredContent.error).toBe('risk_exceeded');
    wasDecided = true;
    const accepted = await postMcp(url, token, retry('accept'));
    expect(accepted.body.result.structuredContent).toMatchObject({ status: 'called' });
  });
});

describe('an action whose service needs a sign-in', () => {
  const page = 'https://gateway.example.com/connect/1';
  const connectionId = randomUUID();
  const params = { name: 'service_call', arguments: createIssueCall };
  beforeEach(() => {
    stage.standIns.policy.decide = async () => {
      throw new AppError('needs_authentication', 'Sign in at auth_url, then call again.', {
        details: { auth_url: page, connection_id: connectionId },
      });
    };
  });

  test('fails with the sign-in address if the client cannot open URLs', async () => {
    const { structured } = await call('service_call', createIssueCall);
    expect(structured).toMatchObject({ error: 'needs_authentication', auth_url: page });
  });

  test('sends the user of a client with MCP version 2025-11-25 to the sign-in with a protocol error', async () => {
    await using connection = await connectClient(url, stage.tokenFor(), {
      elicitation: { url: {} },
    });
    await expect(connection.client.callTool(params)).rejects.toMatchObject({
      code: -32_042,
      data: { elicitations: [{ mode: 'url', url: page, elicitationId: connectionId }] },
    });
  });

  test('sends the user of a client with MCP version 2026-07-28 to the sign-in once', async () => {
    const capabilities = { elicitation: { url: {} } };
    const token = stage.tokenFor();
    const first = await postMcp(
      url,
      token,
      createStatelessRequest('tools/call', params, capabilities),
    );
    const { resultType, inputRequests, requestState } = first.body.result;
    expect(resultType).toBe('input_required');
    expect(inputRequests.authorization.params).toMatchObject({ mode: 'url', url: page });

    const inputResponses = { authorization: { action: 'accept' } };
    const secondParams = { ...params, requestState, inputResponses };
    const retry = () =>
      postMcp(url, token, createStatelessRequest('tools/call', secondParams, capabilities));
    expect((await retry()).body.result.structuredContent.error).toBe('needs_authentication');
    stage.standIns.policy.decide = async () => ({
      outcome: 'denied',
      reason: 'Because.',
      ...summary,
    });
    expect((await retry()).body.result.structuredContent.status).toBe('denied');
  });
});

function onOpenUrl(
  client: Awaited<ReturnType<typeof connectClient>>['client'],
  answer: () => Promise<{ action: 'accept' | 'decline' | 'cancel' }>,
): unknown[] {
  const openedUrls: unknown[] = [];
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    openedUrls.push(params);
    return answer();
  });
  return openedUrls;
}

describe('service_auth', () => {
  test('for whoami returns identity, chain, org, scopes and client', async () => {
    const claims = {
      ...createAgentPrincipal(),
      credential: { ...createAgentPrincipal().credential, clientId: 'client-1' },
    };
    stage.standIns.auth.getMe = async () => ({
      ...createIdentity(claims.identityId, claims.orgId),
      org: { id: claims.orgId, name: 'acme' },
      scopes: ['mcp'],
      credential: { kind: 'access_token', id: claims.credential.id },
    });
    const { structured } = await call(
      'service_auth',
      { operation: 'whoami' },
      stage.tokenFor(claims),
    );

    expect(structured).toMatchObject({
      identity: { id: claims.identityId },
      chain: [
        { kind: 'user', name: 'ann' },
        { kind: 'agent', name: 'deploy-bot' },
      ],
      org: { name: 'acme' },
      scopes: ['mcp'],
      client: { id: 'client-1' },
    });
  });

  test('for create_subagent creates a subagent', async () => {
    const claims = createAgentPrincipal();
    let body: unknown;
    stage.standIns.auth.createSubagent = async (request) => {
      ({ body } = request);
      return createIdentity(randomUUID(), claims.orgId);
    };
    const toolArguments = { operation: 'create_subagent', name: 'helper', ttl: '1h' };
    const { structured } = await call('service_auth', toolArguments);

    expect(body).toEqual({ name: 'helper', ttl: '1h' });
    expect(structured.identity.status).toBe('active');
  });

  test('for request_secret returns a link to a page of the gateway, and requires the scope agents', async () => {
    const { chain, ...claims } = createAgentPrincipal();
    const token = 'A'.repeat(43);
    const secretRequest = {
      name: 'stripe_key',
      reason: 'To read invoices',
      ttl: '1h',
      tier: 'org',
    };
    let body: unknown;
    stage.standIns.executor.requestSecret = async (request) => {
      ({ body } = request);
      return {
        id: randomUUID(),
        name: 'stripe_key',
        tier: 'org',
        reason: null,
        token,
        allowed_hosts: [],
        requested_by: { id: claims.identityId, kind: 'agent', name: 'bot', path: ['ann', 'bot'] },
        created_at: new Date().toISOString(),
        expires_at: new Date().toISOString(),
      };
    };
    const toolArguments = { operation: 'request_secret', ...secretRequest };
    const { structured } = await call('service_auth', toolArguments);

    expect(body).toEqual(secretRequest);
    expect(structured.request.provide_url).toBe(`${url}/provide/${token}`);
    expect(structured.request.token).toBeUndefined();

    const tokenWithoutScope = stage.tokenFor({ chain, scopes: ['actions:call'] });
    const { status } = await postMcp(url, tokenWithoutScope, {
      body: createToolCall('service_auth', toolArguments),
    });
    expect(status).toBe(403);
  });
});

describe('requests for services', () => {
  const { chain, ...claims } = createAgentPrincipal();
  const requestId = randomUUID();
  const request = (status: 'open' | 'ready' | 'declined' | 'cancelled') => ({
    id: requestId,
    kind: 'service' as const,
    status,
    requester: { id: claims.identityId, kind: 'agent' as const, name: 'bot', path: ['ann', 'bot'] },
    tier: 'user' as const,
    template: { key: 'github', title: 'GitHub' },
    name: 'github',
    actions: [],
    scopes: [],
    hosts: ['api.github.com'],
    reason: 'To file issues',
    service_id: status === 'ready' ? randomUUID() : null,
    also_asked_by: [],
    created_at: new Date().toISOString(),
    expires_at: new Date().toISOString(),
    decided_by: null,
    decline_reason: null,
    url: `https://gateway.example/requests/${requestId}`,
  });
  const wantedService = {
    operation: 'request_service',
    template: 'github',
    reason: 'To file issues',
  };
  const statusCall = { operation: 'service_status', request: requestId };
  const cancelCall = { operation: 'cancel_request', request: requestId };
  const createClosedEvent = (id: string) =>
    createFeedItem(createAgentPrincipal(), 1, { type: 'request.closed', data: { request_id: id } });

  test('are made with request_service, and the next call in its answer works', async () => {
    let body: unknown;
    stage.standIns.executor.createRequest = async (given) => {
      ({ body } = given);
      return { request: request('open'), isNew: true };
    };
    stage.standIns.executor.getRequest = async () => request('ready');
    const { structured } = await call('service_auth', wantedService);
    const { operation: _, ...fields } = wantedService;
    expect(body).toEqual({ kind: 'service', ...fields });
    expect(structured).toMatchObject({ request: { id: requestId }, url: request('open').url });

    const next = await call(structured.next.tool, structured.next.arguments);
    expect(next).toMatchObject({ isError: false, structured: { request: { status: 'ready' } } });
    expect(next.structured.next).toBeUndefined();
  });

  test.for<[string, Record<string, unknown>, string]>([
    ['no reason', { ...wantedService, reason: undefined }, 'reason'],
    ['no template', { ...wantedService, template: undefined }, 'template'],
    ['a reason of two lines', { ...wantedService, reason: 'a\nb' }, 'reason'],
    ['a wait without a request', { operation: 'service_status', wait: 5 }, 'wait'],
    ['a wait beyond a minute', { ...statusCall, wait: 61 }, 'wait'],
    ['a request with a service', { ...statusCall, service: 'github' }, 'service'],
    ['no request to take back', { operation: 'cancel_request' }, 'request'],
    ['a wait for what is taken back', { ...cancelCall, wait: 5 }, 'wait'],
  ])('are refused with %s', async ([, toolArguments, path]) => {
    const { structured, isError } = await call('service_auth', toolArguments);
    expect(isError).toBe(true);
    expect(structured.error).toBe('invalid_params');
    expect(JSON.stringify(structured)).toContain(path);
  });

  test('are answered with a note if an open request lacks actions; its requester is told to withdraw it', async () => {
    const incompleteRequest = {
      ...request('open'),
      actions: ['get'],
      actions_left_out: ['create'],
    };
    let requester = incompleteRequest.requester;
    stage.standIns.executor.createRequest = async () => ({
      request: { ...incompleteRequest, requester },
      isNew: false,
    });
    const wanted = { ...wantedService, actions: ['create'] };
    const answerToRequester = await call(
      'service_auth',
      wanted,
      stage.tokenFor({ chain, ...claims }),
    );
    expect(answerToRequester.structured).toMatchObject({
      url: incompleteRequest.url,
      note: expect.stringContaining('create'),
      next: { tool: 'service_auth', arguments: cancelCall },
    });
    requester = { ...requester, id: randomUUID(), name: 'other' };
    const answerToOther = await call('service_auth', wanted);
    expect(answerToOther.structured).toMatchObject({
      note: expect.stringContaining('other asked first'),
      next: { arguments: { operation: 'service_status' } },
    });
  });

  test('are withdrawn with cancel_request, which adds a note if others made the same request', async () => {
    const given: unknown[] = [];
    let status: 'open' | 'cancelled' = 'cancelled';
    stage.standIns.executor.cancelRequest = async ({ id }) => {
      given.push(id);
      return request(status);
    };
    const { structured } = await call('service_auth', cancelCall);
    expect(structured).toMatchObject({ request: { id: requestId, status: 'cancelled' } });
    expect(structured.note).toBeUndefined();
    status = 'open';
    const shared = await call('service_auth', cancelCall);
    expect(shared.structured).toMatchObject({
      request: { status: 'open' },
      note: expect.stringContaining('others'),
    });
    expect(given).toEqual([requestId, requestId]);
  });

  test('require the scope agents', async () => {
    const tokenWithoutScope = stage.tokenFor({ chain, scopes: ['actions:call', 'actions:read'] });
    for (const toolArguments of [wantedService, statusCall, cancelCall]) {
      const body = createToolCall('service_auth', toolArguments);
      expect((await postMcp(url, tokenWithoutScope, { body })).status).toBe(403);
    }
  });

  test('are read at once without wait; with wait, the answer comes when they are closed', async () => {
    let status: 'open' | 'declined' = 'open';
    let readCount = 0;
    stage.standIns.executor.getRequest = async () => {
      readCount += 1;
      return request(status);
    };
    expect(await call('service_auth', statusCall)).toMatchObject({
      structured: { request: { status: 'open' }, next: { tool: 'service_auth' } },
    });

    const readCountBefore = readCount;
    const heldCall = call('service_auth', { ...statusCall, wait: 60 });
    await expect.poll(() => readCount).toBe(readCountBefore + 1);
    await stage.announce(createClosedEvent(randomUUID()));
    status = 'declined';
    await stage.announce({ ...createClosedEvent(requestId), position: 2 });
    expect(await heldCall).toMatchObject({ structured: { request: { status: 'declined' } } });
  });

  test('are returned in their current state when the wait is over', async () => {
    stage.standIns.executor.getRequest = async () => request('open');
    const { structured } = await call('service_auth', { ...statusCall, wait: 1 });
    expect(structured).toMatchObject({ request: { status: 'open' } });
  });
});

describe('the list of tools', () => {
  const bytesMax = 6_144;

  test.for([
    ['MCP version 2025-11-25', { ...createToolCall(''), method: 'tools/list', params: {} }],
    ['MCP version 2026-07-28', null],
  ] as const)('has at most 6 KB, with all six tools, for %s', async ([, body]) => {
    stage.standIns.auth.getSelfApproval = async () => ({ enabled: true });
    const token = stage.tokenFor({
      credential: { ...createAgentPrincipal().credential, clientId: 'client-1' },
    });
    const request = body === null ? createStatelessRequest('tools/list') : { body };
    const answer = await postMcp(url, token, request);
    expect(answer.body.result.tools).toHaveLength(6);
    expect(Buffer.byteLength(JSON.stringify(answer.body))).toBeLessThanOrEqual(bytesMax);
  });

  test('contains every input field of each tool, and marks the required fields', () => {
    for (const { input, inputSchema } of tools) {
      const schema = inputSchema as { properties: object; required?: string[] };
      const required = Object.entries(input.shape).filter(([, field]) => !field.isOptional());
      expect(Object.keys(schema.properties)).toEqual(Object.keys(input.shape));
      expect(schema.required ?? []).toEqual(required.map(([name]) => name));
    }
  });
});

describe('a search that finds nothing', () => {
  test('suggests a search of the catalogue, unless this was one', async () => {
    stage.standIns.registry.search = async () => ({ items: [] });
    const { structured } = await call('service_search', { query: 'send mail' });
    expect(structured).toMatchObject({
      results: [],
      next: { tool: 'service_search', arguments: { query: 'send mail', catalog: true } },
    });
    const secondParams = await call('service_search', { ...structured.next.arguments });
    expect(secondParams.structured).toEqual({ results: [] });
  });
});

describe('wrong arguments', () => {
  test('are refused with an error that names the intended field, or tells where parameters belong', async () => {
    const { tool, repository } = { tool: 'create_issue', repository: 'acme/site' };
    const { structured } = await call('service_call', { service: 'github', tool, repository });
    expect(structured.issues).toEqual([
      { path: 'tool', message: 'is action here', did_you_mean: 'action' },
      { path: 'repository', message: 'is not a known field; put it into params' },
    ]);
    const answerToFlatParams = await call('service_read', { ...createIssueCall, body: 'x' });
    expect(answerToFlatParams.structured.issues).toMatchObject([{ path: 'body' }]);
    expect(answerToFlatParams.structured.message).toContain('go into params');
    const answerToWrongSearch = await call('service_search', { words: 'x' });
    expect(answerToWrongSearch.structured.issues).toMatchObject([
      { expected: 'query, service, action, catalog, limit' },
    ]);
  });

  test('for service_read are refused with an error that does not mention max_risk, which it does not have', async () => {
    stage.standIns.policy.decide = async () => {
      throw new AppError('risk_exceeded', 'Raise max_risk if you mean it.', {
        details: { risk: 'write', max_risk: 'read' },
      });
    };
    const { structured } = await call('service_read', createIssueCall);
    expect(structured).toMatchObject({ error: 'risk_exceeded', risk: 'write' });
    expect(structured.message).toBe(
      'create_issue is more than a read (write); call it with service_call.',
    );
  });
});

describe('the self-approval tool', () => {
  const resolution = { approval_id: approvalId, resolution: 'allow' };
  const createOauthAgent = () =>
    stage.tokenFor({ credential: { ...createAgentPrincipal().credential, clientId: 'client-1' } });
  const toolsOf = async (token: string): Promise<string[]> => {
    const { body } = await postMcp(url, token, {
      body: { ...createToolCall(''), method: 'tools/list', params: {} },
    });
    return body.result.tools.map(({ name }: { name: string }) => name);
  };
  let as: string[];
  beforeEach(() => {
    as = [];
    stage.standIns.approvals.resolve = async (request) => {
      as.push(request.as);
      throw new AppError('already_resolved', 'Somebody was faster.');
    };
  });

  test('is listed and accepted only while the connection allows self-approval', async () => {
    let enabled = true;
    stage.standIns.auth.getSelfApproval = async () => ({ enabled });
    const token = createOauthAgent();

    expect(await toolsOf(token)).toContain('service_approve_self');
    await call('service_approve_self', resolution, token);
    enabled = false;
    expect(await toolsOf(token)).not.toContain('service_approve_self');
    const refusedAnswer = await call('service_approve_self', resolution, token);

    expect(refusedAnswer).toMatchObject({
      isError: true,
      structured: { error: 'self_approval_disabled' },
    });
    await call('service_approve', resolution, token);
    expect(as).toEqual(['self', 'ancestor']);
  });

  test.for(['service_approve', 'service_approve_self'])(
    '%s accepts every decision of the REST route, with the same field names',
    async (tool) => {
      stage.standIns.auth.getSelfApproval = async () => ({ enabled: true });
      const decisions: unknown[] = [];
      stage.standIns.approvals.resolve = async ({ body }) => {
        decisions.push(body);
        throw new AppError('already_resolved', 'Somebody was faster.');
      };
      const rejectedArguments = [
        ...Object.values(sampleDecisions),
        { resolution: 'deny', reason: 'Not on a Friday.' },
        {
          resolution: 'allow_remember',
          ttl: '1d12h',
          reason: 'Fine.',
          cascade: false,
          remember_keys: summary.permissionKeys,
        },
      ];
      const token = createOauthAgent();
      for (const body of rejectedArguments) {
        const { structured } = await call(tool, { approval_id: approvalId, ...body }, token);
        expect(structured.error).toBe('already_resolved');
      }
      expect(decisions).toEqual(rejectedArguments);
    },
  );

  test.for(['service_approve', 'service_approve_self'])(
    '%s requires a ttl to remember a decision',
    async (tool) => {
      stage.standIns.auth.getSelfApproval = async () => ({ enabled: true });
      const toolArguments = { approval_id: approvalId, resolution: 'allow_remember' };
      const { structured } = await call(tool, toolArguments, createOauthAgent());
      expect(structured).toMatchObject({ error: 'invalid_params', issues: [{ path: 'ttl' }] });
      expect(as).toEqual([]);
    },
  );

  test('is never listed for an agent key', async () => {
    stage.standIns.auth.getSelfApproval = async () => ({ enabled: true });
    const token = stage.tokenFor();

    expect(await toolsOf(token)).not.toContain('service_approve_self');
    const { structured } = await call('service_approve_self', resolution, token);
    expect(structured.error).toBe('self_approval_disabled');
    expect(as).toEqual([]);
  });
});

function createIdentity(id: string, orgId: string) {
  return {
    id,
    org_id: orgId,
    kind: 'agent' as const,
    name: 'deploy-bot',
    parent_id: null,
    owner_id: id,
    depth: 1,
    path: ['ann', 'deploy-bot'],
    inherit_permissions: false,
    auto_call_on_approve: true,
    status: 'active' as const,
    created_at: new Date().toISOString(),
    last_active_at: null,
    expires_at: null,
  };
}

function createApproval(isDone: boolean) {
  const at = envelope.expires_at;
  const requester = { id: auditId, kind: 'agent' as const, name: 'deploy-bot', path: ['ann'] };
  return {
    id: approvalId,
    status: isDone ? ('allowed' as const) : ('pending' as const),
    relationship: 'self' as const,
    risk: 'med' as const,
    permission_keys: summary.permissionKeys,
    suggested_tiers: [],
    derived_keys: [],
    expires_at: at,
    ...(isDone
      ? {
          execution: {
            id: auditId,
            status: 'executed' as const,
            runtime: 'http' as const,
            triggered_by: 'auto' as const,
            created_at: at,
            started_at: at,
            finished_at: at,
            expires_at: at,
          },
        }
      : {}),
    requester,
    resolver_id: auditId,
    may_resolve: [],
    placement: { id: auditId, kind: 'agent' as const, name: 'deploy-bot' },
    service: 'github',
    template: 'github',
    action: 'create_issue',
    action_description: 'Create issue',
    request: {
      method: 'POST',
      url: 'https://api.example/',
      params: {},
      headers: {},
      content_type: null,
      body: null,
      credentials: [],
    },
    disclosed: [],
    reason: null,
    created_at: at,
    resolved_at: null,
    resolved_by: null,
    resolution: null,
    auto_call_on_approve: true,
  };
}
