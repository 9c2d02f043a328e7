import { randomUUID } from 'node:crypto';

import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { resolveApprovalBody } from '#contracts/http/approvals';
import type { PendingApproval } from '#contracts/http/approvals';
import { AppError } from '#errors';
import { createStage } from '../neighbours.testing.ts';
import type { Stage } from '../neighbours.testing.ts';
import { agent, feedItemOf } from '../principals.testing.ts';
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

/** Everything that reached a component behind the tools. */
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
    result: upstream,
    replayed: false,
  });
});

async function call(name: string, given: unknown, token = stage.tokenFor()) {
  const { status, body } = await postMcp(url, token, { body: callTool(name, given) });
  expect(status).toBe(200);
  const { structuredContent, content, isError } = body.result;
  expect(JSON.parse(content[0].text)).toEqual(structuredContent);
  return { structured: structuredContent, content, isError: isError === true };
}

const create = { service: 'github', action: 'create_issue' };

describe('arguments', () => {
  test.for<[string, string, Record<string, unknown>, string]>([
    [
      'raw HTTP',
      'service_call',
      { service: 'http', method: 'GET', path: 'https://x.example/' },
      'method',
    ],
    ['a path', 'service_call', { ...create, path: '/x' }, 'path'],
    ['an unknown field', 'service_call', { ...create, parameters: {} }, 'parameters'],
    ['a filter on service_call', 'service_call', { ...create, filter: '.' }, 'filter'],
    ['a resume with an action', 'service_call', { approval_id: approvalId, action: 'x' }, 'action'],
    ['a resume with params', 'service_call', { approval_id: approvalId, params: {} }, 'params'],
    ['a resume with everything', 'service_call', { ...create, approval_id: approvalId }, 'service'],
    ['no service', 'service_call', { action: 'x' }, 'service'],
    ['no action', 'service_call', { service: 'github' }, 'action'],
    ['nothing', 'service_call', {}, 'service'],
    ['params of another type', 'service_call', { ...create, params: 5 }, 'params'],
    ['params that are half JSON', 'service_call', { ...create, params: '{"a":' }, 'params'],
    ['an approval_id on service_read', 'service_read', { approval_id: approvalId }, 'approval_id'],
    ['max_risk on service_read', 'service_read', { ...create, max_risk: 'write' }, 'max_risk'],
    ['another operation', 'service_auth', { operation: 'become_admin' }, 'operation'],
    ['a name for whoami', 'service_auth', { operation: 'whoami', name: 'x' }, 'name'],
    ['no name', 'service_auth', { operation: 'create_subagent' }, 'name'],
    ['no name', 'service_auth', { operation: 'request_secret', reason: 'x' }, 'name'],
    [
      'a value',
      'service_auth',
      { operation: 'request_secret', name: 'x', value: 'CANARY' },
      'value',
    ],
    ['a reason', 'service_auth', { operation: 'whoami', reason: 'x' }, 'reason'],
    ['no provider', 'service_auth', { operation: 'request_connection' }, 'provider'],
    [
      'two ways to say with whom',
      'service_auth',
      { operation: 'request_connection', provider: 'google', template: 'gmail' },
      'provider',
    ],
    [
      'a name nobody may have',
      'service_auth',
      { operation: 'create_subagent', name: 'Http' },
      'name',
    ],
    [
      'another resolution',
      'service_approve',
      { approval_id: approvalId, resolution: 'approve' },
      'resolution',
    ],
    ['a limit', 'service_search', { limit: 0 }, 'limit'],
  ])('%s is refused by name, and nothing is asked', async ([, tool, given, path]) => {
    const { structured, isError } = await call(tool, given);

    expect(isError).toBe(true);
    expect(structured.error).toBe('invalid_params');
    expect(structured.issues.map((issue: { path: string }) => issue.path)).toContain(path);
    expect(asked).toEqual([]);
  });

  test('raw HTTP is told where it is to be had', async () => {
    const { structured } = await call('service_call', {
      method: 'GET',
      path: 'https://x.example/',
    });
    expect(structured.message).toContain('POST /v1/actions/call');
    const http = await call('service_call', { service: 'http', action: 'GET' });
    expect(http.structured.message).toContain('POST /v1/actions/call');
    expect(http.structured['issues']).toEqual([
      { path: 'service', message: 'is raw HTTP; name a connected service' },
    ]);
    expect(http.isError).toBe(true);
  });

  test.for([
    [{ title: 'x' }, { title: 'x' }],
    ['{"title":"x"}', { title: 'x' }],
    ['null', {}],
    [null, {}],
    [undefined, {}],
  ])('params %j are understood', async ([params, understood]) => {
    await call('service_call', { ...create, params });
    expect(asked).toMatchObject([{ call: { params: understood } }]);
  });

  test('of a tool there is not is a protocol error', async () => {
    const { body } = await postMcp(url, stage.tokenFor(), { body: callTool('service_http') });
    expect(body.error.code).toBe(-32_602);
  });
});

describe('a called action', () => {
  test('is compact, or verbose with headers and the body as text', async () => {
    const compact = await call('service_call', create);
    expect(compact.structured.result).toEqual({
      status_code: 201,
      duration_ms: 3,
      body: { number: 7 },
    });
    const verbose = await call('service_call', { ...create, verbose: true });
    expect(verbose.structured.result).toEqual({ ...upstream, body: '{"number":7}' });
  });

  test('with a long body shows whole items of it, and says what is missing', async () => {
    const body = Array.from({ length: 2_000 }, () => 'übermäßig');
    stage.neighbours.executor.execute = async () => ({
      kind: 'called',
      auditId,
      result: { ...upstream, body },
      replayed: false,
    });
    const { structured } = await call('service_call', create);

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
    const verbose = await call('service_call', { ...create, verbose: true });
    expect(JSON.parse(verbose.structured.result.body)).toEqual(body);
  });

  test('with a file names it, and gives a link to it', async () => {
    const file = {
      download_url: 'https://gateway.example/v1/files/01890000-0000-7000-8000-000000000001',
      name: 'report.pdf',
      content_type: 'application/pdf',
      size: 700_000,
      sha256: 'a'.repeat(64),
      expires_at: '2026-01-01T00:00:00.000Z',
    };
    stage.neighbours.executor.execute = async () => ({
      kind: 'called',
      auditId,
      result: { ...upstream, body: null, file },
      replayed: false,
    });
    for (const verbose of [false, true]) {
      const { structured, content } = await call('service_call', { ...create, verbose });
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

  test('by service_read may only read, and may be filtered', async () => {
    stage.neighbours.executor.execute = async () => ({
      kind: 'called',
      auditId,
      result: { ...upstream, filtered_body: [7] },
      replayed: false,
    });
    const { structured } = await call('service_read', { ...create, filter: '[.number]' });

    expect(asked).toMatchObject([{ call: { filter: '[.number]' }, options: { maxRisk: 'read' } }]);
    expect(structured.result).toEqual({ status_code: 201, duration_ms: 3, filtered_body: [7] });
  });

  test('that fails is an error the client can validate', async () => {
    stage.neighbours.policy.decide = async () => {
      throw new AppError('risk_exceeded', 'create_issue is more than a read.');
    };
    await using connected = await connectClient(url, stage.tokenFor());
    await connected.client.listTools();
    const answer = await connected.client.callTool({ name: 'service_read', arguments: create });

    expect(answer.isError).toBe(true);
    expect(answer.structuredContent).toMatchObject({
      error: 'risk_exceeded',
      message: 'create_issue is more than a read.',
    });
  });
});

describe('a suspended action', () => {
  let decided: boolean;
  beforeEach(() => {
    decided = false;
    stage.neighbours.policy.decide = async () => ({
      outcome: 'gap',
      gap: 'signed-gap-of-this-call',
      ...summary,
    });
    stage.neighbours.approvals.raise = async () => ({ kind: 'pending', envelope });
    stage.neighbours.approvals.get = async () => ({ ...approval(decided), proof: null });
    stage.neighbours.approvals.resume = async () =>
      decided
        ? { kind: 'called', result: upstream, description: 'Create issue', auditId }
        : { kind: 'pending', envelope };
  });

  test('answers with the envelope at once where the client opens no URLs', async () => {
    expect((await call('service_call', create)).structured).toEqual(envelope);
    await using connected = await connectClient(url, stage.tokenFor(), {
      elicitation: { form: {} },
    });
    const answer = await connected.client.callTool({ name: 'service_call', arguments: create });
    expect(answer.structuredContent).toEqual(envelope);
  });

  test('sends the person at a client of 2025-11-25 to the page and holds the answer for them', async () => {
    await using connected = await connectClient(url, stage.tokenFor(), {
      elicitation: { url: {} },
    });
    const opened = onOpenUrl(connected.client, async () => {
      decided = true;
      return { action: 'accept' };
    });

    const answer = await connected.client.callTool({ name: 'service_call', arguments: create });

    expect(opened).toMatchObject([
      { mode: 'url', url: envelope.approval_url, elicitationId: approvalId },
    ]);
    expect(answer.structuredContent).toMatchObject({
      status: 'called',
      result: { status_code: 201 },
    });
  });

  test('answers with the envelope when that person declines', async () => {
    await using connected = await connectClient(url, stage.tokenFor(), {
      elicitation: { url: {} },
    });
    onOpenUrl(connected.client, async () => ({ action: 'decline' }));

    const answer = await connected.client.callTool({ name: 'service_call', arguments: create });

    expect(answer.structuredContent).toEqual(envelope);
  });

  test('depends on no answer of the client: it may reach another replica, or come from a stranger', async () => {
    await using other = await stage.gateway();
    const claims = agent();
    const token = stage.tokenFor(claims);
    const opened = await postMcp(url, token, {
      body: initialize('2025-11-25', { elicitation: { url: {} } }),
    });
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    const reply = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        ...session,
        authorization: `Bearer ${token}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      },
      body: JSON.stringify(callTool('service_call', create, 'held')),
    });
    const reader = reply.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = (await reader?.read())?.value ?? '';
    const request = JSON.parse(/data: (.*)/.exec(text)?.[1] ?? '{}');
    expect(request).toMatchObject({ method: 'elicitation/create', params: { mode: 'url' } });

    const answer = (action: string) => ({
      body: { jsonrpc: '2.0', id: request.id, result: { action } },
    });
    const stranger = await postMcp(url, stage.tokenFor(), answer('decline'));
    const elsewhere = await postMcp(other.url, token, { ...answer('accept'), headers: session });
    expect([stranger.status, elsewhere.status]).toEqual([202, 202]);
    decided = true;
    const event = { type: 'approval.resolved', data: { approval_id: approvalId } } as const;
    await stage.announce(feedItemOf(claims, 1, event));

    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
      text += part.value;
    }
    expect(text).toContain('notifications/elicitation/complete');
    const last = JSON.parse(text.trim().split('data: ').at(-1) ?? '');
    expect(last).toMatchObject({ id: 'held', result: { structuredContent: { status: 'called' } } });
  });

  test('says input_required to a client of 2026-07-28, and takes the same approval up again', async () => {
    const token = stage.tokenFor();
    const params = { name: 'service_call', arguments: create };
    const first = await postMcp(
      url,
      token,
      stateless('tools/call', params, { elicitation: { url: {} } }),
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

    stage.neighbours.approvals.raise = async () => {
      throw new Error('the retry must not raise another');
    };
    const retry = (action: string) =>
      stateless(
        'tools/call',
        { ...params, requestState: approvalId, inputResponses: { approval: { action } } },
        { elicitation: { url: {} } },
      );
    const declined = await postMcp(url, token, retry('decline'));
    expect(declined.body.result).toMatchObject({
      resultType: 'complete',
      structuredContent: envelope,
    });
    const asRead = retry('accept');
    Object.assign(asRead.body['params'] as object, { name: 'service_read' });
    const refused = await postMcp(url, token, {
      body: asRead.body,
      headers: { ...asRead.headers, 'mcp-name': 'service_read' },
    });
    expect(refused.body.result.structuredContent.error).toBe('risk_exceeded');
    decided = true;
    const accepted = await postMcp(url, token, retry('accept'));
    expect(accepted.body.result.structuredContent).toMatchObject({ status: 'called' });
  });
});

describe('an action whose service nobody has signed in to', () => {
  const page = 'https://gateway.example.com/connect/1';
  const connectionId = randomUUID();
  const params = { name: 'service_call', arguments: create };
  beforeEach(() => {
    stage.neighbours.policy.decide = async () => {
      throw new AppError('needs_authentication', 'Sign in at auth_url, then call again.', {
        details: { auth_url: page, connection_id: connectionId },
      });
    };
  });

  test('is a typed error with the address where the client opens no URLs', async () => {
    const { structured } = await call('service_call', create);
    expect(structured).toMatchObject({ error: 'needs_authentication', auth_url: page });
  });

  test('sends the person at a client of 2025-11-25 there by the error of the protocol', async () => {
    await using connected = await connectClient(url, stage.tokenFor(), {
      elicitation: { url: {} },
    });
    await expect(connected.client.callTool(params)).rejects.toMatchObject({
      code: -32_042,
      data: { elicitations: [{ mode: 'url', url: page, elicitationId: connectionId }] },
    });
  });

  test('sends the person at a client of 2026-07-28 there once', async () => {
    const capabilities = { elicitation: { url: {} } };
    const token = stage.tokenFor();
    const first = await postMcp(url, token, stateless('tools/call', params, capabilities));
    const { resultType, inputRequests, requestState } = first.body.result;
    expect(resultType).toBe('input_required');
    expect(inputRequests.authorization.params).toMatchObject({ mode: 'url', url: page });

    const inputResponses = { authorization: { action: 'accept' } };
    const again = { ...params, requestState, inputResponses };
    const retry = () => postMcp(url, token, stateless('tools/call', again, capabilities));
    expect((await retry()).body.result.structuredContent.error).toBe('needs_authentication');
    stage.neighbours.policy.decide = async () => ({
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
  const opened: unknown[] = [];
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    opened.push(params);
    return answer();
  });
  return opened;
}

describe('identity', () => {
  test('whoami tells identity, chain, org, scopes and client', async () => {
    const claims = { ...agent(), credential: { ...agent().credential, clientId: 'client-1' } };
    stage.neighbours.auth.getMe = async () => ({
      ...identityOf(claims.identityId, claims.orgId),
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

  test('create_subagent makes one', async () => {
    const claims = agent();
    let body: unknown;
    stage.neighbours.auth.createSubagent = async (request) => {
      ({ body } = request);
      return identityOf(randomUUID(), claims.orgId);
    };
    const given = { operation: 'create_subagent', name: 'helper', ttl: '1h' };
    const { structured } = await call('service_auth', given);

    expect(body).toEqual({ name: 'helper', ttl: '1h' });
    expect(structured.identity.status).toBe('active');
  });

  test('request_secret hands out a link to a page of the gateway, and needs the scope agents', async () => {
    const { chain, ...claims } = agent();
    const token = 'A'.repeat(43);
    const wish = { name: 'stripe_key', reason: 'To read invoices', ttl: '1h', tier: 'org' };
    let body: unknown;
    stage.neighbours.executor.requestSecret = async (request) => {
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
    const given = { operation: 'request_secret', ...wish };
    const { structured } = await call('service_auth', given);

    expect(body).toEqual(wish);
    expect(structured.request.provide_url).toBe(`${url}/provide/${token}`);
    expect(structured.request.token).toBeUndefined();

    const scopeless = stage.tokenFor({ chain, scopes: ['actions:call'] });
    const { status } = await postMcp(url, scopeless, { body: callTool('service_auth', given) });
    expect(status).toBe(403);
  });
});

describe('self-approval', () => {
  const resolution = { approval_id: approvalId, resolution: 'allow' };
  const viaClient = () =>
    stage.tokenFor({ credential: { ...agent().credential, clientId: 'client-1' } });
  const toolsOf = async (token: string): Promise<string[]> => {
    const { body } = await postMcp(url, token, {
      body: { ...callTool(''), method: 'tools/list', params: {} },
    });
    return body.result.tools.map(({ name }: { name: string }) => name);
  };
  let as: string[];
  beforeEach(() => {
    as = [];
    stage.neighbours.approvals.resolve = async (request) => {
      as.push(request.as);
      throw new AppError('already_resolved', 'Somebody was faster.');
    };
  });

  test('is there only while the connection has it, and asks each time', async () => {
    let enabled = true;
    stage.neighbours.auth.getSelfApproval = async () => ({ enabled });
    const token = viaClient();

    expect(await toolsOf(token)).toContain('service_approve_self');
    await call('service_approve_self', resolution, token);
    enabled = false;
    expect(await toolsOf(token)).not.toContain('service_approve_self');
    const refused = await call('service_approve_self', resolution, token);

    expect(refused).toMatchObject({
      isError: true,
      structured: { error: 'self_approval_disabled' },
    });
    await call('service_approve', resolution, token);
    expect(as).toEqual(['self', 'ancestor']);
  });

  test.for(['service_approve', 'service_approve_self'])(
    '%s takes every decision that REST takes, by the same names',
    async (tool) => {
      stage.neighbours.auth.getSelfApproval = async () => ({ enabled: true });
      const decisions: unknown[] = [];
      stage.neighbours.approvals.resolve = async ({ body }) => {
        decisions.push(body);
        throw new AppError('already_resolved', 'Somebody was faster.');
      };
      const given = [
        ...resolveApprovalBody.shape.resolution.options.map((each) => ({
          resolution: each,
          ...(each === 'allow_remember' ? { ttl: '24h' } : {}),
        })),
        { resolution: 'deny', reason: 'Not on a Friday.' },
        {
          resolution: 'allow_remember',
          ttl: '1d12h',
          reason: 'Fine.',
          cascade: false,
          remember_keys: summary.permissionKeys,
        },
      ];
      const token = viaClient();
      for (const body of given) {
        const { structured } = await call(tool, { approval_id: approvalId, ...body }, token);
        expect(structured.error).toBe('already_resolved');
      }
      expect(decisions).toEqual(given);
    },
  );

  test.for(['service_approve', 'service_approve_self'])(
    '%s does not remember without being told for how long',
    async (tool) => {
      stage.neighbours.auth.getSelfApproval = async () => ({ enabled: true });
      const given = { approval_id: approvalId, resolution: 'allow_remember' };
      const { structured } = await call(tool, given, viaClient());
      expect(structured).toMatchObject({ error: 'invalid_params', issues: [{ path: 'ttl' }] });
      expect(as).toEqual([]);
    },
  );

  test('is never there for an agent key', async () => {
    stage.neighbours.auth.getSelfApproval = async () => ({ enabled: true });
    const token = stage.tokenFor();

    expect(await toolsOf(token)).not.toContain('service_approve_self');
    const { structured } = await call('service_approve_self', resolution, token);
    expect(structured.error).toBe('self_approval_disabled');
    expect(as).toEqual([]);
  });
});

function identityOf(id: string, orgId: string) {
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

function approval(isDone: boolean) {
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
