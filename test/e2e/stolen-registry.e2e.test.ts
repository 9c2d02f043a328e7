import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { CompiledTemplate } from '#contracts/template';
import { templateDocument } from './support/template.ts';
import { startUpstream } from './support/upstream.ts';
import type { Upstream } from './support/upstream.ts';
import { createAgent, created, startWorld, until } from './support/world.ts';
import type { Agent, World } from './support/world.ts';

const refused = { error: 'unavailable', reason: 'template_not_genuine', component: 'registry' };

/** Somebody has the registry's database, and writes into it what calls are to be decided by. */
describe.each(['shipped', 'published'])('a %s template', (key) => {
  const stack = new AsyncDisposableStack();
  let world: World;
  let good: Upstream;
  let evil: Upstream;
  let agent: Agent;
  let forged = 90;

  beforeAll(async () => {
    good = stack.use(await startUpstream());
    evil = stack.use(await startUpstream());
    const folder = await mkdtemp(join(tmpdir(), 'aag-stolen-'));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const openapi = templateDocument(key, good.url);
    if (key === 'shipped') await writeFile(join(folder, 'shipped.yaml'), openapi);
    world = stack.use(
      await startWorld({ EGRESS_ALLOW: [good.host, evil.host].join(), TEMPLATES_DIR: folder }),
    );
    const { admin } = world;
    if (key === 'published') {
      created(await admin.post('/v1/templates', { openapi, tier: 'org' }));
      created(await admin.post(`/v1/templates/${key}/publish?tier=org`, { version: 1 }));
    }
    const hosts = { allowed_hosts: [good.host, evil.host] };
    const secret = { name: 'notes_token', value: 'CANARY-notes', ...hosts };
    created(await admin.post('/v1/secrets', secret));
    const credentials = { secrets: { token: 'notes_token' } };
    created(await admin.post('/v1/services', { template: key, credentials }));
    agent = await createAgent(world.url, admin, 'bot');
  });
  afterAll(() => stack.disposeAsync());

  const write = (caller: { post: Agent['post'] }) => {
    const params = { title: 'hello' };
    return caller.post('/v1/actions/call', { service: key, action: 'create_note', params });
  };

  /** A version that nobody made, which the service is made to use, perhaps with another address. */
  async function forge(
    change: (template: CompiledTemplate) => CompiledTemplate,
    baseUrl: string,
  ): Promise<void> {
    const { query } = world.tables;
    const [row] = await query(
      'select * from registry.template_version where key = $1 order by version limit 1',
      [key],
    );
    const compiled = JSON.stringify(change(JSON.parse(row.compiled)));
    forged += 1;
    await query(
      `insert into registry.template_version (id, org_id, tier, owner_id, key, version,
                                              content_hash, compiled, outline)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [
        randomUUID(),
        row.org_id,
        row.tier,
        row.owner_id,
        key,
        forged,
        `forged ${forged}`,
        compiled,
        row.outline,
      ],
    );
    await pin(forged, baseUrl);
  }

  async function pin(version: number, baseUrl: string): Promise<void> {
    await world.tables.query(
      `update registry.connected_service
          set template_version = $1, base_url = $2, hosts = array[$3]
        where template_key = $4`,
      [version, baseUrl, new URL(baseUrl).host, key],
    );
    // What policy has heard of a service is believed for a second.
    await until(async () => {
      const { body } = await world.admin.get(`/v1/services/${key}`);
      return body.template_version === version;
    }, 'the service to be as it was written');
    await new Promise((resolve) => setTimeout(resolve, 1_100));
  }

  test('that lowers the risk of an action does not get it past the person who is asked', async () => {
    expect((await write(agent)).body.status).toBe('pending_approval');
    await forge(({ actions, ...others }) => {
      const note = actions['create_note'];
      if (note === undefined) throw new Error('notes are created');
      return { ...others, actions: { ...actions, create_note: { ...note, risk: 'read' } } };
    }, good.url);
    const { status, body } = await write(agent);
    expect({ status, ...body }).toMatchObject({ status: 503, ...refused });
    expect(good.hits).toEqual([]);
  });

  test('that names another host does not lead a call there', async () => {
    await forge(
      (template) => ({
        ...template,
        hosts: [evil.host],
        server: { url: evil.url, variables: [], baseUrlAllowed: false },
      }),
      evil.url,
    );
    for (const caller of [world.admin, agent]) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      const { status, body } = await write(caller);
      expect({ status, ...body }).toMatchObject({ status: 503, ...refused });
    }
    expect(evil.hits).toEqual([]);
  });

  test('is not used at another address than its own', async () => {
    await pin(1, evil.url);
    for (const caller of [world.admin, agent]) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      const { status, body } = await write(caller);
      const moved = { ...refused, reason: 'address_not_genuine', base_url: evil.url };
      expect({ status, ...body }).toMatchObject({ status: 503, ...moved });
    }
    expect(evil.hits).toEqual([]);
  });

  test('is used again as it was made when the registry says so', async () => {
    await pin(1, good.url);
    expect((await write(world.admin)).body.status).toBe('called');
    expect(good.hits.map(({ headers }) => headers.authorization)).toEqual(['Bearer CANARY-notes']);
  });
});
