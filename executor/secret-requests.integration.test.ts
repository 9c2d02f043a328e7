import { createHash } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Principal } from '#contracts/vocabulary';
import { canary, context, createWorld, soon } from './world.testing.ts';
import type { World } from './world.testing.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

type RequestBody = Parameters<World['gateway']['requestSecret']>[0]['body'];
type ProvideBody = Parameters<World['gateway']['provideSecret']>[0]['body'];

const owner = (parts: Partial<Principal> = {}) => world.principalOf({ role: 'member', ...parts });
const agent = (parts: Partial<Principal> = {}) =>
  world.principalOf({
    role: null,
    kind: 'agent',
    identityId: world.agentId,
    chain: world.chain,
    scopes: ['agents'],
    ...parts,
  });
const ask = (body: RequestBody, principal = agent()) =>
  world.gateway.requestSecret({ principal, body, context }, soon());
const look = (token: string, principal = owner()) =>
  world.gateway.getSecretRequest({ principal, token }, soon());
const provide = (token: string, body: Partial<ProvideBody> = {}, principal = owner()) =>
  world.gateway.provideSecret(
    { principal, token, body: { value: canary(), allowed_hosts: [], ...body }, context },
    soon(),
  );
const expire = (id: string) =>
  world.sql`update executor.secret_request set expires_at = now() where id = ${id}`;

describe('asking for a secret', () => {
  test('makes a link that says who asks, what for and for which hosts', async () => {
    const request = await ask({
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
    expect(await look(token)).toEqual(shown);
  });

  test('keeps of the link a hash alone, and announces it without the link', async () => {
    const { id, token } = await ask({ name: 'hashed' });
    const [row] = await world.sql<{ token_hash: Buffer; text: string }[]>`
      select token_hash, to_jsonb(each)::text as text from executor.secret_request as each where id = ${id}
    `;
    expect(row?.token_hash).toEqual(createHash('sha256').update(token).digest());
    expect(row?.text).not.toContain(token);

    const announced = () => world.announced.find(({ data }) => data['request_id'] === id);
    await expect.poll(announced).toMatchObject({
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

  test.for(['59s', '7d1s', '8d', '1w', '', '-1h', '24'])('is refused a ttl of %j', async (ttl) => {
    await expect(ask({ name: 'timed', ttl })).rejects.toMatchObject({ code: 'invalid_params' });
  });

  test('takes a ttl up to seven days', async () => {
    const { created_at: from, expires_at: until } = await ask({ name: 'timed', ttl: '6d24h' });
    expect(Date.parse(until) - Date.parse(from)).toBe(7 * 24 * 3_600_000);
  });

  test('names a new secret: one that its owner has is a conflict, another’s is not', async () => {
    const store = (body: { name: string; tier?: 'org'; allowed_hosts?: string[] }) =>
      world.gateway.createSecret(
        { principal: world.admin, body: { value: canary(), ...body } },
        soon(),
      );
    await store({ name: 'mine_already' });
    await store({ name: 'orgs_already', tier: 'org', allowed_hosts: ['a.example'] });

    await expect(ask({ name: 'mine_already' })).rejects.toMatchObject({ code: 'conflict' });
    await expect(ask({ name: 'orgs_already', tier: 'org' })).rejects.toMatchObject({
      code: 'conflict',
    });
    await ask({ name: 'orgs_already' });
    await ask({ name: 'mine_already' }, agent({ userId: uuidv7() }));
  });

  test('is open at most twenty times for one requester, however many ask at once', async () => {
    const identityId = uuidv7();
    const chain = [world.chain[0]!, { ...world.chain[1]!, id: identityId }];
    const busy = () => agent({ identityId, chain });
    const all = await Promise.allSettled(
      Array.from({ length: 30 }, (_, at) => ask({ name: `many_${at}` }, busy())),
    );
    const made = all.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect(made).toHaveLength(20);
    for (const each of all) {
      if (each.status === 'fulfilled') continue;
      expect(each.reason).toMatchObject({ code: 'rate_limited' });
      const { details } = each.reason as { details: { retry_after: number } };
      expect(details.retry_after).toBeGreaterThan(23 * 3_600);
      expect(details.retry_after).toBeLessThanOrEqual(24 * 3_600);
    }
    await expire(made[0]!.id);
    await provide(made[1]!.token);
    await ask({ name: 'one_more' }, busy());
    await ask({ name: 'another_more' }, busy());
    await expect(ask({ name: 'too_many' }, busy())).rejects.toMatchObject({ code: 'rate_limited' });
    await ask({ name: 'of_somebody_else' });
  });

  test('is not for an auditor', async () => {
    const auditor = world.principalOf({ role: 'auditor' });
    await expect(ask({ name: 'audited' }, auditor)).rejects.toMatchObject({ code: 'forbidden' });
  });
});

describe('entering a secret that was asked for', () => {
  test('stores it as its owner’s own, for the hosts that the owner confirmed, and tells who asked', async () => {
    const { id, token } = await ask({ name: 'asked', allowed_hosts: ['evil.example'] });
    const stored = await provide(token, { allowed_hosts: ['Api.example.com'], description: 'It' });

    expect(stored).toMatchObject({
      name: 'asked',
      tier: 'user',
      owner_id: world.userId,
      created_by: world.userId,
      version: 1,
      description: 'It',
      allowed_hosts: ['api.example.com'],
    });
    const announced = () => world.announced.find(({ data }) => data['secret_id'] === stored.id);
    await expect.poll(announced).toMatchObject({
      type: 'secret.provided',
      audience: [world.userId, world.agentId],
      data: { request_id: id, secret_id: stored.id, name: 'asked' },
      audit: { description: 'Stored the secret asked, which ann / bot asked for' },
    });
    const known = { orgId: world.orgId, userId: world.userId, names: ['asked'] };
    const { secrets } = await world.policy.describeSecrets(known, soon());
    expect(secrets).toMatchObject([{ id: stored.id, allowedHosts: ['api.example.com'] }]);
  });

  test('works once, of twenty at once for exactly one', async () => {
    const { token } = await ask({ name: 'raced' });
    const all = await Promise.allSettled(Array.from({ length: 20 }, () => provide(token)));

    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const each of all) {
      if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'expired' });
    }
    const { items } = await world.gateway.listSecrets(
      { principal: owner(), page: { limit: 200, cursor: null } },
      soon(),
    );
    expect(items.filter(({ name }) => name === 'raced')).toMatchObject([{ current_version: 1 }]);
    await expect(look(token)).rejects.toMatchObject({ code: 'expired' });
  });

  test('never rotates a secret: of two links for one name the second is a conflict', async () => {
    const [one, two] = [await ask({ name: 'twice' }), await ask({ name: 'twice' })];
    const stored = await provide(one.token);

    await expect(look(two.token)).rejects.toMatchObject({ code: 'conflict' });
    await expect(provide(two.token)).rejects.toMatchObject({ code: 'conflict' });
    const versions = await world.sql`
      select version from executor.secret_version where secret_id = ${stored.id}
    `;
    expect(versions).toHaveLength(1);
  });

  test.for<[who: string, principal: () => string]>([
    ['another user', () => owner({ userId: uuidv7() })],
    ['an admin, of a user’s own', () => world.principalOf({ role: 'admin', userId: uuidv7() })],
    ['the same user of another org', () => owner({ orgId: uuidv7() })],
    ['the agent that asked', () => agent()],
    ['an agent with every scope', () => agent({ scopes: ['user', 'mcp'] })],
    ['an auditor', () => world.principalOf({ role: 'auditor' })],
  ])('is not for %s, to whom no such link exists', async ([who, principal]) => {
    const { token } = await ask({ name: `closed_${who.length}_${canary().length}` });
    const none = await look('x'.repeat(43), principal()).catch((error: unknown) => error);

    for (const attempt of [look, (asked: string, as: string) => provide(asked, {}, as)]) {
      await expect(attempt(token, principal())).rejects.toMatchObject({
        code: 'not_found',
        message: (none as Error).message,
      });
    }
    await look(token);
  });

  test('of the org is for any admin, who says where it goes', async () => {
    const { token } = await ask({ name: 'shared', tier: 'org' });
    const admin = world.principalOf({ role: 'admin', userId: uuidv7() });

    await expect(look(token)).rejects.toMatchObject({ code: 'not_found' });
    await expect(provide(token, { allowed_hosts: ['a.example'] })).rejects.toMatchObject({
      code: 'not_found',
    });
    await expect(provide(token, {}, admin)).rejects.toMatchObject({ code: 'host_not_allowed' });
    expect(await provide(token, { allowed_hosts: ['a.example'] }, admin)).toMatchObject({
      tier: 'org',
      owner_id: null,
      allowed_hosts: ['a.example'],
    });
  });

  test('what is refused uses nothing up', async () => {
    const { token } = await ask({ name: 'careful' });
    const bad = { value: `${canary()}\n` };
    await expect(provide(token, bad)).rejects.toMatchObject({ code: 'invalid_params' });
    await expect(provide(token, { allowed_hosts: ['https://a.example'] })).rejects.toMatchObject({
      code: 'invalid_params',
    });
    await provide(token);
  });

  test('has an end', async () => {
    const { id, token } = await ask({ name: 'late' });
    await expire(id);

    await expect(look(token)).rejects.toMatchObject({ code: 'expired' });
    await expect(provide(token)).rejects.toMatchObject({ code: 'expired' });
  });

  test.for(['', 'x', '../../v1/secrets', '\0', 'x'.repeat(200)])(
    'with the link %j is not found',
    async (token) => {
      await expect(look(token)).rejects.toMatchObject({ code: 'not_found' });
    },
  );
});
