import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import { compiledTemplate } from '#contracts/template';
import { builtInKeys } from './test-support/built-in-keys.ts';
import { createRegistryWorld, soon } from './world.testing.ts';
import type { Person, RegistryWorld } from './world.testing.ts';

let world: RegistryWorld;
let ann: Person;
beforeAll(async () => {
  world = await createRegistryWorld();
  ann = world.person();
});
afterAll(() => world[Symbol.asyncDispose]());

const document = (key: string, summary = 'List notes', more = '') => `
openapi: 3.1.0
info: { title: Notes, key: ${key} }
servers: [{ url: 'https://${key}.example.com' }]
paths:
  /notes:
    get: { operationId: list_notes, summary: ${summary} }
${more}`;

async function keys(): Promise<string[]> {
  const page = { limit: 200, cursor: null };
  const { items } = await world.client.listTemplates({ principal: ann.principal, page }, soon());
  return items.map((template) => template.key);
}

const versionOf = async (key: string) =>
  (await world.client.getTemplate({ principal: ann.principal, key }, soon())).version;

describe('templates', () => {
  test('are the built-in ones and the pseudo-service http', async () => {
    expect((await keys()).toSorted()).toEqual([...builtInKeys, 'http'].toSorted());
  });

  test('of the pseudo-service have no hosts and no auth', async () => {
    const http = await world.client.getTemplate({ principal: ann.principal, key: 'http' }, soon());

    expect(http).toMatchObject({
      title: 'Raw HTTP',
      category: 'Platform',
      hosts: [],
      auth: [],
      actions: [],
    });
  });

  test('are paged', async () => {
    const { principal } = ann;
    const first = await world.client.listTemplates(
      { principal, page: { limit: 4, cursor: null } },
      soon(),
    );
    const rest = await world.client.listTemplates(
      { principal, page: { limit: 200, cursor: first.next_cursor } },
      soon(),
    );

    expect([first.items.length, rest.next_cursor]).toEqual([4, null]);
    expect([...first.items, ...rest.items].map(({ key }) => key)).toEqual(await keys());
  });

  test('that are not there are not found, with the nearest name', async () => {
    const missing = world.client.getTemplate({ principal: ann.principal, key: 'gitlap' }, soon());

    await expect(missing).rejects.toMatchObject({
      code: 'not_found',
      details: { did_you_mean: 'gitlab' },
    });
  });

  test('are given to policy compiled, and only in versions that exist', async () => {
    const github = { key: 'github', tier: 'global', ownerId: null, version: 1 } as const;
    const get = (template: Omit<typeof github, 'version'> & { version: number }) =>
      world.policy.getCompiledTemplate({ orgId: ann.orgId, template }, soon());

    expect(compiledTemplate.parse(await get(github))).toMatchObject({ key: 'github', version: 1 });
    await expect(get({ ...github, version: 99 })).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('the folder of built-in templates', () => {
  test('skips what is wrong, loads the rest, and follows changes without a restart', async () => {
    await using own = await createFolderWorld();
    const { folder } = own;
    const listKeys = () => own.listKeys();
    expect(await listKeys()).toEqual(['http', 'notes', 'tasks']);

    await writeFile(join(folder, 'more.yml'), document('more'));
    await rm(join(folder, 'tasks.yaml'));
    await vi.waitFor(
      async () => expect(await listKeys()).toEqual(['http', 'more', 'notes']),
      8_000,
    );

    await writeFile(join(folder, 'notes.yaml'), 'openapi: [');
    await writeFile(join(folder, 'later.yaml'), document('later'));
    await vi.waitFor(async () => expect(await listKeys()).toContain('later'), 8_000);
    // What is broken while the process runs does not take away what worked.
    expect(await listKeys()).toEqual(['http', 'later', 'more', 'notes']);
  });

  test('numbers contents across restarts and replicas, and keeps every version', async () => {
    const folder = await world.folder();
    const path = join(folder, 'a.yaml');
    await writeFile(path, document('counted', 'First'));
    await using own = await createRegistryWorld(folder);
    await Promise.all([own.startReplica(folder), own.startReplica(folder)]);
    await writeFile(path, document('counted', 'Second'));
    await own.startReplica(folder);
    await writeFile(path, document('counted', 'First'));
    await own.startReplica(folder);

    const rows = await own.db<{ version: number }[]>`
      select version
        from registry.template_version
       where org_id is null
         and key = 'counted'
       order by version
    `;
    expect(rows.map(({ version }) => version)).toEqual([1, 2]);
    const template = { key: 'counted', tier: 'global', ownerId: null } as const;
    const get = (version: number) =>
      own.policy.getCompiledTemplate(
        { orgId: ann.orgId, template: { ...template, version } },
        soon(),
      );
    expect(await get(1)).toMatchObject({
      version: 1,
      actions: { list_notes: { summary: 'First' } },
    });
    expect(await get(2)).toMatchObject({
      version: 2,
      actions: { list_notes: { summary: 'Second' } },
    });
  });

  test('keeps the version of an unchanged template', async () => {
    expect(await versionOf('github')).toBe(1);
    await world.startReplica();

    expect(await versionOf('github')).toBe(1);
  });

  test('may take the place of the pseudo-service http', async () => {
    const folder = await world.folder();
    await writeFile(join(folder, 'http.yaml'), document('http', 'Of a file'));
    await using own = await createRegistryWorld(folder);
    const { principal } = own.person();
    const template = await own.client.getTemplate({ principal, key: 'http' }, soon());
    expect(template).toMatchObject({ hosts: ['http.example.com'], actions_count: 1 });
  });

  test('must be readable when the component starts', async () => {
    await expect(world.startReplica('/nowhere')).rejects.toThrow(/TEMPLATES_DIR/);
  });
});

/** A registry with a folder of its own: two good files, and one of every kind that is skipped. */
async function createFolderWorld() {
  const folder = await world.folder();
  await writeFile(join(folder, 'notes.yaml'), document('notes'));
  await writeFile(join(folder, 'tasks.yaml'), document('tasks'));
  await writeFile(join(folder, 'invalid.yaml'), document('invalid', 'List {nothing}'));
  await writeFile(join(folder, 'malformed.yaml'), 'openapi: [');
  await writeFile(join(folder, 'twice.yaml'), document('notes', 'Same key'));
  await writeFile(join(folder, 'reserved.yaml'), document('secret'));
  await writeFile(join(folder, 'binary.yaml'), Buffer.from([0xff, 0xfe, 0x00]));
  await writeFile(join(folder, 'large.yaml'), `# ${'x'.repeat(1_100_000)}\n${document('large')}`);
  await writeFile(join(folder, 'ignored.txt'), document('ignored'));
  const own = await createRegistryWorld(folder);
  const { principal } = own.person();
  return {
    folder,
    async listKeys() {
      const page = { limit: 200, cursor: null };
      const { items } = await own.client.listTemplates({ principal, page }, soon());
      return items.map((template) => template.key);
    },
    [Symbol.asyncDispose]: () => own[Symbol.asyncDispose](),
  };
}
