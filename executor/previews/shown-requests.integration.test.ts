import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { ShownRequest } from '#contracts/http/approvals';
import type { Call } from '#contracts/call';
import type { Gap, Injection, Permit } from '#contracts/permit';
import { createSampleTools, startMcpServer } from '../../test/support/mcp-server.ts';
import { actionOf, templateOf } from '../request/domain/action.testing.ts';
import { actions, canary, context, createWorld, options, testDeadline } from '../world.testing.ts';
import type { Hit, World } from '../world.testing.ts';

let world: World;

beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => world.upstream.reset());

async function preview(call: Call, parts: Partial<Gap> & Parameters<World['gapOf']>[1] = {}) {
  const approvalId = uuidv7();
  const gap = world.gapOf(call, { jti: approvalId, ...parts });
  const preview = await world.approvals.preview({ gap, call, options, approvalId }, testDeadline());
  if (preview.kind !== 'preview') throw new Error('seen');
  const dryRun = { gapOrPermit: gap, kind: 'gap' as const, call, isAskedAbout: true };
  const secondShow = await world.policy.showRequest(dryRun, testDeadline());
  // A dry run of the call shows the same request.
  expect(secondShow.request).toEqual(preview.request);
  return { ...preview, gap, approvalId };
}

/** Returns the request that the approver was shown, and the one that the upstream received. */
async function approve(call: Call, parts: Parameters<typeof preview>[1] = {}) {
  const { request, gap, approvalId, sealedCall } = await preview(call, parts);
  const gapContent = JSON.parse(
    Buffer.from(gap.split('.')[0] ?? '', 'base64url').toString(),
  ) as Gap;
  const executionId = uuidv7();
  const { target, injections, hosts, keys, nonRead, risk } = gapContent;
  const permit = world.permitOf(call, {
    ...({ target, injections, hosts, keys, nonRead, risk } as Partial<Permit>),
    approvalId,
    executionId,
    dispatchId: executionId,
  });
  await world.approvals.executeFrozen({ permit, sealedCall, context }, testDeadline());
  const hit = world.upstream.hits.at(-1);
  if (hit === undefined) throw new Error('nothing was sent');
  return { request, hit };
}

/** Headers that every request has. The approval card leaves them out. */
const transportHeaders = ['accept-encoding', 'connection', 'content-length', 'host', 'user-agent'];

/**
 * Turns the request that an upstream received into the form of a shown request, without
 * credentials.
 */
function toShownForm(hit: Hit, { credentials }: ShownRequest) {
  const url = new URL(hit.url, world.upstream.baseUrl);
  const credentialNamesIn = (place: 'header' | 'query') =>
    credentials.filter((each) => each.in === place).map(({ key }) => key.toLowerCase());
  for (const name of credentialNamesIn('query')) url.searchParams.delete(name);
  const hiddenHeaders = [...transportHeaders, 'content-type', ...credentialNamesIn('header')];
  if (hit.headers.accept === '*/*') hiddenHeaders.push('accept');
  const headers = Object.entries(hit.headers).filter(([name]) => !hiddenHeaders.includes(name));
  return {
    method: hit.method,
    url: url.href,
    headers: Object.fromEntries(headers),
    content_type: hit.headers['content-type'] ?? null,
    body: hit.body,
  };
}

const toComparableText = ({ method, url, headers, content_type, body }: ShownRequest) => ({
  method,
  url,
  headers,
  content_type,
  body: body === null ? '' : typeof body === 'string' ? body : JSON.stringify(body),
});

async function storeSecret(name: string) {
  const value = canary();
  const body = { name, value, allowed_hosts: [world.upstream.host] };
  const { id } = await world.gateway.createSecret({ principal: world.admin, body }, testDeadline());
  const injection: Injection = {
    kind: 'secret',
    credentialId: id,
    credentialName: name,
    in: 'header',
    key: 'Authorization',
    prefix: 'Bearer ',
    encoding: 'raw',
  };
  return { value, injection };
}

describe('the shown request equals the request that is sent', () => {
  const oddTarget = {
    'X-Amz-Target': 'DynamoDB.DeleteTable',
    'X-Role': 'root',
    'X-Goog-User-Project': 'größe',
    Accept: 'text/csv',
  };

  test('for a call by method and path with headers of its own', async () => {
    const call = world.rawCall({
      service: 'acme',
      method: 'POST',
      target: '/things?q=1',
      query: { w: ['a b', 'c'] },
      headers: oddTarget,
      body: { title: 't' },
    });
    const { request, hit } = await approve(call);

    const bytes = Buffer.from('größe').toString('latin1');
    expect({
      ...toComparableText(request),
      headers: { ...request.headers, 'x-goog-user-project': bytes },
    }).toEqual(toShownForm(hit, request));
    expect(request).toMatchObject({
      headers: { 'x-amz-target': 'DynamoDB.DeleteTable', 'x-goog-user-project': 'größe' },
      content_type: 'application/json',
      body: { title: 't' },
      credentials: [],
    });
  });

  test('for a call by full URL with secrets in its query and in a header', async () => {
    const [first, second] = [await storeSecret('in_query'), await storeSecret('in_header')];
    const injections: Injection[] = [
      { ...first.injection, in: 'query', key: 'note', prefix: '' },
      { ...second.injection, key: 'X-Team', prefix: 'team ' },
    ];
    const call = world.rawCall({
      method: 'POST',
      target: `${world.upstream.baseUrl}/issues?q=1&Note=mine`,
      query: { note: 'mine too' },
      headers: { 'x-team': 'mine', 'X-Role': 'root' },
      body: 'text',
    });
    const { request, hit } = await approve(call, { injections });

    expect(toComparableText(request)).toEqual(toShownForm(hit, request));
    expect(request).toMatchObject({
      params: {},
      credentials: [
        { kind: 'secret', name: 'in_query', in: 'query', key: 'note' },
        { kind: 'secret', name: 'in_header', in: 'header', key: 'X-Team', prefix: 'team ' },
      ],
    });
    expect(hit.url).toBe(`/issues?q=1&note=${first.value}`);
    expect(hit.headers['x-team']).toBe(`team ${second.value}`);
    expect(JSON.stringify(request)).not.toMatch(/CANARY|mine/);
  });

  test.for([
    ['an object', { title: 't', amount: '1 2', tags: ['a', 'b'], deep: { a: { b: 'c' } } }],
    ['a text', 'title=t&amount=1'],
  ])('for a form given as %s', async ([, body]) => {
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const target = `${world.upstream.baseUrl}/things`;
    const call = world.rawCall({ method: 'POST', target, headers, body: body as string });
    const { request, hit } = await approve(call);

    expect(toComparableText(request)).toEqual(toShownForm(hit, request));
    expect(request.body).toMatch(/^title=t&amount=1/);
  });

  test('for a service with a connection, and the card shows the account of the connection', async () => {
    const id = uuidv7();
    await world.sql`
      insert into executor.connection
             (id, org_id, name, provider, tier, owner_id, status, account_label, allowed_hosts,
              created_by)
      values (${id}, ${world.orgId}, 'acme_account', 'acme', 'user', ${world.userId}, 'needs_reauth',
              'ann@acme.example', ${[world.upstream.host]}, ${world.userId})
    `;
    const { request } = await preview(world.actionCall('create', { title: 't' }), {
      connections: [{ id, name: 'acme_account' }],
    });

    expect(request.credentials).toEqual([
      {
        kind: 'connection',
        name: 'acme_account',
        account: 'ann@acme.example',
        in: 'header',
        key: 'Authorization',
        prefix: 'Bearer ',
      },
    ]);
  });

  test('for an action with header parameters', async () => {
    const actionWithHeaders = actionOf({
      key: 'tag',
      method: 'POST',
      path: '/tags',
      risk: 'write',
      redact: ['params.note'],
      params: [
        {
          name: 'version',
          wireName: 'X-Version',
          in: 'header',
          schema: { type: 'string', default: '2026-01' },
        },
        { name: 'as', wireName: 'Sudo', in: 'header' },
        { name: 'note', wireName: 'X-Note', in: 'header' },
      ],
    });
    world.template.current = { ...templateOf([...actions, actionWithHeaders]), version: 2 };
    const call = world.actionCall('tag', { as: 'root', note: canary() });
    const template = { key: 'acme', tier: 'global', ownerId: null, version: 2 } as const;
    const { baseUrl } = world.upstream;
    const target = { kind: 'action', service: 'acme', action: 'tag', baseUrl, template } as const;
    const { request, hit } = await approve(call, {
      risk: 'write',
      nonRead: true,
      target: { ...target, serviceId: uuidv7() },
    });

    expect(request.headers).toEqual({
      'x-version': '2026-01',
      sudo: 'root',
      'x-note': '[REDACTED]',
    });
    expect(hit.headers).toMatchObject({ 'x-version': '2026-01', sudo: 'root' });
    expect(JSON.stringify(request)).not.toContain('CANARY');
  });

  test('for a tool of an MCP server, with the headers that repeat arguments', async () => {
    await using server = await startMcpServer('stateless', createSampleTools());
    const { host, origin } = new URL(server.url);
    const action = actionOf({
      key: 'create_issue',
      method: 'POST',
      path: '/mcp',
      risk: 'write',
      params: [
        { name: 'title', in: 'body' },
        { name: 'token', in: 'body' },
      ],
      body: { mediaType: 'application/json', wholeBody: false, required: true, parts: {} },
      redact: ['params.token'],
    });
    const headers = [
      { path: ['title'], name: 'Title' },
      { path: ['token'], name: 'Access' },
    ];
    world.template.current = {
      ...templateOf([action]),
      version: 3,
      runtime: 'mcp',
      mcp: {
        path: '/mcp',
        autodiscover: true,
        overrides: {},
        protocolVersion: '2026-07-28',
        pins: { create_issue: { hash: '0'.repeat(64), headers } },
      },
    };
    const template = { key: 'acme', tier: 'global', ownerId: null, version: 3 } as const;
    const namedCall = { kind: 'action', service: 'acme', action: 'create_issue' } as const;
    const target = { ...namedCall, serviceId: uuidv7(), template, baseUrl: origin, runtime: 'mcp' };
    const call = world.actionCall('create_issue', { title: 'Zürich', token: canary() });
    const { request } = await preview(call, {
      ...({ hosts: [host], nonRead: true, risk: 'write', target } as Partial<Gap>),
    });

    expect(request).toEqual({
      method: 'tools/call',
      url: server.url,
      content_type: 'application/json',
      params: { title: 'Zürich', token: '[REDACTED]' },
      headers: {
        'mcp-param-title': `=?base64?${Buffer.from('Zürich').toString('base64')}?=`,
        'mcp-param-access': '[REDACTED]',
      },
      body: { title: 'Zürich', token: '[REDACTED]' },
      credentials: [],
      redacted: ['/body/token', '/headers/mcp-param-access', '/params/token'],
    });
  });

  test('for a call that needs no approval', async () => {
    const { injection } = await storeSecret('audited');
    const call = world.rawCall({
      method: 'POST',
      target: `${world.upstream.baseUrl}/audited`,
      headers: { 'X-Role': 'root', Cookie: 'sid=CANARY' },
      body: { a: 1 },
    });
    const permit = world.permitOf(call, { injections: [injection] });
    await world.gateway.execute({ permit, call, options, context }, testDeadline());

    const records = [await world.outbox('action.intent'), await world.outbox('action.outcome')];
    for (const events of records) {
      expect(events.at(-1)?.audit?.request).toEqual({
        headers: { 'x-role': 'root', cookie: '[REDACTED] (10 characters)' },
        content_type: 'application/json',
        credentials: [
          {
            kind: 'secret',
            name: 'audited',
            in: 'header',
            key: 'Authorization',
            prefix: 'Bearer ',
          },
        ],
      });
    }
  });
});

describe('the title of the service on an approval card', () => {
  const titleOf = async (tier: 'global' | 'org' | 'user') => {
    const call = world.actionCall('create', { title: 't' });
    const { target } = JSON.parse(
      Buffer.from(world.gapOf(call, {}).split('.')[0] ?? '', 'base64url').toString(),
    ) as Gap;
    if (target.kind !== 'action') throw new Error('no action');
    const template = { ...target.template, tier };
    return (await preview(call, { target: { ...target, template } })).serviceTitle?.title;
  };

  test('is the title of a template that is built in or published by an admin', async () => {
    world.template.current = templateOf(actions);
    expect([await titleOf('global'), await titleOf('org')]).toEqual(['Acme', 'Acme']);
  });

  test('is left out for a member’s template, which could have the title of any service', async () => {
    world.template.current = templateOf(actions);
    expect(await titleOf('user')).toBeUndefined();
  });
});
