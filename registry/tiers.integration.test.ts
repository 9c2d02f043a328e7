import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { exampleDocument } from './test-support/example-document.ts';
import type { ExampleDocument } from './test-support/example-document.ts';
import { createRegistryWorld, soon, store } from './world.testing.ts';
import type { Person, RegistryWorld } from './world.testing.ts';

let world: RegistryWorld;
beforeAll(async () => {
  world = await createRegistryWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const outcomeOf = (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'ok',
    (error: { code?: string }) => error.code ?? String(error),
  );

/** The example document with another key, and whatever else a test changes. */
function document(key: string, change: (document: ExampleDocument) => void = () => undefined) {
  const made = exampleDocument();
  made.info.key = key;
  change(made);
  return JSON.stringify(made);
}

type Tier = 'user' | 'org';
const create = (by: Person, openapi: string | Record<string, never>, tier: Tier = 'user') =>
  world.client.createTemplate({ principal: by.principal, body: { openapi, tier } }, soon());
const update = (
  by: Person,
  openapi: string,
  { key = 'notes', version = 1, tier = 'user' as Tier } = {},
) =>
  world.client.updateTemplate(
    { principal: by.principal, key, tier, body: { openapi, version } },
    soon(),
  );
const publish = (by: Person, { key = 'notes', version = 1, tier = 'user' as Tier } = {}) =>
  world.client.publishTemplate({ principal: by.principal, key, tier, version }, soon());
const disable = (by: Person, { key = 'notes', tier = 'user' as Tier, isDisabled = true } = {}) =>
  world.client.switchTemplate({ principal: by.principal, key, tier, isDisabled }, soon());
const remove = (by: Person, { key = 'notes', tier = 'user' as Tier } = {}) =>
  world.client.deleteTemplate({ principal: by.principal, key, tier }, soon());
const get = (by: Person, fields: { key?: string; tier?: Tier | 'global'; version?: number } = {}) =>
  world.client.getTemplate({ principal: by.principal, key: 'notes', ...fields }, soon());
const versions = async (by: Person, fields: { key?: string; tier?: Tier | 'global' } = {}) => {
  const page = { limit: 10, cursor: null };
  const asked = { principal: by.principal, key: 'notes', page, ...fields };
  return (await world.client.listTemplateVersions(asked, soon())).items;
};
async function list(by: Person, filter: { q?: string; tier?: Tier; status?: 'draft' } = {}) {
  const page = { limit: 200, cursor: null };
  const asked = { principal: by.principal, page, filter };
  const { items } = await world.client.listTemplates(asked, soon());
  return items.filter(({ tier }) => tier !== 'global').map(({ tier, key }) => `${tier} ${key}`);
}
const connect = (
  by: Person,
  body: { template: string; name?: string; tier?: Tier; template_tier?: Tier | 'global' },
) => world.client.createService({ principal: by.principal, body }, soon());
const resolve = (by: Person, name: string) =>
  world.policy.resolveService({ orgId: by.orgId, userId: by.userId, name }, soon());

/** Everybody there is in one org, with the secrets that the example asks for. */
function createOrg() {
  const orgId = uuidv7();
  const admin = world.person({ role: 'admin', orgId });
  const ann = world.person({ orgId });
  const bob = world.person({ orgId });
  const auditor = world.person({ role: 'auditor', orgId });
  const agent = world.person({ kind: 'agent', orgId, userId: ann.userId });
  const stranger = world.person({ role: 'admin' });
  for (const { userId } of [admin, ann, bob]) {
    store(world.vault, userId, 'example_token', ['api.example.com']);
  }
  store(world.vault, orgId, 'org/example_token', ['api.example.com']);
  return { orgId, admin, ann, bob, auditor, agent, stranger };
}

describe('saving a template', () => {
  test('makes a draft with everything it would be connected with', async () => {
    const { ann } = createOrg();

    expect(await create(ann, document('notes'))).toEqual({
      key: 'notes',
      tier: 'user',
      owner_id: ann.id,
      status: 'draft',
      version: 1,
      published_version: null,
      latest_version: 1,
      title: 'Example',
      description: 'For tests.',
      category: 'Testing',
      runtime: 'http',
      hosts: ['api.example.com'],
      variables: [],
      base_url_allowed: false,
      auth: [{ scheme: 'token', type: 'apiKey', default_secret_name: 'example_token' }],
      actions_count: 2,
      updated_at: expect.any(String),
      warnings: [],
      difference: null,
    });
    expect(await get(ann)).toMatchObject({ actions: [{ action: 'list_notes' }, {}] });
  });

  test('takes a document as an object too, whose findings have no lines', async () => {
    const { ann } = createOrg();
    const parsed = JSON.parse(document('notes')) as Record<string, never>;
    expect(await create(ann, parsed)).toMatchObject({ key: 'notes' });

    const wrong = { ...parsed, openapi: '3.0.0' } as unknown as Record<string, never>;
    await expect(create(ann, wrong)).rejects.toMatchObject({
      code: 'template_invalid',
      details: { report: { errors: [{ code: 'openapi_version', path: '/openapi', line: null }] } },
    });
  });

  test.for<[why: string, openapi: string, code: string]>([
    ['that breaks off', '{"openapi": "3.1.0", ', 'syntax'],
    ['without actions it could read', 'openapi: [', 'syntax'],
    [
      'with an unknown scope parameter',
      document('notes', (made) =>
        Object.assign(made.paths['/projects/{project}/notes']?.['get'] ?? {}, {
          scope_param: 'nothing',
        }),
      ),
      'scope_param_unknown',
    ],
    ['with a reserved key', document('secret'), 'key_invalid'],
    ['with the key of the pseudo-service', document('http'), 'key_invalid'],
    ['whose address would be that of another route', document('validate'), 'key_invalid'],
    [
      'that goes out by plain http',
      document('notes', (made) => (made.servers = [{ url: 'http://api.example.com' }])),
      'server_not_https',
    ],
  ])('%s saves nothing and says what is wrong', async ([, openapi, code]) => {
    const { ann } = createOrg();

    await expect(create(ann, openapi)).rejects.toMatchObject({
      code: 'template_invalid',
      details: { report: { valid: false, errors: [{ code }] } },
    });
    expect(await list(ann)).toEqual([]);
    const report = await world.client.validateTemplate(
      { principal: ann.principal, openapi },
      soon(),
    );
    expect(report).toMatchObject({ valid: false, errors: [{ code }] });
    expect(await eventTypes(ann.orgId)).toEqual([]);
  });

  test('is reported on however long the names in it are', async () => {
    const { ann } = createOrg();
    const name = `x-service-${'n'.repeat(10_000)}`;
    const openapi = document('notes', (made) => Object.assign(made.info, { [name]: 1 }));
    const { principal } = ann;
    const report = await world.client.validateTemplate({ principal, openapi }, soon());
    expect(report.errors.map(({ code }) => code)).toContain('unknown_extension');
  });

  test('of a key that is taken is a conflict, for exactly one of many at once', async () => {
    const { ann } = createOrg();
    const outcomes = await Promise.all(
      [1, 2, 3, 4].map(() => outcomeOf(create(ann, document('notes')))),
    );
    expect(outcomes.toSorted()).toEqual(['conflict', 'conflict', 'conflict', 'ok']);
  });

  test('again is a new version, compared with the one before', async () => {
    const { ann } = createOrg();
    await create(ann, document('notes'));
    const changed = document('notes', (made) => {
      made.servers = [{ url: 'https://other.example.com/v2' }];
      const path = made.paths['/projects/{project}/notes'] ?? {};
      path['delete'] = { ...path['get'], operationId: 'delete_notes' };
      Object.assign(path['post'] ?? {}, { risk: 'read' });
      delete path['get'];
    });

    const saved = await update(ann, changed);

    expect(saved).toMatchObject({ version: 2, latest_version: 2, published_version: null });
    expect(saved.difference).toEqual({
      actions: {
        added: ['delete_notes'],
        removed: ['list_notes'],
        changed: [{ action: 'create_note', parts: ['permission'] }],
      },
      hosts: { added: ['other.example.com'], removed: ['api.example.com'] },
      base_url: { from: 'https://api.example.com/v1', to: 'https://other.example.com/v2' },
      auth: { added: [], removed: [], changed: [], combinations: false },
    });
    expect((await versions(ann)).map(({ version, difference }) => [version, difference])).toEqual([
      [2, saved.difference],
      [1, null],
    ]);
  });

  test('on top of a version that is not the latest is a conflict, and loses nothing', async () => {
    const { ann } = createOrg();
    await create(ann, document('notes'));
    const outcomes = await Promise.all(
      [1, 2, 3, 4].map(() => outcomeOf(update(ann, document('notes'), { version: 1 }))),
    );
    expect(outcomes.toSorted()).toEqual(['conflict', 'conflict', 'conflict', 'ok']);
    await expect(update(ann, document('notes'), { version: 1 })).rejects.toMatchObject({
      details: { latest_version: 2 },
    });
  });

  test('under another key is refused', async () => {
    const { ann } = createOrg();
    await create(ann, document('notes'));
    expect(await outcomeOf(update(ann, document('other')))).toBe('template_invalid');
    expect(await outcomeOf(update(ann, document('none'), { key: 'none' }))).toBe('not_found');
  });

  test('gives the document back as it was written', async () => {
    const { ann } = createOrg();
    const text = `# Mine\n${document('notes')}`;
    await create(ann, text);
    await update(ann, document('notes'));
    const read = (version?: number) =>
      world.client.getTemplateDocument(
        { principal: ann.principal, key: 'notes', tier: 'user', ...(version && { version }) },
        soon(),
      );
    expect(await read(1)).toEqual({ version: 1, openapi: text });
    expect(await read()).toEqual({ version: 2, openapi: document('notes') });
  });

  test('keeps versions apart across a deletion', async () => {
    const { ann } = createOrg();
    await create(ann, document('notes'));
    await update(ann, document('notes'));
    await remove(ann);
    expect(await outcomeOf(get(ann))).toBe('not_found');
    expect(await create(ann, document('notes'))).toMatchObject({ version: 3, status: 'draft' });
    expect((await versions(ann)).map(({ version }) => version)).toEqual([3]);
  });

  test('is announced with its audit entry', async () => {
    const { ann } = createOrg();
    await create(ann, document('notes'));
    await publish(ann);
    await disable(ann);
    await disable(ann, { isDisabled: false });
    await remove(ann);
    expect(await eventTypes(ann.orgId)).toEqual([
      'template.saved',
      'template.published',
      'template.disabled',
      'template.enabled',
      'template.deleted',
    ]);
  });
});

test('a writer who leaves the tier out is told where the template is', async () => {
  const { admin } = createOrg();
  await create(admin, document('notes'), 'org');
  await expect(publish(admin)).rejects.toMatchObject({
    code: 'not_found',
    message: expect.stringContaining('of tier user, but one of tier org; add tier=org'),
  });
});

describe('a key that was used before', () => {
  test('counts its versions on, and what was deleted is not published', async () => {
    const { ann } = createOrg();
    await create(ann, document('notes'));
    await publish(ann);
    await remove(ann);
    expect((await create(ann, document('notes'))).version).toBe(2);
    expect(await outcomeOf(publish(ann))).toBe('not_found');
    expect(await get(ann)).toMatchObject({ status: 'draft', version: 2 });
    await publish(ann, { version: 2 });
    expect(await list(ann)).toEqual(['user notes']);
    await remove(ann);
    expect(await list(ann)).toEqual([]);
  });
});

describe('a draft', () => {
  test('without servers is saved, and not published', async () => {
    const { ann } = createOrg();
    const saved = await create(
      ann,
      document('notes', (made) => Reflect.deleteProperty(made, 'servers')),
    );
    expect(saved).toMatchObject({ status: 'draft', warnings: [{ code: 'needs_base_url' }] });
    await expect(publish(ann)).rejects.toMatchObject({
      code: 'template_invalid',
      details: { report: { errors: [{ code: 'needs_base_url' }] } },
    });
  });

  test('is not connected, not found and no way into a service, until it is published', async () => {
    const { ann } = createOrg();
    await create(ann, document('notes'));
    const search = async () => {
      const asked = {
        principal: ann.principal,
        query: 'notes create_note',
        limit: 20,
        catalog: true,
      };
      const { items } = await world.client.search(asked, soon());
      return items.filter(({ template }) => template === 'notes');
    };
    expect(await outcomeOf(connect(ann, { template: 'notes' }))).toBe('conflict');
    expect(await search()).toEqual([]);

    await publish(ann);
    expect((await search())[0]).toMatchObject({ template: 'notes', action: 'create_note' });
    expect(await outcomeOf(connect(ann, { template: 'notes' }))).toBe('ok');
    expect((await search())[0]).toMatchObject({ service: 'notes', action: 'create_note' });
  });

  test('saved after publishing changes nothing that is in use', async () => {
    const { ann } = createOrg();
    await create(ann, document('notes'));
    await publish(ann);
    await update(
      ann,
      document('notes', (made) => (made.info.title = 'Second')),
    );

    expect(await get(ann)).toMatchObject({ version: 1, latest_version: 2, title: 'Example' });
    expect(await get(ann, { version: 2 })).toMatchObject({ version: 2, title: 'Second' });
    expect(await connect(ann, { template: 'notes' })).toMatchObject({ template_version: 1 });
    expect(await outcomeOf(publish(ann, { version: 3 }))).toBe('not_found');
    expect(await publish(ann, { version: 2 })).toMatchObject({ version: 2, title: 'Second' });
  });
});

describe('who may do what with templates', () => {
  const writes = (by: Person, tier: Tier) =>
    Promise.all([
      outcomeOf(create(by, document('mine'), tier)),
      outcomeOf(update(by, document('notes'), { tier })),
      outcomeOf(publish(by, { tier })),
      outcomeOf(disable(by, { tier })),
      outcomeOf(remove(by, { tier })),
    ]);

  test('of the org: admins write, members and agents read what is published, others nothing', async () => {
    const { admin, ann, auditor, agent, stranger } = createOrg();
    await create(admin, document('notes'), 'org');
    expect([await list(ann), await list(agent), await list(stranger)]).toEqual([[], [], []]);
    expect([await list(admin), await list(auditor)]).toEqual([['org notes'], ['org notes']]);
    expect(await writes(ann, 'org')).toEqual(['forbidden', ...Array(4).fill('not_found')]);

    await publish(admin, { tier: 'org' });
    expect([await list(ann), await list(agent), await list(stranger)]).toEqual([
      ['org notes'],
      ['org notes'],
      [],
    ]);
    for (const by of [ann, agent, auditor]) {
      expect(await writes(by, 'org')).toEqual(Array(5).fill('forbidden'));
    }
    expect((await writes(stranger, 'org')).slice(1)).toEqual(Array(4).fill('not_found'));
    await disable(admin, { tier: 'org' });
    expect([await list(ann), await list(auditor)]).toEqual([[], ['org notes']]);
    expect(await outcomeOf(get(ann))).toBe('not_found');
  });

  test('of a user: the user writes, its agents read what is published, nobody else anything', async () => {
    const { admin, ann, bob, agent, auditor } = createOrg();
    await create(ann, document('notes'));
    await publish(ann);
    await update(
      ann,
      document('notes', (made) => (made.info.title = 'Secret plans')),
    );

    for (const by of [admin, bob, auditor]) {
      expect(await list(by)).toEqual([]);
      expect(await outcomeOf(get(by))).toBe('not_found');
    }
    expect(await list(agent)).toEqual(['user notes']);
    expect(await outcomeOf(get(agent, { version: 2 }))).toBe('not_found');
    expect((await versions(agent)).map(({ version }) => version)).toEqual([1]);
    expect(await writes(agent, 'user')).toEqual(Array(5).fill('forbidden'));
    expect((await writes(bob, 'user')).slice(1)).toEqual(Array(4).fill('not_found'));
  });

  test('built in: nobody', async () => {
    const { admin } = createOrg();
    for (const tier of ['user', 'org'] as const) {
      expect(await outcomeOf(update(admin, document('github'), { key: 'github', tier }))).toBe(
        'not_found',
      );
      expect(await outcomeOf(remove(admin, { key: 'github', tier }))).toBe('not_found');
    }
    expect(await versions(admin, { key: 'github' })).toMatchObject([
      { version: 1, is_published: true, actions_count: 12, difference: null, created_by: null },
    ]);
  });

  test('decides by signed principals alone', async () => {
    const { ann } = createOrg();
    const forged = { ...ann, principal: `${'a'.repeat(40)}.${'b'.repeat(43)}` };
    expect(await outcomeOf(create(forged, document('notes')))).toBe('unauthenticated');
    expect(await outcomeOf(get(forged))).toBe('unauthenticated');
  });
});

describe('the most specific template', () => {
  test('is the one that a key means, and a tier names the others', async () => {
    const { admin, ann, bob } = createOrg();
    for (const [by, tier, title] of [
      [admin, 'org', 'Of the org'],
      [ann, 'user', 'Of Ann'],
    ] as const) {
      await create(
        by,
        document('github', (made) => (made.info.title = title)),
        tier,
      );
      expect(await get(by, { key: 'github', tier })).toMatchObject({ title, status: 'draft' });
      await publish(by, { key: 'github', tier });
    }
    const titleFor = async (by: Person, tier?: Tier | 'global') =>
      (await get(by, { key: 'github', ...(tier && { tier }) })).title;

    expect([await titleFor(ann), await titleFor(bob)]).toEqual(['Of Ann', 'Of the org']);
    expect([await titleFor(ann, 'org'), await titleFor(ann, 'global')]).toEqual([
      'Of the org',
      'GitHub',
    ]);
    expect(await connect(ann, { template: 'github' })).toMatchObject({ template_tier: 'user' });
    expect(await connect(bob, { template: 'github' })).toMatchObject({ template_tier: 'org' });
    expect(await connect(admin, { template: 'github', tier: 'org' })).toMatchObject({
      template_tier: 'org',
    });
    await disable(ann, { key: 'github' });
    expect(await connect(ann, { template: 'github', name: 'second' })).toMatchObject({
      template_tier: 'org',
    });
  });

  test('of a user is never what a service of the org is made from', async () => {
    const { admin } = createOrg();
    await create(admin, document('notes'));
    await publish(admin);
    expect(await outcomeOf(connect(admin, { template: 'notes', tier: 'org' }))).toBe('not_found');
  });

  test('is found by host where it is the org’s, and not where it is a person’s', async () => {
    const { admin, ann, bob } = createOrg();
    await create(admin, document('notes'), 'org');
    await create(ann, document('private'));
    await publish(admin, { tier: 'org' });
    await publish(ann, { key: 'private' });
    const { orgId } = bob;
    const find = async (userId: string) => {
      const asked = { orgId, userId, host: 'api.example.com' };
      return (await world.policy.findByHost(asked, soon())).templates.map(({ key }) => key);
    };
    expect([await find(bob.userId), await find(ann.userId)]).toEqual([['notes'], ['notes']]);
  });
});

describe('a template in use', () => {
  test('that is disabled disables its services, and gives them back', async () => {
    const { ann } = createOrg();
    await create(ann, document('notes'));
    await publish(ann);
    await connect(ann, { template: 'notes' });
    expect((await resolve(ann, 'notes')).status).toBe('ready');

    await disable(ann);
    expect((await resolve(ann, 'notes')).status).toBe('disabled');
    expect(await outcomeOf(connect(ann, { template: 'notes', name: 'more' }))).toBe('conflict');
    const asked = { principal: ann.principal, query: '', limit: 50, catalog: true };
    const { items } = await world.client.search(asked, soon());
    expect(items.filter(({ template }) => template === 'notes')).toEqual([]);

    await disable(ann, { isDisabled: false });
    expect((await resolve(ann, 'notes')).status).toBe('ready');
  });

  test('is not deleted', async () => {
    const { ann } = createOrg();
    await create(ann, document('notes'));
    await publish(ann);
    await connect(ann, { template: 'notes' });
    await expect(remove(ann)).rejects.toMatchObject({
      code: 'conflict',
      details: { services_count: 1 },
    });
    await world.client.deleteService({ principal: ann.principal, name: 'notes' }, soon());
    expect(await outcomeOf(remove(ann))).toBe('ok');
  });

  test('is either connected or deleted, when both are tried at once', async () => {
    const { ann } = createOrg();
    for (let round = 0; round < 8; round += 1) {
      const key = `notes${round}`;
      await create(ann, document(key));
      await publish(ann, { key });
      const [connected, removed] = await Promise.all([
        outcomeOf(connect(ann, { template: key })),
        outcomeOf(remove(ann, { key })),
      ]);
      expect(['ok conflict', 'conflict ok', 'not_found ok']).toContain(`${connected} ${removed}`);
      if (connected === 'ok') expect((await resolve(ann, key)).status).toBe('ready');
    }
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
