import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { provisionTemplates } from '../../provision.ts';
import { createTestEnvironment } from '../support/environment.ts';
import type { TestEnvironment } from '../support/environment.ts';
import { openTables } from '../support/database.ts';
import type { Tables } from '../support/database.ts';
import { templateDocument } from '../support/template.ts';

const stack = new AsyncDisposableStack();
let environment: TestEnvironment;
let tables: Tables;
let folder: string;

beforeAll(async () => {
  environment = stack.use(await createTestEnvironment());
  tables = stack.use(await openTables(environment.adminUrl));
  folder = await mkdtemp(join(tmpdir(), 'aag-known-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
});
afterAll(() => stack.disposeAsync());

const migrate = () => {
  const { adminUrl } = environment;
  return provisionTemplates({ adminUrl, TEMPLATES_DIR: folder, EGRESS_ALLOW: '' });
};
const listKnownTemplates = async (): Promise<string[]> => {
  const rows = await tables.query(
    'select key, tier, version from policy.known_template order by key, version, created_at',
  );
  return rows.map(({ key, tier, version }) => [key, tier, version].join(' ').trim());
};

const listBaseUrls = async () =>
  (await tables.query('select base_url from policy.known_address order by 1')).map(
    ({ base_url: baseUrl }) => baseUrl,
  );

const orgId = randomUUID();

async function connect(baseUrl: string, isBaseUrlGiven: boolean): Promise<void> {
  const id = randomUUID();
  await tables.query(
    `insert into registry.connected_service
            (id, org_id, tier, name, template_key, template_tier, template_version, title, base_url,
             hosts, auto_allow_reads, secrets, created_by, is_base_url_given)
     values ($1, $2, 'org', $3, 'old', 'global', 1, 'Old', $4, array['h.example'], true, '{}', $1, $5)`,
    [id, orgId, `s${id.slice(0, 8)}`, baseUrl, isBaseUrlGiven],
  );
}

/** Inserts a template version into the registry's table. */
async function storeVersion(key: string, tier: 'org' | 'global', version: number): Promise<void> {
  const owner = tier === 'org' ? orgId : null;
  const metadata = { title: `${key} ${version}`, description: '', category: '', runtime: 'http' };
  const emptyTemplate = { server: null, hosts: [], auth: [], security: [], actions: {} };
  const compiled = JSON.stringify({
    key,
    tier,
    ownerId: owner,
    version: 1,
    ...metadata,
    ...emptyTemplate,
  });
  await tables.query(
    `insert into registry.template_version (id, org_id, tier, owner_id, key, version,
                                            content_hash, compiled)
     values ($1, $2, $3, $2, $4, $5, $6, $7)`,
    [randomUUID(), owner, tier, key, version, `${key} ${version}`, compiled],
  );
}

test('policy trusts all templates of an existing installation at the first migration, and later only the templates in files', async () => {
  await storeVersion('old', 'global', 1);
  await storeVersion('mine', 'org', 1);
  await storeVersion('mine', 'org', 2);
  await storeVersion('draft', 'org', 1);
  for (const [key, published] of [
    ['mine', 1],
    ['draft', null],
  ]) {
    // oxlint-disable-next-line no-await-in-loop -- one after another
    await tables.query(
      `insert into registry.template (id, org_id, tier, owner_id, key, version, published_version)
       values ($1, $2, 'org', $2, $3, 2, $4)`,
      [randomUUID(), orgId, key, published],
    );
  }
  await connect('https://given.example', true);
  await connect('https://given.example', true);
  await connect('https://own.example', false);
  await writeFile(join(folder, 'notes.yaml'), templateDocument('notes'));
  await migrate();
  expect(await listKnownTemplates()).toEqual(['mine org 1', 'notes global', 'old global']);
  expect(await listBaseUrls()).toEqual(['https://given.example']);

  // An attacker adds rows to the registry's database after the first migration; policy must not
  // adopt them.
  await storeVersion('forged', 'global', 1);
  await storeVersion('mine', 'org', 3);
  await tables.query("update registry.template set published_version = 2 where key = 'mine'");
  await connect('https://evil.example', true);
  await Promise.all([migrate(), migrate()]);
  expect(await listBaseUrls()).toEqual(['https://given.example']);
  expect(await listKnownTemplates()).toEqual(['mine org 1', 'notes global', 'old global']);

  const changedTemplate = templateDocument('notes').replace('List notes', 'List all notes');
  await writeFile(join(folder, 'notes.yaml'), changedTemplate);
  await writeFile(join(folder, 'broken.yaml'), 'openapi: 3.1.0');
  await migrate();
  // Policy still knows the template's earlier version, because services use it until they are
  // upgraded.
  expect(await listKnownTemplates()).toEqual([
    'mine org 1',
    'notes global',
    'notes global',
    'old global',
  ]);
});

test('only policy can use the list of known templates, which contains digests instead of texts', async () => {
  const [row] = await tables.query("select * from policy.known_template where key = 'notes'");
  expect(row.digest).toMatch(/^[0-9a-f]{64}$/);
  const [{ roles }] = await tables.query(
    `select array_agg(distinct grantee::text order by grantee::text) as roles
       from information_schema.role_table_grants
      where table_schema = 'policy' and table_name = 'known_template'
        and grantee in ('auth', 'registry', 'policy', 'executor', 'approvals', 'notifier', 'audit')`,
  );
  expect(roles).toEqual(['policy']);
});
