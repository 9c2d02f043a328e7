import { createHash } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { Principal } from '#contracts/vocabulary';
import { canary, context, createWorld, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
// The tests share one agent, whose open requests are limited.
beforeEach(() => world.sql`delete from executor.person_request`);

type RequestBody = Parameters<World['gateway']['requestSecret']>[0]['body'];
type ProvideBody = Parameters<World['gateway']['provideSecret']>[0]['body'];

const createOwner = (parts: Partial<Principal> = {}) =>
  world.principalOf({ role: 'member', ...parts });
const createAgent = (parts: Partial<Principal> = {}) =>
  world.principalOf({
    role: null,
    kind: 'agent',
    identityId: world.agentId,
    chain: world.chain,
    scopes: ['agents'],
    ...parts,
  });
const createSecretRequest = (body: RequestBody, principal = createAgent()) =>
  world.gateway.requestSecret({ principal, body, context }, testDeadline());
const showSecretRequest = (token: string, principal = createOwner()) =>
  world.gateway.getSecretRequest({ principal, token }, testDeadline());
const provideValue = (token: string, body: Partial<ProvideBody> = {}, principal = createOwner()) =>
  world.gateway.provideSecret(
    { principal, token, body: { value: canary(), allowed_hosts: [], ...body }, context },
    testDeadline(),
  );
const expireNow = (id: string) =>
  world.sql.begin(async (tx) => {
    await tx`update executor.secret_request set expires_at = now() where id = ${id}`;
    await tx`update executor.person_request set expires_at = now() where id = ${id}`;
  });

describe('a new value of a refused secret', () => {
  const storeRefused = async (name: string) => {
    const body = { name, value: canary(), allowed_hosts: ['api.example.com'] };
    const owner = createOwner();
    const { id } = await world.gateway.createSecret({ principal: owner, body }, testDeadline());
    await world.sql`update executor.secret set refused_at = now(), refused_version = 1 where id = ${id}`;
    return id;
  };

  test('is requested under the secret’s name, for its hosts, and ends the refusal', async () => {
    const id = await storeRefused('refused_key');
    const request = await createSecretRequest({
      name: 'refused_key',
      allowed_hosts: ['evil.example'],
    });
    expect(request).toMatchObject({
      allowed_hosts: ['api.example.com'],
      refused_at: expect.any(String),
    });
    const { token, ...shown } = request;
    expect(await showSecretRequest(token)).toEqual(shown);
    expect(await createSecretRequest({ name: 'refused_key' })).toMatchObject({
      id: request.id,
      refused_at: request.refused_at,
    });

    await expect(
      provideValue(token, { allowed_hosts: ['api.example.com', 'evil.example'] }),
    ).rejects.toMatchObject({ code: 'host_not_allowed', details: { hosts: ['evil.example'] } });
    expect(await provideValue(token, { allowed_hosts: ['api.example.com'] })).toMatchObject({
      id,
      version: 2,
      allowed_hosts: ['api.example.com'],
      refused_at: null,
    });
    const [row] = await world.sql<{ status: string }[]>`
      select status from executor.person_request where id = ${request.id}
    `;
    expect(row?.status).toBe('ready');
    await expect(createSecretRequest({ name: 'refused_key' })).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  test('is not accepted any more after a call with the stored value has succeeded', async () => {
    const id = await storeRefused('accepted_key');
    const { token } = await createSecretRequest({ name: 'accepted_key' });
    await world.sql`update executor.secret set refused_at = null, refused_version = null where id = ${id}`;
    await expect(provideValue(token)).rejects.toMatchObject({ code: 'conflict' });
  });
});

describe('requesting a secret', () => {
  test('creates a link that shows the requester, the reason and the hosts', async () => {
    const request = await createSecretRequest({
      name: 'stripe_key',
      reason: 'To read invoices',
      allowed_hosts: ['API.stripe.com'],
    });

    expect(request).toMatchObject({
      name: 'stripe_key',
      tier: 'user',
      reason: 'To read invoices',
      allowed_hosts: ['api.stripe.com'],
      requested_by: { id: world.agentId, kind: 'agent', name: 'bot', path: ['ann', 'bot'] },
    });
    expect(request.token).toMatch(/^[\w-]{43}$/);
    const lifeMs = Date.parse(request.expires_at) - Date.parse(request.created_at);
    expect(lifeMs).toBe(24 * 3_600_000);
    const { token, ...shown } = request;
    expect(await showSecretRequest(token)).toEqual(shown);
  });

  test('stores only a hash of the token in the link, and announces the request without the link', async () => {
    const { id, token } = await createSecretRequest({ name: 'hashed' });
    const [row] = await world.sql<{ token_hash: Buffer; text: string }[]>`
      select token_hash, to_jsonb(each)::text as text from executor.secret_request as each where id = ${id}
    `;
    expect(row?.token_hash).toEqual(createHash('sha256').update(token).digest());
    expect(row?.text).not.toContain(token);

    const findAnnounced = () => world.announced.find(({ data }) => data['request_id'] === id);
    await expect.poll(findAnnounced).toMatchObject({
      type: 'secret.requested',
      audience: [world.userId, world.agentId],
      data: { name: 'hashed', tier: 'user', requested_by: { path: ['ann', 'bot'] } },
      audit: {
        description: 'Asked for the secret hashed',
        identity: { id: world.agentId, kind: 'agent' },
        request_id: context.requestId,
        ip: context.ip,
      },
    });
    expect(JSON.stringify(world.announced)).not.toContain(token);
  });

  test('shows the parts of the secret and its hosts when the request is for a template', async () => {
    const { current } = world.template;
    const parts = [
      { name: 'client_id', label: 'Client ID', secret: false, optional: false },
      { name: 'client_secret', label: 'Client secret', secret: true, optional: false },
    ];
    const method = {
      type: 'apiKey' as const,
      in: 'header' as const,
      name: 'Authorization',
      prefix: '',
      encoding: 'raw' as const,
      defaultSecretName: 'app',
      parts,
    };
    world.template.current = { ...current, auth: [{ ...method, scheme: 'app' }] };
    const { token, ...request } = await createSecretRequest({ name: 'my_app', template: 'tpl' });
    expect(request).toMatchObject({ parts, allowed_hosts: current.hosts });
    expect(await showSecretRequest(token)).toEqual(request);
    const { parts: _, ...without } = await createSecretRequest({ name: 'plain' });
    expect(without.allowed_hosts).toEqual([]);

    const other = { ...method, scheme: 'other', defaultSecretName: 'other' };
    world.template.current = { ...current, auth: [...world.template.current.auth, other] };
    await expect(createSecretRequest({ name: 'neither', template: 'tpl' })).rejects.toMatchObject({
      code: 'invalid_params',
    });
    world.template.current = { ...current, auth: [] };
    await expect(createSecretRequest({ name: 'none', template: 'tpl' })).rejects.toMatchObject({
      code: 'invalid_params',
    });
    world.template.current = current;
  });

  test.for(['59s', '7d1s', '8d', '1w', '', '-1h', '24'])('refuses a ttl of %j', async (ttl) => {
    await expect(createSecretRequest({ name: 'timed', ttl })).rejects.toMatchObject({
      code: 'invalid_params',
    });
  });

  test('accepts a ttl up to seven days', async () => {
    const { created_at: from, expires_at: until } = await createSecretRequest({
      name: 'timed',
      ttl: '6d24h',
    });
    expect(Date.parse(until) - Date.parse(from)).toBe(7 * 24 * 3_600_000);
  });

  test('needs a name that the secret’s owner does not use yet; other owners may use the name', async () => {
    const store = (body: { name: string; tier?: 'org'; allowed_hosts?: string[] }) =>
      world.gateway.createSecret(
        { principal: world.admin, body: { value: canary(), ...body } },
        testDeadline(),
      );
    await store({ name: 'mine_already' });
    await store({ name: 'orgs_already', tier: 'org', allowed_hosts: ['a.example'] });

    await expect(createSecretRequest({ name: 'mine_already' })).rejects.toMatchObject({
      code: 'conflict',
    });
    await expect(createSecretRequest({ name: 'orgs_already', tier: 'org' })).rejects.toMatchObject({
      code: 'conflict',
    });
    await createSecretRequest({ name: 'orgs_already' });
    await createSecretRequest({ name: 'mine_already' }, createAgent({ userId: uuidv7() }));
  });

  test('is limited to five open requests per agent, even with concurrent requests', async () => {
    const identityId = uuidv7();
    const chain = [world.chain[0]!, { ...world.chain[1]!, id: identityId }];
    const createBusyAgent = () => createAgent({ identityId, chain });
    const all = await Promise.allSettled(
      Array.from({ length: 15 }, (_, at) =>
        createSecretRequest({ name: `many_${at}` }, createBusyAgent()),
      ),
    );
    const createdSecrets = all.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect(createdSecrets).toHaveLength(5);
    for (const each of all) {
      if (each.status === 'fulfilled') continue;
      expect(each.reason).toMatchObject({ code: 'rate_limited' });
      const { details } = each.reason as { details: { retry_after: number } };
      expect(details.retry_after).toBeGreaterThan(23 * 3_600);
      expect(details.retry_after).toBeLessThanOrEqual(24 * 3_600);
    }
    await expireNow(createdSecrets[0]!.id);
    await provideValue(createdSecrets[1]!.token);
    await createSecretRequest({ name: 'one_more' }, createBusyAgent());
    await createSecretRequest({ name: 'another_more' }, createBusyAgent());
    await expect(
      createSecretRequest({ name: 'too_many' }, createBusyAgent()),
    ).rejects.toMatchObject({
      code: 'rate_limited',
    });
    await createSecretRequest({ name: 'of_somebody_else' });
  });

  test('is not allowed to an auditor', async () => {
    const auditor = world.principalOf({ role: 'auditor' });
    await expect(createSecretRequest({ name: 'audited' }, auditor)).rejects.toMatchObject({
      code: 'forbidden',
    });
  });
});

describe('entering the value of a requested secret', () => {
  test('stores the secret for its owner and the hosts that the owner confirmed, and notifies the requester', async () => {
    const { id, token } = await createSecretRequest({
      name: 'asked',
      allowed_hosts: ['evil.example'],
    });
    const storedSecret = await provideValue(token, {
      allowed_hosts: ['Api.example.com'],
      description: 'It',
    });

    expect(storedSecret).toMatchObject({
      name: 'asked',
      tier: 'user',
      owner_id: world.userId,
      created_by: world.userId,
      version: 1,
      description: 'It',
      allowed_hosts: ['api.example.com'],
    });
    const findAnnounced = () =>
      world.announced.find(({ data }) => data['secret_id'] === storedSecret.id);
    await expect.poll(findAnnounced).toMatchObject({
      type: 'secret.provided',
      audience: [world.userId, world.agentId],
      data: { request_id: id, secret_id: storedSecret.id, name: 'asked' },
      audit: { description: 'Stored the secret asked, which ann / bot asked for' },
    });
    const request = { orgId: world.orgId, userId: world.userId, names: ['asked'] };
    const { secrets } = await world.policy.describeSecrets(request, testDeadline());
    expect(secrets).toMatchObject([{ id: storedSecret.id, allowedHosts: ['api.example.com'] }]);
  });

  test('works once, even with twenty concurrent attempts', async () => {
    const { token } = await createSecretRequest({ name: 'raced' });
    const all = await Promise.allSettled(Array.from({ length: 20 }, () => provideValue(token)));

    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const each of all) {
      if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'expired' });
    }
    const { items } = await world.gateway.listSecrets(
      { principal: createOwner(), page: { limit: 200, cursor: null } },
      testDeadline(),
    );
    expect(items.filter(({ name }) => name === 'raced')).toMatchObject([{ current_version: 1 }]);
    await expect(showSecretRequest(token)).rejects.toMatchObject({ code: 'expired' });
  });

  test('never replaces a secret: of two links for one name, the second gets a conflict', async () => {
    const one = await createSecretRequest({ name: 'twice' });
    // An executor of an earlier release creates links without a common record for the same name.
    await world.sql`delete from executor.person_request where id = ${one.id}`;
    const two = await createSecretRequest({ name: 'twice' });
    const storedSecret = await provideValue(one.token);

    await expect(showSecretRequest(two.token)).rejects.toMatchObject({ code: 'conflict' });
    await expect(provideValue(two.token)).rejects.toMatchObject({ code: 'conflict' });
    const versions = await world.sql`
      select version from executor.secret_version where secret_id = ${storedSecret.id}
    `;
    expect(versions).toHaveLength(1);
  });

  test.for<[who: string, principal: () => string]>([
    ['another user', () => createOwner({ userId: uuidv7() })],
    [
      'an admin, if the secret is a user’s own',
      () => world.principalOf({ role: 'admin', userId: uuidv7() }),
    ],
    ['the same user of another org', () => createOwner({ orgId: uuidv7() })],
    ['the agent that asked', () => createAgent()],
    ['an agent with every scope', () => createAgent({ scopes: ['user', 'mcp'] })],
    ['an auditor', () => world.principalOf({ role: 'auditor' })],
  ])('is answered with not_found for %s', async ([who, principal]) => {
    const { token } = await createSecretRequest({
      name: `closed_${who.length}_${canary().length}`,
    });
    const unknownTokenAnswer = await showSecretRequest('x'.repeat(43), principal()).catch(
      (error: unknown) => error,
    );

    for (const attempt of [
      showSecretRequest,
      (asked: string, as: string) => provideValue(asked, {}, as),
    ]) {
      await expect(attempt(token, principal())).rejects.toMatchObject({
        code: 'not_found',
        message: (unknownTokenAnswer as Error).message,
      });
    }
    await showSecretRequest(token);
  });

  test('is allowed to any admin, who chooses the hosts, when it is a secret of the org', async () => {
    const { token } = await createSecretRequest({ name: 'shared', tier: 'org' });
    const admin = world.principalOf({ role: 'admin', userId: uuidv7() });

    await expect(showSecretRequest(token)).rejects.toMatchObject({ code: 'not_found' });
    await expect(provideValue(token, { allowed_hosts: ['a.example'] })).rejects.toMatchObject({
      code: 'not_found',
    });
    await expect(provideValue(token, {}, admin)).rejects.toMatchObject({
      code: 'host_not_allowed',
    });
    expect(await provideValue(token, { allowed_hosts: ['a.example'] }, admin)).toMatchObject({
      tier: 'org',
      owner_id: null,
      allowed_hosts: ['a.example'],
    });
  });

  test('does not use up the link when it is refused', async () => {
    const { token } = await createSecretRequest({ name: 'careful' });
    const bad = { value: `${canary()}\n` };
    await expect(provideValue(token, bad)).rejects.toMatchObject({ code: 'invalid_params' });
    const pastedSecret = { value: `${canary()} ` };
    await expect(provideValue(token, pastedSecret)).rejects.toMatchObject({
      details: { reason: 'looks_pasted' },
    });
    await expect(
      provideValue(token, { allowed_hosts: ['https://a.example'] }),
    ).rejects.toMatchObject({
      code: 'invalid_params',
    });
    await provideValue(token, { ...pastedSecret, as_is: true });
  });

  test('is refused after the link has expired', async () => {
    const { id, token } = await createSecretRequest({ name: 'late' });
    await expireNow(id);

    await expect(showSecretRequest(token)).rejects.toMatchObject({ code: 'expired' });
    await expect(provideValue(token)).rejects.toMatchObject({ code: 'expired' });
  });

  test.for(['', 'x', '../../v1/secrets', '\0', 'x'.repeat(200)])(
    'with the invalid token %j in the link is answered with not_found',
    async (token) => {
      await expect(showSecretRequest(token)).rejects.toMatchObject({ code: 'not_found' });
    },
  );
});
