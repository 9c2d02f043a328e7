import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { z } from 'zod';

import { serviceRecord } from '#contracts/bus/registry';
import type { createServiceBody } from '#contracts/http/services';
import { event } from '#contracts/events';
import { createRegistryWorld, soon, store } from './world.testing.ts';
import type { Person, RegistryWorld } from './world.testing.ts';

/** One component for all tests: each acts in an org of its own. */
let world: RegistryWorld;
beforeAll(async () => {
  world = await createRegistryWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => {
  world.vault.allowed.length = 0;
  world.vault.fixed.clear();
});

const outcomeOf = (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'ok',
    (error: { code?: string }) => error.code ?? String(error),
  );

/** A user who has the secrets of GitHub and Jira. */
function createAnn(fields: Parameters<RegistryWorld['person']>[0] = {}): Person {
  const ann = world.person(fields);
  store(world.vault, ann.userId, 'github_token');
  store(world.vault, ann.userId, 'jira_login');
  return ann;
}

function createAdmin(orgId: string = uuidv7()): Person {
  const admin = createAnn({ role: 'admin', orgId });
  store(world.vault, orgId, 'org/github_token');
  return admin;
}

type Body = z.input<typeof createServiceBody>;
const connect = (by: Person, body: Body = { template: 'github' }) =>
  world.client.createService({ principal: by.principal, body }, soon());
const resolve = (by: Person, name: string) =>
  world.policy.resolveService({ orgId: by.orgId, userId: by.userId, name }, soon());

describe('connecting a service', () => {
  test('binds template, address and secret, and lets the secret go there', async () => {
    const ann = createAnn();

    const service = await connect(ann);

    expect(service).toEqual({
      id: expect.any(String),
      name: 'github',
      template: 'github',
      template_tier: 'global',
      template_version: 1,
      newest_version: 1,
      title: 'GitHub',
      status: 'ready',
      actions_count: 12,
      tier: 'user',
      owner_id: ann.id,
      base_url: 'https://api.github.com',
      hosts: ['api.github.com'],
      auto_allow_reads: true,
      credentials: { secrets: { token: 'github_token' }, connection: null },
      created_at: expect.any(String),
    });
    expect(world.vault.allowed).toEqual([{ reference: 'github_token', hosts: ['api.github.com'] }]);
  });

  test('announces it with its audit entry', async () => {
    const ann = createAnn();
    const service = await connect(ann);

    const [row] = await world.db<{ body: string }[]>`
      select body
        from registry.outbox
       where org_id = ${ann.orgId}
    `;
    expect(event.parse(JSON.parse(row?.body ?? ''))).toMatchObject({
      type: 'service.created',
      org_id: ann.orgId,
      audience: [ann.id],
      data: { service_id: service.id, name: 'github', tier: 'user' },
      audit: { user_id: ann.id, service: 'github', template: 'github' },
    });
  });

  test('fills in the variables of the address', async () => {
    const service = await connect(createAnn(), {
      template: 'jira',
      name: 'tracker',
      variables: { site: 'Acme' },
    });

    expect(service).toMatchObject({
      name: 'tracker',
      base_url: 'https://acme.atlassian.net',
      hosts: ['acme.atlassian.net'],
    });
  });

  test('takes the org secret where the user has none of that name, and says so', async () => {
    const { orgId } = createAdmin();
    const bob = world.person({ orgId });

    expect((await connect(bob)).credentials).toMatchObject({
      secrets: { token: 'org/github_token' },
    });
  });

  test("for the org takes the org's secret, never a person's", async () => {
    const admin = createAdmin();
    const service = await connect(admin, { template: 'github', tier: 'org' });

    expect(service).toMatchObject({
      tier: 'org',
      owner_id: null,
      credentials: { secrets: { token: 'org/github_token' }, connection: null },
    });
    const other = world.person({ role: 'admin' });
    store(world.vault, other.userId, 'github_token');
    expect(await outcomeOf(connect(other, { template: 'github', tier: 'org' }))).toBe(
      'credential_missing',
    );
  });

  test.for<[why: string, body: Body, outcome: string]>([
    ['an unknown template', { template: 'githubb' }, 'not_found'],
    ['the pseudo-service http', { template: 'http' }, 'invalid_request'],
    ['a missing secret', { template: 'notion' }, 'credential_missing'],
    [
      'a secret that does not exist',
      { template: 'github', credentials: { secrets: { token: 'other' } } },
      'credential_missing',
    ],
    [
      'a name that is no secret’s',
      { template: 'github', credentials: { secrets: { token: 'A b' } } },
      'invalid_params',
    ],
    [
      'an unknown scheme',
      { template: 'github', credentials: { secrets: { tokn: 'github_token' } } },
      'invalid_params',
    ],
    ['a missing variable', { template: 'jira' }, 'invalid_params'],
    ['an unknown variable', { template: 'github', variables: { a: 'b' } }, 'invalid_params'],
    [
      'a variable that is no label',
      { template: 'jira', variables: { site: 'evil.com/' } },
      'invalid_params',
    ],
    [
      'a base_url of a member',
      { template: 'gitlab', base_url: 'https://git.example.com' },
      'forbidden',
    ],
    ['a service of the org by a member', { template: 'github', tier: 'org' }, 'forbidden'],
    ['a reserved name', { template: 'github', name: 'secret' }, 'invalid_request'],
  ])('refuses %s', async ([, body, outcome]) => {
    const ann = createAnn();

    expect(await outcomeOf(connect(ann, body))).toBe(outcome);
    expect(world.vault.allowed).toEqual([]);
    expect(await outcomeOf(resolve(ann, 'github'))).toBe('unknown_service');
  });

  test.for<[who: string, fields: Parameters<RegistryWorld['person']>[0]]>([
    ['agents', { kind: 'agent' }],
    ['subagents', { kind: 'subagent' }],
    ['auditors', { role: 'auditor' }],
  ])('is not for %s', async ([, fields]) => {
    expect(await outcomeOf(connect(createAnn(fields)))).toBe('forbidden');
  });

  test('names the template that was probably meant', async () => {
    await expect(connect(createAnn(), { template: 'gihub' })).rejects.toMatchObject({
      details: { did_you_mean: 'github' },
    });
  });

  test('fails without a trace when the secret may not go there', async () => {
    const ann = createAnn();
    world.vault.fixed.add('github_token');

    expect(await outcomeOf(connect(ann))).toBe('host_not_allowed');
    expect(await outcomeOf(resolve(ann, 'github'))).toBe('unknown_service');
  });

  test('by two at once under one name succeeds for exactly one', async () => {
    const ann = createAnn();

    const outcomes = await Promise.all([1, 2, 3, 4].map(() => outcomeOf(connect(ann))));

    expect(outcomes.toSorted()).toEqual(['conflict', 'conflict', 'conflict', 'ok']);
  });
});

describe('a base URL of its own', () => {
  test.for<[why: string, body: Body, outcome: string]>([
    [
      'where the template allows it',
      { template: 'github', base_url: 'https://ghe.example.com/api/v3' },
      'ok',
    ],
    [
      'for a service of the org',
      { template: 'github', tier: 'org', base_url: 'https://ghe.example.com/api/v3' },
      'ok',
    ],
    [
      'not where it does not',
      { template: 'jira', base_url: 'https://jira.example.com' },
      'forbidden',
    ],
    [
      'not by plain http',
      { template: 'github', base_url: 'http://ghe.example.com' },
      'invalid_params',
    ],
    [
      'by plain http to a host the operator names',
      { template: 'github', base_url: 'http://127.0.0.1:4010' },
      'ok',
    ],
    [
      'by plain http into a network the operator names',
      { template: 'github', base_url: 'http://10.1.2.3:8080' },
      'ok',
    ],
    [
      'not to another port of it',
      { template: 'github', base_url: 'http://10.1.2.3:8081' },
      'invalid_params',
    ],
    [
      'not with a user in it',
      { template: 'github', base_url: 'https://me@ghe.example.com' },
      'invalid_params',
    ],
  ])('is taken from an admin %s', async ([, body, outcome]) => {
    const admin = createAdmin();

    expect(await outcomeOf(connect(admin, body))).toBe(outcome);
    const expected = outcome === 'ok' ? [new URL(body.base_url ?? '').host] : [];
    expect(world.vault.allowed.flatMap(({ hosts }) => hosts)).toEqual(expected);
  });

  test('must be given for what everybody hosts', async () => {
    const admin = createAdmin();
    const template = 'prometheus';

    expect(await outcomeOf(connect(admin, { template }))).toBe('invalid_params');
    const body = { template, base_url: 'https://prometheus.example.com' };
    expect(await outcomeOf(connect(admin, body))).toBe('ok');
  });
});

describe('resolving a name', () => {
  test("means the user's own before the org's, and org/ skips it", async () => {
    const admin = createAdmin();
    const ann = createAnn({ orgId: admin.orgId });
    const own = await connect(ann);
    const shared = await connect(admin, { template: 'github', tier: 'org' });
    const bob = world.person({ orgId: admin.orgId });

    expect(serviceRecord.parse(await resolve(ann, 'github'))).toMatchObject({
      id: own.id,
      name: 'github',
      tier: 'user',
      template: { key: 'github', tier: 'global', ownerId: null, version: 1 },
      secrets: { token: 'github_token' },
    });
    expect(await resolve(ann, 'org/github')).toMatchObject({ id: shared.id, name: 'org/github' });
    expect(await resolve(bob, 'github')).toMatchObject({ id: shared.id, name: 'org/github' });
  });

  test('knows nothing of other users and other orgs', async () => {
    const ann = createAnn();
    await connect(ann);
    const bob = world.person({ orgId: ann.orgId });
    const eve = world.person({ userId: ann.userId });

    expect(await outcomeOf(resolve(bob, 'github'))).toBe('unknown_service');
    expect(await outcomeOf(resolve(eve, 'github'))).toBe('unknown_service');
  });

  test('names what there is when there is nothing of that name', async () => {
    const admin = createAdmin();
    await connect(admin, { template: 'github', tier: 'org' });
    await connect(admin);
    await connect(admin, { template: 'github', tier: 'org', name: 'shared' });

    await expect(resolve(admin, 'githbu')).rejects.toMatchObject({
      code: 'unknown_service',
      details: { available: ['org/github', 'github', 'shared'], did_you_mean: 'github' },
    });
  });
});

describe('finding by host', () => {
  const find = (by: Person, host: string) =>
    world.policy.findByHost({ orgId: by.orgId, userId: by.userId, host }, soon());

  test("finds the user's and the org's services and every template", async () => {
    const admin = createAdmin();
    await connect(admin);
    await connect(admin, { template: 'github', tier: 'org' });
    const ann = createAnn({ orgId: admin.orgId });

    const found = await find(ann, 'api.github.com');

    expect(found.services.map((service) => service.name)).toEqual(['org/github']);
    expect(found.templates).toEqual([{ key: 'github', tier: 'global', ownerId: null, version: 1 }]);
  });

  test("names the org's services first, and says that it names all", async () => {
    const admin = createAdmin();
    await connect(admin);
    await connect(admin, { template: 'github', tier: 'org' });
    const { orgId, userId } = admin;

    const found = await find(admin, 'api.github.com');
    expect(found.services.map(({ name }) => name)).toEqual(['org/github', 'github']);
    expect(found.isCut).toBe(false);
    const asked = { orgId, userId, whose: 'callable' as const, after: null };
    const { services, next } = await world.policy.listConnected(asked, soon());
    expect(services.toSorted((one, other) => (one.id < other.id ? -1 : 1))).toEqual(services);
    expect(services.map(({ name }) => name).toSorted()).toEqual(['github', 'org/github']);
    expect(next).toBeNull();
  });

  test('lists what a user can call, and what others have, page by page', async () => {
    const admin = createAdmin();
    const { orgId, userId } = admin;
    const ann = createAnn({ orgId });
    const stranger = createAnn();
    for (const by of [admin, ann, stranger]) await connect(by);
    const page = (whose: 'callable' | 'others', after: string | null) =>
      world.policy.listConnected({ orgId, userId, whose, after }, soon());
    const own = await page('callable', null);
    const others = await page('others', null);
    expect(own.services.map(({ ownerId }) => ownerId)).toEqual([userId]);
    expect(others.services.map(({ ownerId }) => ownerId)).toEqual([ann.userId]);

    // More than fit on a page, as they would be after as many connects.
    await world.db`
      insert into registry.connected_service
      select (jsonb_populate_record(connected_service,
               jsonb_build_object('id', gen_random_uuid(), 'name', 'copy' || number))).*
        from registry.connected_service, generate_series(1, 250) as number
       where org_id = ${orgId} and owner_id = ${userId}
    `;
    const first = await page('callable', null);
    const second = await page('callable', first.next);
    expect([first.services.length, second.services.length, second.next]).toEqual([200, 51, null]);
    const names = [...first.services, ...second.services].map(({ name }) => name);
    expect(new Set(names).size).toBe(251);
  });

  test.for<[host: string, templates: string[]]>([
    ['acme.atlassian.net', ['confluence', 'jira']],
    ['a.b.atlassian.net', []],
    ['atlassian.net', []],
    ['acme.atlassian.net.evil.com', []],
    ['acmeXatlassian.net', []],
    ['api.github.com:8443', []],
  ])('%s belongs to %j', async ([host, templates]) => {
    const found = await find(world.person(), host);

    expect(found.templates.map(({ key }) => key).toSorted()).toEqual(templates);
  });
});

describe('listing, changing and disconnecting', () => {
  test('pages through what the caller can use', async () => {
    const admin = createAdmin();
    for (const name of ['c', 'a', 'd']) await connect(admin, { template: 'github', name });
    await connect(admin, { template: 'github', name: 'b', tier: 'org' });
    await connect(createAnn({ orgId: admin.orgId }), { template: 'github', name: 'hidden' });

    const agent = world.person({ kind: 'agent', orgId: admin.orgId, userId: admin.userId });
    const names: string[] = [];
    let cursor: string | null = null;
    do {
      const page: { limit: number; cursor: string | null } = { limit: 3, cursor };
      const reply = await world.client.listServices({ principal: agent.principal, page }, soon());
      names.push(...reply.items.map((service) => service.name));
      cursor = reply.next_cursor;
    } while (cursor !== null);

    expect(names).toEqual(['a', 'b', 'c', 'd']);
  });

  test('refuses a cursor it did not hand out', async () => {
    const { principal } = world.person();
    const cursor = Buffer.from('["a","not-an-id"]').toString('base64url');

    expect(
      await outcomeOf(world.client.listServices({ principal, page: { limit: 5, cursor } }, soon())),
    ).toBe('invalid_request');
  });

  test('says when a secret is gone', async () => {
    const ann = createAnn();
    await connect(ann);
    world.vault.secrets.get(ann.userId)?.delete('github_token');

    const page = { limit: 5, cursor: null };
    const { items } = await world.client.listServices({ principal: ann.principal, page }, soon());

    expect(items).toMatchObject([
      {
        status: 'needs_credentials',
        missing: [{ kind: 'secret', name: 'github_token', status: 'absent' }],
      },
    ]);
  });

  test('shows one with its actions', async () => {
    const ann = createAnn();
    await connect(ann);

    const detail = await world.client.getService(
      { principal: ann.principal, name: 'github' },
      soon(),
    );

    expect(detail.actions.find(({ action }) => action === 'create_issue')).toMatchObject({
      method: 'POST',
      risk: 'write',
      params_schema: { required: ['repository', 'title'] },
    });
  });

  test('shows http and platform, which every org has', async () => {
    const { principal } = createAnn();
    const raw = await world.client.getService({ principal, name: 'http' }, soon());
    expect(raw).toMatchObject({ name: 'http', title: 'Raw HTTP', status: 'ready', actions: [] });
    const own = await world.client.getService({ principal, name: 'platform' }, soon());
    expect(own.actions.map(({ action }) => action)).toContain('whoami');
    expect(own.actions_count).toBe(own.actions.length);
  });

  test('changes whether reads need no rule, and announces it', async () => {
    const ann = createAnn();
    await connect(ann);
    const request = { principal: ann.principal, name: 'github', body: { auto_allow_reads: false } };

    expect((await world.client.updateService(request, soon())).auto_allow_reads).toBe(false);
    expect((await resolve(ann, 'github')).autoAllowReads).toBe(false);
    expect(await eventTypes(ann.orgId)).toEqual(['service.created', 'service.changed']);
  });

  test('disconnects, and announces it', async () => {
    const ann = createAnn();
    await connect(ann);

    await world.client.deleteService({ principal: ann.principal, name: 'github' }, soon());

    expect(await outcomeOf(resolve(ann, 'github'))).toBe('unknown_service');
    expect(await eventTypes(ann.orgId)).toEqual(['service.created', 'service.deleted']);
  });

  test('is for the owner, and for admins where it is the org’s', async () => {
    const admin = createAdmin();
    await connect(admin, { template: 'github', tier: 'org' });
    const ann = createAnn({ orgId: admin.orgId });
    const agent = world.person({ kind: 'agent', orgId: admin.orgId, userId: admin.userId });
    const auditor = world.person({ role: 'auditor', orgId: admin.orgId });
    const act = (by: Person) => {
      const byName = { principal: by.principal, name: 'github' };
      const body = { auto_allow_reads: true };
      return Promise.all([
        outcomeOf(world.client.updateService({ ...byName, body }, soon())),
        outcomeOf(world.client.deleteService(byName, soon())),
      ]);
    };

    expect(await act(ann)).toEqual(['forbidden', 'forbidden']);
    expect(await act(agent)).toEqual(['forbidden', 'forbidden']);
    expect(await act(auditor)).toEqual(['forbidden', 'forbidden']);
    expect(await act(world.person())).toEqual(['unknown_service', 'unknown_service']);
    expect(await outcomeOf(resolve(ann, 'github'))).toBe('ok');
  });

  test('decides by signed principals alone', async () => {
    const forged = `${'a'.repeat(40)}.${'b'.repeat(43)}`;
    const page = { limit: 5, cursor: null };

    expect(await outcomeOf(world.client.listServices({ principal: forged, page }, soon()))).toBe(
      'unauthenticated',
    );
  });
});

async function eventTypes(orgId: string): Promise<string[]> {
  const rows = await world.db<{ type: string }[]>`
    select type
      from registry.outbox
     where org_id = ${orgId}
     order by id
  `;
  return rows.map((row) => row.type);
}
