import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { exampleDocument } from '../compiler/domain/example-document.testing.ts';
import type { ExampleDocument } from '../compiler/domain/example-document.testing.ts';
import { createRegistryWorld, testDeadline, storeSecret } from '../world.testing.ts';
import type { Person, RegistryWorld } from '../world.testing.ts';

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

/** The example document as text, with another key and a change that the test makes. */
function documentText(
  key: string,
  change: (documentText: ExampleDocument) => void = () => undefined,
) {
  const changedDocument = exampleDocument();
  changedDocument.info.key = key;
  change(changedDocument);
  return JSON.stringify(changedDocument);
}

type Tier = 'user' | 'org';
const create = (by: Person, openapi: string | Record<string, never>, tier: Tier = 'user') =>
  world.client.createTemplate({ principal: by.principal, body: { openapi, tier } }, testDeadline());
const update = (
  by: Person,
  openapi: string,
  { key = 'notes', version = 1, tier = 'user' as Tier } = {},
) =>
  world.client.updateTemplate(
    { principal: by.principal, key, tier, body: { openapi, version } },
    testDeadline(),
  );
const publish = (by: Person, { key = 'notes', version = 1, tier = 'user' as Tier } = {}) =>
  world.client.publishTemplate({ principal: by.principal, key, tier, version }, testDeadline());
const disableTemplate = (
  by: Person,
  { key = 'notes', tier = 'user' as Tier, isDisabled = true } = {},
) =>
  world.client.switchTemplate({ principal: by.principal, key, tier, isDisabled }, testDeadline());
const remove = (by: Person, { key = 'notes', tier = 'user' as Tier } = {}) =>
  world.client.deleteTemplate({ principal: by.principal, key, tier }, testDeadline());
const get = (by: Person, fields: { key?: string; tier?: Tier | 'global'; version?: number } = {}) =>
  world.client.getTemplate({ principal: by.principal, key: 'notes', ...fields }, testDeadline());
const listVersions = async (by: Person, fields: { key?: string; tier?: Tier | 'global' } = {}) => {
  const page = { limit: 10, cursor: null };
  const listRequest = { principal: by.principal, key: 'notes', page, ...fields };
  return (await world.client.listTemplateVersions(listRequest, testDeadline())).items;
};
async function listOwnTemplates(
  by: Person,
  filter: { q?: string; tier?: Tier; status?: 'draft' } = {},
) {
  const page = { limit: 200, cursor: null };
  const listRequest = { principal: by.principal, page, filter };
  const { items } = await world.client.listTemplates(listRequest, testDeadline());
  return items.filter(({ tier }) => tier !== 'global').map(({ tier, key }) => `${tier} ${key}`);
}
const connectService = (
  by: Person,
  body: { template: string; name?: string; tier?: Tier; template_tier?: Tier | 'global' },
) => world.client.createService({ principal: by.principal, body }, testDeadline());
const resolve = (by: Person, name: string) =>
  world.policy.resolveService({ orgId: by.orgId, userId: by.userId, name }, testDeadline());

/**
 * Creates users and agents of one org. The vault contains the secrets that the example template
 * needs.
 */
function createOrg() {
  const orgId = uuidv7();
  const admin = world.person({ role: 'admin', orgId });
  const ann = world.person({ orgId });
  const bob = world.person({ orgId });
  const auditor = world.person({ role: 'auditor', orgId });
  const agent = world.person({ kind: 'agent', orgId, userId: ann.userId });
  const stranger = world.person({ role: 'admin' });
  for (const { userId } of [admin, ann, bob]) {
    storeSecret(world.vault, userId, 'example_token', ['api.example.com']);
  }
  storeSecret(world.vault, orgId, 'org/example_token', ['api.example.com']);
  return { orgId, admin, ann, bob, auditor, agent, stranger };
}

describe('saving a template', () => {
  test('stores a draft with all its properties', async () => {
    const { ann } = createOrg();

    expect(await create(ann, documentText('notes'))).toEqual({
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

  test('accepts a document as an object, and then reports findings without line numbers', async () => {
    const { ann } = createOrg();
    const parsedDocument = JSON.parse(documentText('notes')) as Record<string, never>;
    expect(await create(ann, parsedDocument)).toMatchObject({ key: 'notes' });

    const documentOfOldVersion = { ...parsedDocument, openapi: '3.0.0' } as unknown as Record<
      string,
      never
    >;
    await expect(create(ann, documentOfOldVersion)).rejects.toMatchObject({
      code: 'template_invalid',
      details: { report: { errors: [{ code: 'openapi_version', path: '/openapi', line: null }] } },
    });
  });

  test.for<[why: string, openapi: string, code: string]>([
    ['that is cut off', '{"openapi": "3.1.0", ', 'syntax'],
    ['that is invalid YAML', 'openapi: [', 'syntax'],
    [
      'with an unknown scope parameter',
      documentText('notes', (changedDocument) =>
        Object.assign(changedDocument.paths['/projects/{project}/notes']?.['get'] ?? {}, {
          scope_param: 'nothing',
        }),
      ),
      'scope_param_unknown',
    ],
    ['with a reserved key', documentText('secret'), 'key_invalid'],
    ['with the key of the pseudo-service', documentText('http'), 'key_invalid'],
    ['with a key that collides with a route', documentText('validate'), 'key_invalid'],
    [
      'with a plain http server',
      documentText(
        'notes',
        (changedDocument) => (changedDocument.servers = [{ url: 'http://api.example.com' }]),
      ),
      'server_not_https',
    ],
  ])('stores nothing, and reports the mistake, for a document %s', async ([, openapi, code]) => {
    const { ann } = createOrg();

    await expect(create(ann, openapi)).rejects.toMatchObject({
      code: 'template_invalid',
      details: { report: { valid: false, errors: [{ code }] } },
    });
    expect(await listOwnTemplates(ann)).toEqual([]);
    const report = await world.client.validateTemplate(
      { principal: ann.principal, openapi },
      testDeadline(),
    );
    expect(report).toMatchObject({ valid: false, errors: [{ code }] });
    expect(await eventTypes(ann.orgId)).toEqual([]);
  });

  test('shortens long names in the report', async () => {
    const { ann } = createOrg();
    const name = `x-service-${'n'.repeat(10_000)}`;
    const openapi = documentText('notes', (changedDocument) =>
      Object.assign(changedDocument.info, { [name]: 1 }),
    );
    const { principal } = ann;
    const report = await world.client.validateTemplate({ principal, openapi }, testDeadline());
    expect(report.errors.map(({ code }) => code)).toContain('unknown_extension');
  });

  test('is a conflict when another template has the key, and succeeds for only one of two concurrent requests', async () => {
    const { ann } = createOrg();
    const outcomes = await Promise.all(
      [1, 2, 3, 4].map(() => outcomeOf(create(ann, documentText('notes')))),
    );
    expect(outcomes.toSorted()).toEqual(['conflict', 'conflict', 'conflict', 'ok']);
  });

  test('stores a new version with its differences from the previous version', async () => {
    const { ann } = createOrg();
    await create(ann, documentText('notes'));
    const changedText = documentText('notes', (changedDocument) => {
      changedDocument.servers = [{ url: 'https://other.example.com/v2' }];
      const path = changedDocument.paths['/projects/{project}/notes'] ?? {};
      path['delete'] = { ...path['get'], operationId: 'delete_notes' };
      Object.assign(path['post'] ?? {}, { risk: 'read' });
      delete path['get'];
    });

    const saved = await update(ann, changedText);

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
    expect(
      (await listVersions(ann)).map(({ version, difference }) => [version, difference]),
    ).toEqual([
      [2, saved.difference],
      [1, null],
    ]);
  });

  test('is a conflict when the given version is not the latest', async () => {
    const { ann } = createOrg();
    await create(ann, documentText('notes'));
    const outcomes = await Promise.all(
      [1, 2, 3, 4].map(() => outcomeOf(update(ann, documentText('notes'), { version: 1 }))),
    );
    expect(outcomes.toSorted()).toEqual(['conflict', 'conflict', 'conflict', 'ok']);
    await expect(update(ann, documentText('notes'), { version: 1 })).rejects.toMatchObject({
      details: { latest_version: 2 },
    });
  });

  test('refuses an update that changes the key', async () => {
    const { ann } = createOrg();
    await create(ann, documentText('notes'));
    expect(await outcomeOf(update(ann, documentText('other')))).toBe('template_invalid');
    expect(await outcomeOf(update(ann, documentText('none'), { key: 'none' }))).toBe('not_found');
  });

  test('keeps the document as its author wrote it', async () => {
    const { ann } = createOrg();
    const text = `# Mine\n${documentText('notes')}`;
    await create(ann, text);
    await update(ann, documentText('notes'));
    const readDocument = (version?: number) =>
      world.client.getTemplateDocument(
        { principal: ann.principal, key: 'notes', tier: 'user', ...(version && { version }) },
        testDeadline(),
      );
    expect(await readDocument(1)).toEqual({ version: 1, openapi: text });
    expect(await readDocument()).toEqual({ version: 2, openapi: documentText('notes') });
  });

  test('does not reuse the version numbers of a deleted template', async () => {
    const { ann } = createOrg();
    await create(ann, documentText('notes'));
    await update(ann, documentText('notes'));
    await remove(ann);
    expect(await outcomeOf(get(ann))).toBe('not_found');
    expect(await create(ann, documentText('notes'))).toMatchObject({ version: 3, status: 'draft' });
    expect((await listVersions(ann)).map(({ version }) => version)).toEqual([3]);
  });

  test('emits an event with an audit entry', async () => {
    const { ann } = createOrg();
    await create(ann, documentText('notes'));
    await publish(ann);
    await disableTemplate(ann);
    await disableTemplate(ann, { isDisabled: false });
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

test('a request without a tier fails with an error that names the tier of the template', async () => {
  const { admin } = createOrg();
  await create(admin, documentText('notes'), 'org');
  await expect(publish(admin)).rejects.toMatchObject({
    code: 'not_found',
    message: expect.stringContaining('of tier user, but one of tier org; add tier=org'),
  });
});

describe('a key that was used by a deleted template', () => {
  test('continues the version numbers, and leaves the deleted versions unpublished', async () => {
    const { ann } = createOrg();
    await create(ann, documentText('notes'));
    await publish(ann);
    await remove(ann);
    expect((await create(ann, documentText('notes'))).version).toBe(2);
    expect(await outcomeOf(publish(ann))).toBe('not_found');
    expect(await get(ann)).toMatchObject({ status: 'draft', version: 2 });
    await publish(ann, { version: 2 });
    expect(await listOwnTemplates(ann)).toEqual(['user notes']);
    await remove(ann);
    expect(await listOwnTemplates(ann)).toEqual([]);
  });
});

describe('a draft', () => {
  test('can be saved without servers, but not published', async () => {
    const { ann } = createOrg();
    const saved = await create(
      ann,
      documentText('notes', (changedDocument) =>
        Reflect.deleteProperty(changedDocument, 'servers'),
      ),
    );
    expect(saved).toMatchObject({ status: 'draft', warnings: [{ code: 'needs_base_url' }] });
    await expect(publish(ann)).rejects.toMatchObject({
      code: 'template_invalid',
      details: { report: { errors: [{ code: 'needs_base_url' }] } },
    });
  });

  test('cannot be connected, found or pinned until it is published', async () => {
    const { ann } = createOrg();
    await create(ann, documentText('notes'));
    const searchActions = async () => {
      const listRequest = {
        principal: ann.principal,
        query: 'notes create_note',
        limit: 20,
        catalog: true,
      };
      const { items } = await world.client.search(listRequest, testDeadline());
      return items.filter(({ template }) => template === 'notes');
    };
    expect(await outcomeOf(connectService(ann, { template: 'notes' }))).toBe('conflict');
    expect(await searchActions()).toEqual([]);

    await publish(ann);
    expect((await searchActions())[0]).toMatchObject({ template: 'notes', action: 'create_note' });
    expect(await outcomeOf(connectService(ann, { template: 'notes' }))).toBe('ok');
    expect((await searchActions())[0]).toMatchObject({ service: 'notes', action: 'create_note' });
  });

  test('does not change the published version', async () => {
    const { ann } = createOrg();
    await create(ann, documentText('notes'));
    await publish(ann);
    await update(
      ann,
      documentText('notes', (changedDocument) => (changedDocument.info.title = 'Second')),
    );

    expect(await get(ann)).toMatchObject({ version: 1, latest_version: 2, title: 'Example' });
    expect(await get(ann, { version: 2 })).toMatchObject({ version: 2, title: 'Second' });
    expect(await connectService(ann, { template: 'notes' })).toMatchObject({ template_version: 1 });
    expect(await outcomeOf(publish(ann, { version: 3 }))).toBe('not_found');
    expect(await publish(ann, { version: 2 })).toMatchObject({ version: 2, title: 'Second' });
  });
});

describe('operations on templates', () => {
  const tryWrites = (by: Person, tier: Tier) =>
    Promise.all([
      outcomeOf(create(by, documentText('mine'), tier)),
      outcomeOf(update(by, documentText('notes'), { tier })),
      outcomeOf(publish(by, { tier })),
      outcomeOf(disableTemplate(by, { tier })),
      outcomeOf(remove(by, { tier })),
    ]);

  test('of the org let admins write, let members and agents read published templates, and show nothing to other orgs', async () => {
    const { admin, ann, auditor, agent, stranger } = createOrg();
    await create(admin, documentText('notes'), 'org');
    expect([
      await listOwnTemplates(ann),
      await listOwnTemplates(agent),
      await listOwnTemplates(stranger),
    ]).toEqual([[], [], []]);
    expect([await listOwnTemplates(admin), await listOwnTemplates(auditor)]).toEqual([
      ['org notes'],
      ['org notes'],
    ]);
    expect(await tryWrites(ann, 'org')).toEqual(['forbidden', ...Array(4).fill('not_found')]);

    await publish(admin, { tier: 'org' });
    expect([
      await listOwnTemplates(ann),
      await listOwnTemplates(agent),
      await listOwnTemplates(stranger),
    ]).toEqual([['org notes'], ['org notes'], []]);
    for (const by of [ann, agent, auditor]) {
      expect(await tryWrites(by, 'org')).toEqual(Array(5).fill('forbidden'));
    }
    expect((await tryWrites(stranger, 'org')).slice(1)).toEqual(Array(4).fill('not_found'));
    await disableTemplate(admin, { tier: 'org' });
    expect([await listOwnTemplates(ann), await listOwnTemplates(auditor)]).toEqual([
      [],
      ['org notes'],
    ]);
    expect(await outcomeOf(get(ann))).toBe('not_found');
  });

  test('of a user let the user write, let its agents read published templates, and show nothing to other users', async () => {
    const { admin, ann, bob, agent, auditor } = createOrg();
    await create(ann, documentText('notes'));
    await publish(ann);
    await update(
      ann,
      documentText('notes', (changedDocument) => (changedDocument.info.title = 'Secret plans')),
    );

    for (const by of [admin, bob, auditor]) {
      expect(await listOwnTemplates(by)).toEqual([]);
      expect(await outcomeOf(get(by))).toBe('not_found');
    }
    expect(await listOwnTemplates(agent)).toEqual(['user notes']);
    expect(await outcomeOf(get(agent, { version: 2 }))).toBe('not_found');
    expect((await listVersions(agent)).map(({ version }) => version)).toEqual([1]);
    expect(await tryWrites(agent, 'user')).toEqual(Array(5).fill('forbidden'));
    expect((await tryWrites(bob, 'user')).slice(1)).toEqual(Array(4).fill('not_found'));
  });

  test('that are built in let all callers read and no caller write', async () => {
    const { admin } = createOrg();
    for (const tier of ['user', 'org'] as const) {
      expect(await outcomeOf(update(admin, documentText('github'), { key: 'github', tier }))).toBe(
        'not_found',
      );
      expect(await outcomeOf(remove(admin, { key: 'github', tier }))).toBe('not_found');
    }
    expect(await listVersions(admin, { key: 'github' })).toMatchObject([
      { version: 1, is_published: true, actions_count: 12, difference: null, created_by: null },
    ]);
  });

  test('refuse a principal that is not signed by auth', async () => {
    const { ann } = createOrg();
    const forgedPerson = { ...ann, principal: `${'a'.repeat(40)}.${'b'.repeat(43)}` };
    expect(await outcomeOf(create(forgedPerson, documentText('notes')))).toBe('unauthenticated');
    expect(await outcomeOf(get(forgedPerson))).toBe('unauthenticated');
  });
});

describe('the most specific template', () => {
  test('is used when a request names no tier, and naming a tier selects another template', async () => {
    const { admin, ann, bob } = createOrg();
    for (const [by, tier, title] of [
      [admin, 'org', 'Of the org'],
      [ann, 'user', 'Of Ann'],
    ] as const) {
      await create(
        by,
        documentText('github', (changedDocument) => (changedDocument.info.title = title)),
        tier,
      );
      expect(await get(by, { key: 'github', tier })).toMatchObject({ title, status: 'draft' });
      await publish(by, { key: 'github', tier });
    }
    const getTitle = async (by: Person, tier?: Tier | 'global') =>
      (await get(by, { key: 'github', ...(tier && { tier }) })).title;

    expect([await getTitle(ann), await getTitle(bob)]).toEqual(['Of Ann', 'Of the org']);
    expect([await getTitle(ann, 'org'), await getTitle(ann, 'global')]).toEqual([
      'Of the org',
      'GitHub',
    ]);
    expect(await connectService(ann, { template: 'github' })).toMatchObject({
      template_tier: 'user',
    });
    expect(await connectService(bob, { template: 'github' })).toMatchObject({
      template_tier: 'org',
    });
    expect(await connectService(admin, { template: 'github', tier: 'org' })).toMatchObject({
      template_tier: 'org',
    });
    await disableTemplate(ann, { key: 'github' });
    expect(await connectService(ann, { template: 'github', name: 'second' })).toMatchObject({
      template_tier: 'org',
    });
  });

  test('is not used for a service of the org when it belongs to a user', async () => {
    const { admin } = createOrg();
    await create(admin, documentText('notes'));
    await publish(admin);
    await expect(connectService(admin, { template: 'notes', tier: 'org' })).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('Publish it for the org'),
    });
  });

  test('is found by its host when it belongs to the org, but not when it belongs to a user', async () => {
    const { admin, ann, bob } = createOrg();
    await create(admin, documentText('notes'), 'org');
    await create(ann, documentText('private'));
    await publish(admin, { tier: 'org' });
    await publish(ann, { key: 'private' });
    const { orgId } = bob;
    const find = async (userId: string) => {
      const listRequest = { orgId, userId, host: 'api.example.com' };
      return (await world.policy.findByHost(listRequest, testDeadline())).templates.map(
        ({ key }) => key,
      );
    };
    expect([await find(bob.userId), await find(ann.userId)]).toEqual([['notes'], ['notes']]);
  });

  test('is found by its further addresses, and so are services that keep an earlier version of it', async () => {
    const { admin, ann, bob } = createOrg();
    const withRoot = (key: string) =>
      documentText(key, (changedDocument) =>
        Object.assign(changedDocument, { also_at: ['https://old.example.org/ex/{site}'] }),
      );
    await create(admin, documentText('notes'), 'org');
    await create(ann, documentText('private'));
    await publish(admin, { tier: 'org' });
    await publish(ann, { key: 'private' });
    await connectService(ann, { template: 'notes', name: 'shared' });
    await connectService(ann, { template: 'private', name: 'own' });
    const find = async ({ orgId, userId }: Person) => {
      const foundByHost = await world.policy.findByHost(
        { orgId, userId, host: 'old.example.org' },
        testDeadline(),
      );
      const toText = ({ key, version }: { key: string; version: number }) => `${key} ${version}`;
      return [
        foundByHost.templates.map(toText),
        foundByHost.services.map(({ name, template }) => `${name}: ${toText(template)}`).toSorted(),
      ];
    };
    expect(await find(ann)).toEqual([[], []]);

    await update(admin, withRoot('notes'), { tier: 'org' });
    await update(ann, withRoot('private'), { key: 'private' });
    // The addresses of a draft have no effect yet.
    expect(await find(ann)).toEqual([[], []]);

    await publish(admin, { version: 2, tier: 'org' });
    await publish(ann, { key: 'private', version: 2 });
    expect(await find(ann)).toEqual([['notes 2'], ['own: private 2', 'shared: notes 2']]);
    expect(await find(bob)).toEqual([['notes 2'], []]);
    expect(await get(ann, { tier: 'org' })).toMatchObject({ hosts: ['api.example.com'] });
    expect((await resolve(ann, 'shared')).template.version).toBe(1);
  });
});

describe('a template in use', () => {
  test('disables its services while it is disabled', async () => {
    const { ann } = createOrg();
    await create(ann, documentText('notes'));
    await publish(ann);
    await connectService(ann, { template: 'notes' });
    expect((await resolve(ann, 'notes')).status).toBe('ready');

    await disableTemplate(ann);
    expect((await resolve(ann, 'notes')).status).toBe('disabled');
    expect(await outcomeOf(connectService(ann, { template: 'notes', name: 'more' }))).toBe(
      'conflict',
    );
    const listRequest = { principal: ann.principal, query: '', limit: 50, catalog: true };
    const { items } = await world.client.search(listRequest, testDeadline());
    expect(items.filter(({ template }) => template === 'notes')).toEqual([]);

    await disableTemplate(ann, { isDisabled: false });
    expect((await resolve(ann, 'notes')).status).toBe('ready');
  });

  test('cannot be deleted', async () => {
    const { ann } = createOrg();
    await create(ann, documentText('notes'));
    await publish(ann);
    await connectService(ann, { template: 'notes' });
    await expect(remove(ann)).rejects.toMatchObject({
      code: 'conflict',
      details: { services_count: 1 },
    });
    await world.client.deleteService({ principal: ann.principal, name: 'notes' }, testDeadline());
    expect(await outcomeOf(remove(ann))).toBe('ok');
  });

  test('is either connected or deleted when connecting and deleting are requested at once', async () => {
    const { ann } = createOrg();
    for (let round = 0; round < 8; round += 1) {
      const key = `notes${round}`;
      await create(ann, documentText(key));
      await publish(ann, { key });
      const [connected, removed] = await Promise.all([
        outcomeOf(connectService(ann, { template: key })),
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
