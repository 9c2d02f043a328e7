import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Person } from '../support/people.ts';
import { templateDocument } from '../support/template.ts';
import { createAgent, successfulBodyOf, startWorld, pollUntil } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

/** An ordinary API document that was not written for a gateway. */
const createShopDocument = (server: string, more: object = {}) => ({
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

describe('a user’s own template', () => {
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
  /**
   * Polls until the action has this result, because other components use cached copies until an
   * event arrives.
   */
  const untilResultIs = (action: string, expected: string) =>
    pollUntil(async () => {
      const { body } = await call('shop', action);
      return expected === (body.error ?? body.status);
    }, `${action}: ${expected}`);
  const findActions = async (query: string) =>
    successfulBodyOf(await bot.get(`/v1/search?q=${query}`)).items;

  /**
   * Imports the shop's document and publishes it as a template. The template allows plain http,
   * which the importer never allows by itself.
   */
  async function importAndPublish(version: number, more: object = {}) {
    const source = { document: JSON.stringify(createShopDocument(world.upstream.url, more)) };
    const imported = successfulBodyOf(
      await mia.post('/v1/templates/import', { source, key: 'shop' }),
    );
    const { openapi } = successfulBodyOf(await mia.get('/v1/templates/shop/document'));
    const fixedTemplate = {
      openapi: openapi.replace('https://127', 'http://127'),
      version: version - 1,
    };
    successfulBodyOf(await mia.put('/v1/templates/shop', fixedTemplate));
    successfulBodyOf(await mia.post('/v1/templates/shop/publish', { version }));
    return imported;
  }

  test('stays a draft while policy cannot record it, and is published once policy can', async () => {
    const openapi = templateDocument('late', world.upstream.url);
    successfulBodyOf(await mia.post('/v1/templates', { openapi }));
    const publish = () => mia.post('/v1/templates/late/publish', { version: 1 });
    await world.tables.query('alter table policy.known_template rename to unreachable');
    expect((await publish()).status).toBeGreaterThanOrEqual(500);
    expect((await mia.get('/v1/templates/late')).body).toMatchObject({ status: 'draft' });
    await world.tables.query('alter table policy.unreachable rename to known_template');
    expect((await publish()).body).toMatchObject({ status: 'published' });
  });

  test('leaves no record in policy when it is deleted, and can be created again', async () => {
    const listPolicyVersions = async () =>
      (
        await world.tables.query("select version from policy.known_template where key = 'gone'")
      ).map(({ version }) => version);
    const openapi = templateDocument('gone', world.upstream.url);
    for (const version of [1, 2]) {
      /* oxlint-disable no-await-in-loop -- one after another */
      successfulBodyOf(await mia.post('/v1/templates', { openapi }));
      successfulBodyOf(await mia.post('/v1/templates/gone/publish', { version }));
      expect(await listPolicyVersions()).toEqual([version]);
      expect((await mia.delete('/v1/templates/gone')).status).toBe(204);
      /* oxlint-enable no-await-in-loop */
    }
    expect(await listPolicyVersions()).toEqual([]);
  });

  test('is imported and published, and its service is connected, found and called', async () => {
    const source = { document: JSON.stringify(createShopDocument('https://shop.example.com')) };
    successfulBodyOf(await mia.post('/v1/templates/import', { source, key: 'draft' }));
    expect(await findActions('place order')).toEqual([]);
    const imported = await importAndPublish(2);
    expect(imported).toMatchObject({ template: { status: 'draft', actions_count: 2 } });
    successfulBodyOf(await mia.post('/v1/services', { template: 'shop' }));

    const [found] = await findActions('plce order');
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

  test('does not change its service when it gets a new version, until the service is upgraded', async () => {
    const returnsOperation = { operationId: 'listReturns', summary: 'List returns', responses: {} };
    const thirdImport = await importAndPublish(4, { '/returns': { get: returnsOperation } });
    expect(thirdImport.template.difference.actions.added).toEqual(['listReturns']);

    expect((await call('shop', 'listReturns')).body.error).toBe('unknown_action');
    expect(successfulBodyOf(await mia.get('/v1/services/shop'))).toMatchObject({
      template_version: 2,
      newest_version: 4,
    });
    successfulBodyOf(await mia.post('/v1/services/shop/upgrade', { version: 4 }));
    await untilResultIs('listReturns', 'called');
  });

  test('cannot be used while it is disabled', async () => {
    successfulBodyOf(await mia.post('/v1/templates/shop/disable'));
    await untilResultIs('listOrders', 'unknown_service');
    expect(await findActions('place order')).toEqual([]);
    successfulBodyOf(await mia.post('/v1/templates/shop/enable'));
    await untilResultIs('listOrders', 'called');
  });

  test('has a service that cannot be called while disabled, and a changed setting of the service applies', async () => {
    successfulBodyOf(await mia.patch('/v1/services/shop', { disabled: true }));
    await untilResultIs('listOrders', 'unknown_service');
    successfulBodyOf(
      await mia.patch('/v1/services/shop', { disabled: false, auto_allow_reads: false }),
    );
    await untilResultIs('listOrders', 'pending_approval');
  });

  test('sends no approved call of a service that was upgraded after the approval', async () => {
    const pending = successfulBodyOf(await call('shop', 'placeOrder'));
    await importAndPublish(6);
    const rule = { effect: 'allow', identity_id: bot.id };
    const stoppingRule = successfulBodyOf(
      await mia.post('/v1/rules', { ...rule, pattern: 'shop:listReturns:*' }),
    );
    successfulBodyOf(await mia.post('/v1/rules', { ...rule, pattern: 'shop:listOrders:*' }));
    const upgradeAnswer = successfulBodyOf(await mia.post('/v1/services/shop/upgrade', {}));
    // The new version has no action listReturns.
    expect(upgradeAnswer.rules_that_stop.map(({ id }: { id: string }) => id)).toEqual([
      stoppingRule.id,
    ]);
    const hitsBefore = world.upstream.hits.length;

    const path = `/v1/approvals/${pending.approval_id}`;
    await mia.post(`${path}/resolve`, { resolution: 'allow' });
    await pollUntil(
      async () => successfulBodyOf(await mia.get(path)).execution?.status === 'failed',
      'the replay to fail',
    );
    expect(JSON.stringify(successfulBodyOf(await mia.get(path)).execution)).toContain(
      'approval_stale',
    );
    expect(world.upstream.hits.length).toBe(hitsBefore);
  });

  test('leaves an audit row for each change', async () => {
    const changeEvents = ['saved', 'published', 'disabled', 'enabled'].map(
      (each) => `template.${each}`,
    );
    await pollUntil(async () => {
      const { items } = successfulBodyOf(await world.admin.get('/v1/audit?limit=200'));
      const types = new Set(items.map(({ type }: { type: string }) => type));
      return [...changeEvents, 'service.changed'].every((type) => types.has(type));
    }, 'the audit rows');
  });

  test('can be used neither by the org’s services nor by another member', async () => {
    const { admin, upstream } = world;
    const body = { template: 'shop', tier: 'org' };
    expect((await admin.post('/v1/services', body)).body.error).toBe('not_found');
    const openapi = templateDocument('shared', upstream.url);
    expect((await mia.post('/v1/templates', { openapi, tier: 'org' })).status).toBe(403);
  });
});
