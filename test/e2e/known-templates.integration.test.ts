import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { provisionTemplates } from '../../provision.ts';
import { createTestEnvironment } from '../support/environment.ts';
import type { TestEnvironment } from '../support/environment.ts';
import { openTables } from './support/database.ts';
import type { Tables } from './support/database.ts';
import { templateDocument } from './support/template.ts';

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
const known = async (): Promise<string[]> => {
  const rows = await tables.query(
    'select key, tier, version from policy.known_template order by key, version, created_at',
  );
  return rows.map(({ key, tier, version }) => [key, tier, version].join(' ').trim());
};

const addresses = async () =>
  (await tables.query('select base_url from policy.known_address order by 1')).map(
    ({ base_url: baseUrl }) => baseUrl,
  );

const orgId = randomUUID();

async function connect(baseUrl: string, isGiven: boolean): Promise<void> {
  const id = randomUUID();
  await tables.query(
    `insert into registry.connected_service
            (id, org_id, tier, name, template_key, template_tier, template_version, title, base_url,
             hosts, auto_allow_reads, secrets, created_by, is_base_url_given)
     values ($1, $2, 'org', $3, 'old', 'global', 1, 'Old', $4, array['h.example'], true, '{}', $1, $5)`,
    [id, orgId, `s${id.slice(0, 8)}`, baseUrl, isGiven],
  );
}

/** The registry has it in its table. */
async function store(key: string, tier: 'org' | 'global', version: number): Promise<void> {
  const owner = tier === 'org' ? orgId : null;
  const said = { title: `${key} ${version}`, description: '', category: '', runtime: 'http' };
  const rest = { server: null, hosts: [], auth: [], security: [], actions: {} };
  const compiled = JSON.stringify({ key, tier, ownerId: owner, version: 1, ...said, ...rest });
  await tables.query(
    `insert into registry.template_version (id, org_id, tier, owner_id, key, version,
                                            content_hash, compiled)
     values ($1, $2, $3, $2, $4, $5, $6, $7)`,
    [randomUUID(), owner, tier, key, version, `${key} ${version}`, compiled],
  );
}

test('an installation that exists is taken as it is, once; later only what files say is added', async () => {
  await store('old', 'global', 1);
  await store('mine', 'org', 1);
  await store('mine', 'org', 2);
  await store('draft', 'org', 1);
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
  expect(await known()).toEqual(['mine org 1', 'notes global', 'old global']);
  expect(await addresses()).toEqual(['https://given.example']);

  // What somebody with the registry's database adds is not believed at the next release.
  await store('forged', 'global', 1);
  await store('mine', 'org', 3);
  await tables.query("update registry.template set published_version = 2 where key = 'mine'");
  await connect('https://evil.example', true);
  await Promise.all([migrate(), migrate()]);
  expect(await addresses()).toEqual(['https://given.example']);
  expect(await known()).toEqual(['mine org 1', 'notes global', 'old global']);

  const changed = templateDocument('notes').replace('List notes', 'List all notes');
  await writeFile(join(folder, 'notes.yaml'), changed);
  await writeFile(join(folder, 'broken.yaml'), 'openapi: 3.1.0');
  await migrate();
  // Services keep the earlier version until they are upgraded.
  expect(await known()).toEqual(['mine org 1', 'notes global', 'notes global', 'old global']);
});

test('policy alone can read and write the list, and it holds digests and no text', async () => {
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
