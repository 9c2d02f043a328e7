import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { z } from 'zod';

import { serviceRecord } from '#contracts/bus/registry';
import type { createServiceBody } from '#contracts/http/services';
import { event } from '#contracts/events';
import { createRegistryWorld, testDeadline, storeSecret } from '../world.testing.ts';
import type { Person, RegistryWorld } from '../world.testing.ts';

/** All tests share one running registry; each test has its own org. */
let world: RegistryWorld;
beforeAll(async () => {
  world = await createRegistryWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => {
  world.vault.allowRequests.length = 0;
  world.vault.fixedReferences.clear();
});

const outcomeOf = (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'ok',
    (error: { code?: string }) => error.code ?? String(error),
  );

/** Creates a user whose vault contains the secrets for GitHub and Jira. */
function createAnn(fields: Parameters<RegistryWorld['person']>[0] = {}): Person {
  const ann = world.person(fields);
  storeSecret(world.vault, ann.userId, 'github_token');
  storeSecret(world.vault, ann.userId, 'jira_login');
  return ann;
}

function createAdmin(orgId: string = uuidv7()): Person {
  const admin = createAnn({ role: 'admin', orgId });
  storeSecret(world.vault, orgId, 'org/github_token');
  return admin;
}

type Body = z.input<typeof createServiceBody>;
const connectService = (by: Person, body: Body = { template: 'github' }) =>
  world.client.createService({ principal: by.principal, body }, testDeadline());
const resolve = (by: Person, name: string) =>
  world.policy.resolveService({ orgId: by.orgId, userId: by.userId, name }, testDeadline());

describe('connecting a service', () => {
  test('stores template, address and secret, and allows the secret to go to the address', async () => {
    const ann = createAnn();

    const service = await connectService(ann);

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
      hosts_added: [{ kind: 'secret', name: 'github_token', hosts: ['api.github.com'] }],
      auto_allow_reads: true,
      credentials: { secrets: { token: 'github_token' }, connection: null },
      variables: {},
      created_at: expect.any(String),
    });
    expect(world.vault.allowRequests).toEqual([
      { reference: 'github_token', hosts: ['api.github.com'] },
    ]);
  });

  test('emits an event with an audit entry', async () => {
    const ann = createAnn();
    const service = await connectService(ann);

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

  test('fills in the variables of the base URL', async () => {
    const service = await connectService(createAnn(), {
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

  test('uses and reports the secret of the org when the user has no secret of that name', async () => {
    const { orgId } = createAdmin();
    const bob = world.person({ orgId });

    expect((await connectService(bob)).credentials).toMatchObject({
      secrets: { token: 'org/github_token' },
    });
  });

  test('uses only secrets of the org for a service of the org', async () => {
    const admin = createAdmin();
    const service = await connectService(admin, { template: 'github', tier: 'org' });

    expect(service).toMatchObject({
      tier: 'org',
      owner_id: null,
      credentials: { secrets: { token: 'org/github_token' }, connection: null },
    });
    const other = world.person({ role: 'admin' });
    storeSecret(world.vault, other.userId, 'github_token');
    expect(await outcomeOf(connectService(other, { template: 'github', tier: 'org' }))).toBe(
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
      'an invalid secret name',
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
      'a variable whose value is not a label of a host name',
      { template: 'jira', variables: { site: 'evil.com/' } },
      'invalid_params',
    ],
    [
      'a base_url from a member',
      { template: 'gitlab', base_url: 'https://git.example.com' },
      'forbidden',
    ],
    ['a service of the org by a member', { template: 'github', tier: 'org' }, 'forbidden'],
    ['a reserved name', { template: 'github', name: 'secret' }, 'invalid_request'],
  ])('is refused for %s', async ([, body, outcome]) => {
    const ann = createAnn();

    expect(await outcomeOf(connectService(ann, body))).toBe(outcome);
    expect(world.vault.allowRequests).toEqual([]);
    expect(await outcomeOf(resolve(ann, 'github'))).toBe('unknown_service');
  });

  test.for<[who: string, fields: Parameters<RegistryWorld['person']>[0]]>([
    ['agents', { kind: 'agent' }],
    ['subagents', { kind: 'subagent' }],
    ['auditors', { role: 'auditor' }],
  ])('is forbidden for %s', async ([, fields]) => {
    expect(await outcomeOf(connectService(createAnn(fields)))).toBe('forbidden');
  });

  test('suggests the nearest template', async () => {
    await expect(connectService(createAnn(), { template: 'gihub' })).rejects.toMatchObject({
      details: { did_you_mean: 'github' },
    });
  });

  test('stores nothing when the secret may not go to the address', async () => {
    const ann = createAnn();
    world.vault.fixedReferences.add('github_token');

    expect(await outcomeOf(connectService(ann))).toBe('host_not_allowed');
    expect(await outcomeOf(resolve(ann, 'github'))).toBe('unknown_service');
  });

  test('succeeds for only one of two concurrent requests with the same name', async () => {
    const ann = createAnn();

    const outcomes = await Promise.all([1, 2, 3, 4].map(() => outcomeOf(connectService(ann))));

    expect(outcomes.toSorted()).toEqual(['conflict', 'conflict', 'conflict', 'ok']);
  });
});

describe('a base URL from an admin', () => {
  test.for<[why: string, body: Body, outcome: string]>([
    [
      'is accepted when the template allows it',
      { template: 'github', base_url: 'https://ghe.example.com/api/v3' },
      'ok',
    ],
    [
      'is accepted for a service of the org',
      { template: 'github', tier: 'org', base_url: 'https://ghe.example.com/api/v3' },
      'ok',
    ],
    [
      'is refused when the template does not allow it',
      { template: 'jira', base_url: 'https://jira.example.com' },
      'forbidden',
    ],
    [
      'is refused for plain http',
      { template: 'github', base_url: 'http://ghe.example.com' },
      'invalid_params',
    ],
    [
      'is accepted for plain http to a host that the operator allows',
      { template: 'github', base_url: 'http://127.0.0.1:4010' },
      'ok',
    ],
    [
      'is accepted for plain http into a network that the operator allows',
      { template: 'github', base_url: 'http://10.1.2.3:8080' },
      'ok',
    ],
    [
      'is refused for plain http to another port',
      { template: 'github', base_url: 'http://10.1.2.3:8081' },
      'invalid_params',
    ],
    [
      'is refused with a user in the URL',
      { template: 'github', base_url: 'https://me@ghe.example.com' },
      'invalid_params',
    ],
  ])('%s', async ([, body, outcome]) => {
    const admin = createAdmin();

    expect(await outcomeOf(connectService(admin, body))).toBe(outcome);
    const expected = outcome === 'ok' ? [new URL(body.base_url ?? '').host] : [];
    expect(world.vault.allowRequests.flatMap(({ hosts }) => hosts)).toEqual(expected);
  });

  test('is required for a self-hosted product', async () => {
    const admin = createAdmin();
    const template = 'prometheus';

    expect(await outcomeOf(connectService(admin, { template }))).toBe('invalid_params');
    const body = { template, base_url: 'https://prometheus.example.com' };
    expect(await outcomeOf(connectService(admin, body))).toBe('ok');
  });
});

describe('finding a service by its name', () => {
  test("prefers the user's own service, or the org's service when the name begins with org/", async () => {
    const admin = createAdmin();
    const ann = createAnn({ orgId: admin.orgId });
    const ownService = await connectService(ann);
    const sharedService = await connectService(admin, { template: 'github', tier: 'org' });
    const bob = world.person({ orgId: admin.orgId });

    expect(serviceRecord.parse(await resolve(ann, 'github'))).toMatchObject({
      id: ownService.id,
      name: 'github',
      tier: 'user',
      template: { key: 'github', tier: 'global', ownerId: null, version: 1 },
      secrets: { token: 'github_token' },
    });
    expect(await resolve(ann, 'org/github')).toMatchObject({
      id: sharedService.id,
      name: 'org/github',
    });
    expect(await resolve(bob, 'github')).toMatchObject({
      id: sharedService.id,
      name: 'org/github',
    });
  });

  test('finds only services of the caller and of its org', async () => {
    const ann = createAnn();
    await connectService(ann);
    const bob = world.person({ orgId: ann.orgId });
    const eve = world.person({ userId: ann.userId });

    expect(await outcomeOf(resolve(bob, 'github'))).toBe('unknown_service');
    expect(await outcomeOf(resolve(eve, 'github'))).toBe('unknown_service');
  });

  test('fails for an unknown name, and lists the available names', async () => {
    const admin = createAdmin();
    await connectService(admin, { template: 'github', tier: 'org' });
    await connectService(admin);
    await connectService(admin, { template: 'github', tier: 'org', name: 'shared' });

    await expect(resolve(admin, 'githbu')).rejects.toMatchObject({
      code: 'unknown_service',
      details: { available: ['org/github', 'github', 'shared'], did_you_mean: 'github' },
    });
    await expect(resolve(admin, 'git-hub')).rejects.toMatchObject({
      details: { did_you_mean: 'github' },
    });
  });

  test('fails for the title of a service, and suggests its name', async () => {
    const ann = createAnn();
    await connectService(ann, { template: 'github', name: 'work' });

    await expect(resolve(ann, 'github')).rejects.toMatchObject({
      code: 'unknown_service',
      details: { did_you_mean: 'work' },
    });
  });
});

describe('finding services and templates by host', () => {
  const find = (by: Person, host: string) =>
    world.policy.findByHost({ orgId: by.orgId, userId: by.userId, host }, testDeadline());

  test('returns services of the user and of the org, and templates', async () => {
    const admin = createAdmin();
    await connectService(admin);
    await connectService(admin, { template: 'github', tier: 'org' });
    const ann = createAnn({ orgId: admin.orgId });

    const foundByHost = await find(ann, 'api.github.com');

    expect(foundByHost.services.map((service) => service.name)).toEqual(['org/github']);
    expect(foundByHost.templates).toEqual([
      { key: 'github', tier: 'global', ownerId: null, version: 1 },
    ]);
  });

  test('returns services of the org first, and reports that the list is complete', async () => {
    const admin = createAdmin();
    await connectService(admin);
    await connectService(admin, { template: 'github', tier: 'org' });
    const { orgId, userId } = admin;

    const foundByHost = await find(admin, 'api.github.com');
    expect(foundByHost.services.map(({ name }) => name)).toEqual(['org/github', 'github']);
    expect(foundByHost.isCut).toBe(false);
    const listRequest = { orgId, userId, whose: 'callable' as const, after: null };
    const { services, next } = await world.policy.listConnected(listRequest, testDeadline());
    expect(services.toSorted((one, other) => (one.id < other.id ? -1 : 1))).toEqual(services);
    expect(services.map(({ name }) => name).toSorted()).toEqual(['github', 'org/github']);
    expect(next).toBeNull();
  });

  test('returns the services of the user, and those of other users, in pages', async () => {
    const admin = createAdmin();
    const { orgId, userId } = admin;
    const ann = createAnn({ orgId });
    const stranger = createAnn();
    for (const by of [admin, ann, stranger]) await connectService(by);
    const page = (whose: 'callable' | 'others', after: string | null) =>
      world.policy.listConnected({ orgId, userId, whose, after }, testDeadline());
    const ownService = await page('callable', null);
    const othersPage = await page('others', null);
    expect(ownService.services.map(({ ownerId }) => ownerId)).toEqual([userId]);
    expect(othersPage.services.map(({ ownerId }) => ownerId)).toEqual([ann.userId]);

    // Inserts more services than one page contains.
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
    // A further address of the API.
    ['api.eu.opsgenie.com', ['opsgenie']],
    ['api.atlassian.com', ['confluence', 'jira']],
    // Hosts of the provider.
    ['www.googleapis.com', ['gmail', 'google_calendar', 'google_drive', 'google_sheets']],
    ['docs.googleapis.com', ['gmail', 'google_calendar', 'google_drive', 'google_sheets']],
    ['uploads.github.com', ['github']],
  ])('returns for the host %s the templates %j', async ([host, templates]) => {
    const foundByHost = await find(world.person(), host);

    expect(foundByHost.templates.map(({ key }) => key).toSorted()).toEqual(templates);
  });

  test('returns a service where its API has another root, and on the hosts of its provider', async () => {
    const admin = createAdmin();
    const ann = createAnn({ orgId: admin.orgId });
    const site = { site: 'acme' };
    await connectService(ann, { template: 'jira', name: 'tickets', variables: site });
    await connectService(ann, { template: 'github', name: 'code' });
    const namesAt = async (by: Person, host: string) =>
      (await find(by, host)).services.map(({ name }) => name);

    expect(await namesAt(ann, 'api.atlassian.com')).toEqual(['tickets']);
    expect(await namesAt(ann, 'uploads.github.com')).toEqual(['code']);
    // Another site is another installation.
    expect(await namesAt(ann, 'beta.atlassian.net')).toEqual([]);
    expect(await namesAt(admin, 'api.atlassian.com')).toEqual([]);
  });

  test('returns a service at a base URL that an admin gave for that host alone', async () => {
    const admin = createAdmin();
    const baseUrl = 'https://github.example.com/api/v3';
    await connectService(admin, { template: 'github', tier: 'org', base_url: baseUrl });
    const namesAt = async (host: string) =>
      (await find(admin, host)).services.map(({ name }) => name);

    expect(await namesAt('github.example.com')).toEqual(['org/github']);
    expect(await namesAt('uploads.github.com')).toEqual([]);
    expect(await namesAt('api.github.com')).toEqual([]);
  });
});

describe('the registry of services', () => {
  test('lists the services of the caller in pages', async () => {
    const admin = createAdmin();
    for (const name of ['c', 'a', 'd']) await connectService(admin, { template: 'github', name });
    await connectService(admin, { template: 'github', name: 'b', tier: 'org' });
    await connectService(createAnn({ orgId: admin.orgId }), { template: 'github', name: 'hidden' });

    const agent = world.person({ kind: 'agent', orgId: admin.orgId, userId: admin.userId });
    const names: string[] = [];
    let cursor: string | null = null;
    do {
      const page: { limit: number; cursor: string | null } = { limit: 3, cursor };
      const reply = await world.client.listServices(
        { principal: agent.principal, page },
        testDeadline(),
      );
      names.push(...reply.items.map((service) => service.name));
      cursor = reply.next_cursor;
    } while (cursor !== null);

    expect(names).toEqual(['a', 'b', 'c', 'd']);
  });

  test('refuses a forged cursor', async () => {
    const { principal } = world.person();
    const cursor = Buffer.from('["a","not-an-id"]').toString('base64url');

    expect(
      await outcomeOf(
        world.client.listServices({ principal, page: { limit: 5, cursor } }, testDeadline()),
      ),
    ).toBe('invalid_request');
  });

  test('shows that a service lacks its secret', async () => {
    const ann = createAnn();
    await connectService(ann);
    world.vault.secrets.get(ann.userId)?.delete('github_token');

    const page = { limit: 5, cursor: null };
    const { items } = await world.client.listServices(
      { principal: ann.principal, page },
      testDeadline(),
    );

    expect(items).toMatchObject([
      {
        status: 'needs_credentials',
        missing: [{ kind: 'secret', name: 'github_token', status: 'absent' }],
      },
    ]);
  });

  test('shows a service with its actions', async () => {
    const ann = createAnn();
    await connectService(ann);

    const detail = await world.client.getService(
      { principal: ann.principal, name: 'github' },
      testDeadline(),
    );

    expect(detail.actions.find(({ action }) => action === 'create_issue')).toMatchObject({
      method: 'POST',
      risk: 'write',
      params_schema: { required: ['repository', 'title'] },
    });
  });

  test('shows the services http and platform, which every org has', async () => {
    const { principal } = createAnn();
    const rawService = await world.client.getService({ principal, name: 'http' }, testDeadline());
    expect(rawService).toMatchObject({
      name: 'http',
      title: 'Raw HTTP',
      status: 'ready',
      actions: [],
    });
    const ownService = await world.client.getService(
      { principal, name: 'platform' },
      testDeadline(),
    );
    expect(ownService.actions.map(({ action }) => action)).toContain('whoami');
    expect(ownService.actions_count).toBe(ownService.actions.length);
  });

  test('can change whether reads of a service need a rule, which emits an event', async () => {
    const ann = createAnn();
    await connectService(ann);
    const request = { principal: ann.principal, name: 'github', body: { auto_allow_reads: false } };

    expect((await world.client.updateService(request, testDeadline())).auto_allow_reads).toBe(
      false,
    );
    expect((await resolve(ann, 'github')).autoAllowReads).toBe(false);
    expect(await eventTypes(ann.orgId)).toEqual(['service.created', 'service.changed']);
  });

  test('can disconnect a service, which emits an event', async () => {
    const ann = createAnn();
    await connectService(ann);

    await world.client.deleteService({ principal: ann.principal, name: 'github' }, testDeadline());

    expect(await outcomeOf(resolve(ann, 'github'))).toBe('unknown_service');
    expect(await eventTypes(ann.orgId)).toEqual(['service.created', 'service.deleted']);
  });

  test('lets the owner change a service, and admins change a service of the org', async () => {
    const admin = createAdmin();
    await connectService(admin, { template: 'github', tier: 'org' });
    const ann = createAnn({ orgId: admin.orgId });
    const agent = world.person({ kind: 'agent', orgId: admin.orgId, userId: admin.userId });
    const auditor = world.person({ role: 'auditor', orgId: admin.orgId });
    const updateAndDelete = (by: Person) => {
      const byName = { principal: by.principal, name: 'github' };
      const body = { auto_allow_reads: true };
      return Promise.all([
        outcomeOf(world.client.updateService({ ...byName, body }, testDeadline())),
        outcomeOf(world.client.deleteService(byName, testDeadline())),
      ]);
    };

    expect(await updateAndDelete(ann)).toEqual(['forbidden', 'forbidden']);
    expect(await updateAndDelete(agent)).toEqual(['forbidden', 'forbidden']);
    expect(await updateAndDelete(auditor)).toEqual(['forbidden', 'forbidden']);
    expect(await updateAndDelete(world.person())).toEqual(['unknown_service', 'unknown_service']);
    expect(await outcomeOf(resolve(ann, 'github'))).toBe('ok');
  });

  test('accepts only signed principals', async () => {
    const forgedPrincipal = `${'a'.repeat(40)}.${'b'.repeat(43)}`;
    const page = { limit: 5, cursor: null };

    expect(
      await outcomeOf(
        world.client.listServices({ principal: forgedPrincipal, page }, testDeadline()),
      ),
    ).toBe('unauthenticated');
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

describe('connecting a service for a request', () => {
  const openRequest = () => {
    const id = uuidv7();
    world.vault.openRequests.add(id);
    return id;
  };
  const reportsOf = (requestId: string) =>
    world.vault.finishedRequests
      .filter(({ id }) => id === requestId)
      .map(({ serviceId }) => serviceId);

  test('tells the executor after the service is committed, and names the request in the event too', async () => {
    const ann = createAnn();
    const requestId = openRequest();
    const service = await connectService(ann, { template: 'github', request_id: requestId });
    expect(reportsOf(requestId)).toEqual([service.id]);
    const [row] = await world.db<{ body: string }[]>`
      select body from registry.outbox where type = 'service.created' and body like ${`%${requestId}%`}
    `;
    expect(JSON.parse(row?.body ?? '{}').data).toMatchObject({
      service_id: service.id,
      request_id: requestId,
      connected_by: { id: ann.id, kind: 'user' },
    });
  });

  test('is refused, and changes nothing, when the request is not open for the caller', async () => {
    const ann = createAnn();
    const refusedConnect = connectService(ann, { template: 'github', request_id: uuidv7() });
    expect(await outcomeOf(refusedConnect)).toBe('conflict');
    expect(await outcomeOf(resolve(ann, 'github'))).toBe('unknown_service');
  });

  test('creates one service when ten concurrent attempts answer the same request under ten names, and none at a later attempt', async () => {
    const ann = createAnn();
    const requestId = openRequest();
    const attempts = await Promise.allSettled(
      Array.from({ length: 10 }, (_, at) =>
        connectService(ann, { template: 'github', name: `github_${at}`, request_id: requestId }),
      ),
    );
    const createdIds = attempts.flatMap((each) =>
      each.status === 'fulfilled' ? [each.value.id] : [],
    );
    expect(createdIds).toHaveLength(1);
    for (const each of attempts) {
      if (each.status === 'rejected') {
        expect(each.reason).toMatchObject({ code: 'conflict', details: { reason: 'answered' } });
      }
    }
    const secondConnect = connectService(ann, {
      template: 'github',
      name: 'again',
      request_id: requestId,
    });
    expect(await outcomeOf(secondConnect)).toBe('conflict');
    expect(new Set(reportsOf(requestId))).toEqual(new Set(createdIds));
    expect(reportsOf(requestId).length).toBeGreaterThan(1);
  });
});
