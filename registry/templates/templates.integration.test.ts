import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import { compiledTemplate } from '#contracts/template';
import { builtInKeys } from './built-in-keys.testing.ts';
import { createRegistryWorld, testDeadline } from '../world.testing.ts';
import type { Person, RegistryWorld } from '../world.testing.ts';

let world: RegistryWorld;
let ann: Person;
beforeAll(async () => {
  world = await createRegistryWorld();
  ann = world.person();
});
afterAll(() => world[Symbol.asyncDispose]());

const documentOf = (key: string, summary = 'List notes', moreLines = '') => `
openapi: 3.1.0
info: { title: Notes, key: ${key} }
servers: [{ url: 'https://${key}.example.com' }]
paths:
  /notes:
    get: { operationId: list_notes, summary: ${summary} }
${moreLines}`;

async function listVisibleKeys(): Promise<string[]> {
  const page = { limit: 200, cursor: null };
  const { items } = await world.client.listTemplates(
    { principal: ann.principal, page },
    testDeadline(),
  );
  return items.map((template) => template.key);
}

const getVersionOf = async (key: string) =>
  (await world.client.getTemplate({ principal: ann.principal, key }, testDeadline())).version;

describe('listing templates', () => {
  test('returns the built-in templates and the pseudo-service http', async () => {
    expect((await listVisibleKeys()).toSorted()).toEqual([...builtInKeys, 'http'].toSorted());
  });

  test('shows the pseudo-service without hosts and credentials', async () => {
    const http = await world.client.getTemplate(
      { principal: ann.principal, key: 'http' },
      testDeadline(),
    );

    expect(http).toMatchObject({
      title: 'Raw HTTP',
      category: 'Platform',
      hosts: [],
      auth: [],
      actions: [],
    });
  });

  test('returns the templates in pages', async () => {
    const { principal } = ann;
    const first = await world.client.listTemplates(
      { principal, page: { limit: 4, cursor: null } },
      testDeadline(),
    );
    const restOfList = await world.client.listTemplates(
      { principal, page: { limit: 200, cursor: first.next_cursor } },
      testDeadline(),
    );

    expect([first.items.length, restOfList.next_cursor]).toEqual([4, null]);
    expect([...first.items, ...restOfList.items].map(({ key }) => key)).toEqual(
      await listVisibleKeys(),
    );
  });

  test('suggests the most similar key for an unknown template', async () => {
    const missingTemplate = world.client.getTemplate(
      { principal: ann.principal, key: 'gitlap' },
      testDeadline(),
    );

    await expect(missingTemplate).rejects.toMatchObject({
      code: 'not_found',
      details: { did_you_mean: 'gitlab' },
    });
  });

  test.for<[how: string, key: string, suggestion: string]>([
    ['with a title in place of the key', 'Google Calendar', 'google_calendar'],
    ['with other separators', 'google-calendar', 'google_calendar'],
  ])('suggests the key for a template named %s', async ([, key, suggestion]) => {
    await expect(
      world.client.getTemplate({ principal: ann.principal, key }, testDeadline()),
    ).rejects.toMatchObject({ code: 'not_found', details: { did_you_mean: suggestion } });
  });

  test('finds a template whose key is written with capital letters', async () => {
    const { key } = await world.client.getTemplate(
      { principal: ann.principal, key: 'GitHub' },
      testDeadline(),
    );
    expect(key).toBe('github');
  });

  test('gives policy the compiled templates, and an error for a version that does not exist', async () => {
    const github = { key: 'github', tier: 'global', ownerId: null, version: 1 } as const;
    const getCompiled = (template: Omit<typeof github, 'version'> & { version: number }) =>
      world.policy.getCompiledTemplate({ orgId: ann.orgId, template }, testDeadline());

    expect(compiledTemplate.parse(await getCompiled(github))).toMatchObject({
      key: 'github',
      version: 1,
    });
    await expect(getCompiled({ ...github, version: 99 })).rejects.toMatchObject({
      code: 'not_found',
    });
  });
});

describe('the folder of built-in templates', () => {
  test('may contain invalid files, which are skipped, and may change without a restart', async () => {
    await using ownWorld = await createFolderWorld();
    const { folder } = ownWorld;
    const listKeys = () => ownWorld.listKeys();
    expect(await listKeys()).toEqual(['http', 'notes', 'tasks']);

    await writeFile(join(folder, 'more.yml'), documentOf('more'));
    await rm(join(folder, 'tasks.yaml'));
    await vi.waitFor(
      async () => expect(await listKeys()).toEqual(['http', 'more', 'notes']),
      30_000,
    );

    await writeFile(join(folder, 'notes.yaml'), 'openapi: [');
    await writeFile(join(folder, 'later.yaml'), documentOf('later'));
    await vi.waitFor(async () => expect(await listKeys()).toContain('later'), 30_000);
    // The file `notes.yaml` has become invalid; its last valid content stays in use.
    expect(await listKeys()).toEqual(['http', 'later', 'more', 'notes']);
  });

  test('gives a template the same versions after a restart and in other replicas, and old versions stay', async () => {
    const folder = await world.folder();
    const path = join(folder, 'a.yaml');
    await writeFile(path, documentOf('counted', 'First'));
    await using ownWorld = await createRegistryWorld(folder);
    await Promise.all([ownWorld.startReplica(folder), ownWorld.startReplica(folder)]);
    await writeFile(path, documentOf('counted', 'Second'));
    await ownWorld.startReplica(folder);
    await writeFile(path, documentOf('counted', 'First'));
    await ownWorld.startReplica(folder);

    const rows = await ownWorld.db<{ version: number }[]>`
      select version
        from registry.template_version
       where org_id is null
         and key = 'counted'
       order by version
    `;
    expect(rows.map(({ version }) => version)).toEqual([1, 2]);
    const template = { key: 'counted', tier: 'global', ownerId: null } as const;
    const getCompiled = (version: number) =>
      ownWorld.policy.getCompiledTemplate(
        { orgId: ann.orgId, template: { ...template, version } },
        testDeadline(),
      );
    expect(await getCompiled(1)).toMatchObject({
      version: 1,
      actions: { list_notes: { summary: 'First' } },
    });
    expect(await getCompiled(2)).toMatchObject({
      version: 2,
      actions: { list_notes: { summary: 'Second' } },
    });
  });

  test('gives a template its previous version number when its file has not changed', async () => {
    expect(await getVersionOf('github')).toBe(1);
    await world.startReplica();

    expect(await getVersionOf('github')).toBe(1);
  });

  test('may contain a template that replaces the pseudo-service http', async () => {
    const folder = await world.folder();
    await writeFile(join(folder, 'http.yaml'), documentOf('http', 'Of a file'));
    await using ownWorld = await createRegistryWorld(folder);
    const { principal } = ownWorld.person();
    const template = await ownWorld.client.getTemplate({ principal, key: 'http' }, testDeadline());
    expect(template).toMatchObject({ hosts: ['http.example.com'], actions_count: 1 });
  });

  test('must be readable when the component starts', async () => {
    await expect(world.startReplica('/nowhere')).rejects.toThrow(/TEMPLATES_DIR/);
  });
});

/** Starts a registry whose folder has two valid files, and one file of each invalid kind. */
async function createFolderWorld() {
  const folder = await world.folder();
  await writeFile(join(folder, 'notes.yaml'), documentOf('notes'));
  await writeFile(join(folder, 'tasks.yaml'), documentOf('tasks'));
  await writeFile(join(folder, 'invalid.yaml'), documentOf('invalid', 'List {nothing}'));
  await writeFile(join(folder, 'malformed.yaml'), 'openapi: [');
  await writeFile(join(folder, 'twice.yaml'), documentOf('notes', 'Same key'));
  await writeFile(join(folder, 'reserved.yaml'), documentOf('secret'));
  await writeFile(join(folder, 'binary.yaml'), Buffer.from([0xff, 0xfe, 0x00]));
  await writeFile(join(folder, 'large.yaml'), `# ${'x'.repeat(1_100_000)}\n${documentOf('large')}`);
  await writeFile(join(folder, 'ignored.txt'), documentOf('ignored'));
  const ownWorld = await createRegistryWorld(folder);
  const { principal } = ownWorld.person();
  return {
    folder,
    async listKeys() {
      const page = { limit: 200, cursor: null };
      const { items } = await ownWorld.client.listTemplates({ principal, page }, testDeadline());
      return items.map((template) => template.key);
    },
    [Symbol.asyncDispose]: () => ownWorld[Symbol.asyncDispose](),
  };
}
