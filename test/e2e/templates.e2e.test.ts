import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Person } from './support/people.ts';
import { templateDocument } from './support/template.ts';
import { createAgent, created, startWorld, until } from './support/world.ts';
import type { Agent, World } from './support/world.ts';

/** A document of an API, as somebody finds it: nothing in it was written for a gateway. */
const shop = (server: string, more: object = {}) => ({
  openapi: '3.0.3',
  info: { title: 'Shop', version: '1' },
  servers: [{ url: server }],
  paths: {
    '/orders': {
      get: { operationId: 'listOrders', summary: 'List orders', responses: {} },
      post: { operationId: 'placeOrder', summary: 'Place an order', responses: {} },
    },
    ...more,
  },
});

describe('a template of one’s own', () => {
  let world: World;
  let mia: Person;
  let bot: Agent;
  beforeAll(async () => {
    world = await startWorld();
    mia = await world.person({ orgId: world.admin.orgId, name: 'mia', role: 'member' });
    bot = await createAgent(world.url, mia, 'bot');
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const call = (service: string, action: string) =>
    bot.post('/v1/actions/call', { service, action, params: {} });
  /** What others keep is dropped by events, which take a moment. */
  const becomes = (action: string, expected: string) =>
    until(async () => {
      const { body } = await call('shop', action);
      return expected === (body.error ?? body.status);
    }, `${action}: ${expected}`);
  const find = async (query: string) => created(await bot.get(`/v1/search?q=${query}`)).items;

  /** Imports the shop and publishes it; by plain http, which an import never assumes. */
  async function release(version: number, more: object = {}) {
    const source = { document: JSON.stringify(shop(world.upstream.url, more)) };
    const imported = created(await mia.post('/v1/templates/import', { source, key: 'shop' }));
    const { openapi } = created(await mia.get('/v1/templates/shop/document'));
    const mended = { openapi: openapi.replace('https://127', 'http://127'), version: version - 1 };
    created(await mia.put('/v1/templates/shop', mended));
    created(await mia.post('/v1/templates/shop/publish', { version }));
    return imported;
  }

  test('stays a draft when policy cannot keep what it says, and is published once it can', async () => {
    const openapi = templateDocument('late', world.upstream.url);
    created(await mia.post('/v1/templates', { openapi }));
    const publish = () => mia.post('/v1/templates/late/publish', { version: 1 });
    await world.tables.query('alter table policy.known_template rename to unreachable');
    expect((await publish()).status).toBeGreaterThanOrEqual(500);
    expect((await mia.get('/v1/templates/late')).body).toMatchObject({ status: 'draft' });
    await world.tables.query('alter table policy.unreachable rename to known_template');
    expect((await publish()).body).toMatchObject({ status: 'published' });
  });

  test('that is deleted leaves no record at policy, and can be made again', async () => {
    const records = async () =>
      (
        await world.tables.query("select version from policy.known_template where key = 'gone'")
      ).map(({ version }) => version);
    const openapi = templateDocument('gone', world.upstream.url);
    for (const version of [1, 2]) {
      /* oxlint-disable no-await-in-loop -- one after another */
      created(await mia.post('/v1/templates', { openapi }));
      created(await mia.post('/v1/templates/gone/publish', { version }));
      expect(await records()).toEqual([version]);
      expect((await mia.delete('/v1/templates/gone')).status).toBe(204);
      /* oxlint-enable no-await-in-loop */
    }
    expect(await records()).toEqual([]);
  });

  test('is imported, published, connected, found and called', async () => {
    const source = { document: JSON.stringify(shop('https://shop.example.com')) };
    created(await mia.post('/v1/templates/import', { source, key: 'draft' }));
    expect(await find('place order')).toEqual([]);
    const imported = await release(2);
    expect(imported).toMatchObject({ template: { status: 'draft', actions_count: 2 } });
    created(await mia.post('/v1/services', { template: 'shop' }));

    const [found] = await find('plce order');
    expect(found).toMatchObject({
      service: 'shop',
      template: 'shop',
      action: 'placeOrder',
      requires_approval: true,
      auth: { type: 'none', connected: true },
    });
    expect((await call('shop', 'listOrders')).body.status).toBe('called');
    expect((await call('shop', 'placeOrder')).status).toBe(202);
    expect(world.upstream.hits.map(({ method, url: path }) => `${method} ${path}`)).toEqual([
      'GET /orders',
    ]);
  });

  test('that gets a new version leaves its service alone until it is upgraded', async () => {
    const returns = { operationId: 'listReturns', summary: 'List returns', responses: {} };
    const again = await release(4, { '/returns': { get: returns } });
    expect(again.template.difference.actions.added).toEqual(['listReturns']);

    expect((await call('shop', 'listReturns')).body.error).toBe('unknown_action');
    expect(created(await mia.get('/v1/services/shop'))).toMatchObject({
      template_version: 2,
      newest_version: 4,
    });
    created(await mia.post('/v1/services/shop/upgrade', { version: 4 }));
    await becomes('listReturns', 'called');
  });

  test('that is disabled is out of use, and back when it is enabled', async () => {
    created(await mia.post('/v1/templates/shop/disable'));
    await becomes('listOrders', 'unknown_service');
    expect(await find('place order')).toEqual([]);
    created(await mia.post('/v1/templates/shop/enable'));
    await becomes('listOrders', 'called');
  });

  test('makes a service that is out of use when it is disabled, and follows its other changes', async () => {
    created(await mia.patch('/v1/services/shop', { disabled: true }));
    await becomes('listOrders', 'unknown_service');
    created(await mia.patch('/v1/services/shop', { disabled: false, auto_allow_reads: false }));
    await becomes('listOrders', 'pending_approval');
  });

  test('sends no approved call of a service that was upgraded since', async () => {
    const pending = created(await call('shop', 'placeOrder'));
    await release(6);
    created(await mia.post('/v1/services/shop/upgrade', {}));
    const before = world.upstream.hits.length;

    const path = `/v1/approvals/${pending.approval_id}`;
    await mia.post(`${path}/resolve`, { resolution: 'allow' });
    await until(
      async () => created(await mia.get(path)).execution?.status === 'failed',
      'the replay to fail',
    );
    expect(JSON.stringify(created(await mia.get(path)).execution)).toContain('approval_stale');
    expect(world.upstream.hits.length).toBe(before);
  });

  test('leaves an audit row for each change', async () => {
    const changes = ['saved', 'published', 'disabled', 'enabled'].map((each) => `template.${each}`);
    await until(async () => {
      const { items } = created(await world.admin.get('/v1/audit?limit=200'));
      const types = new Set(items.map(({ type }: { type: string }) => type));
      return [...changes, 'service.changed'].every((type) => types.has(type));
    }, 'the audit rows');
  });

  test('is not the org’s: neither a service of the org nor another member uses it', async () => {
    const { admin, upstream } = world;
    const body = { template: 'shop', tier: 'org' };
    expect((await admin.post('/v1/services', body)).body.error).toBe('not_found');
    const openapi = templateDocument('shared', upstream.url);
    expect((await mia.post('/v1/templates', { openapi, tier: 'org' })).status).toBe(403);
  });
});
