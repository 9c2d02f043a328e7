import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { builtInKeys } from '../templates/built-in-keys.testing.ts';
import { createRegistryWorld, testDeadline, storeSecret } from '../world.testing.ts';
import type { Person, RegistryWorld } from '../world.testing.ts';

let world: RegistryWorld;
beforeAll(async () => {
  world = await createRegistryWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

interface SearchFields {
  query?: string;
  limit?: number;
  catalog?: boolean;
}
const search = async (by: Person, { query = '', limit = 10, catalog = false }: SearchFields) =>
  (await world.client.search({ principal: by.principal, query, limit, catalog }, testDeadline()))
    .items;

async function connect(by: Person, body: { template: string; name?: string; tier?: 'org' }) {
  const secretName = `${body.template}_token`;
  storeSecret(world.vault, by.userId, secretName);
  storeSecret(world.vault, by.orgId, `org/${secretName}`);
  const secretReference = body.tier === 'org' ? `org/${secretName}` : secretName;
  const credentials = {
    secrets: { [schemesByTemplate[body.template] ?? 'token']: secretReference },
  };
  await world.client.createService(
    { principal: by.principal, body: { ...body, credentials } },
    testDeadline(),
  );
}
const schemesByTemplate: Record<string, string> = { sendgrid: 'api_key' };

async function createScene() {
  const ann = world.person({ role: 'admin' });
  await connect(ann, { template: 'github' });
  await connect(ann, { template: 'github', tier: 'org' });
  await connect(ann, { template: 'gitlab', name: 'code', tier: 'org' });
  const agent = world.person({ kind: 'agent', orgId: ann.orgId, userId: ann.userId });
  const colleague = world.person({ orgId: ann.orgId });
  return { ann, agent, colleague };
}

test('a search for one action by its name returns only this action with its schema, or for an unknown name an error with the nearest one', async () => {
  const { agent, colleague } = await createScene();
  const describeAction = (by: Person, service: string, action: string) =>
    world.client.search(
      { principal: by.principal, query: '', limit: 10, catalog: false, service, action },
      testDeadline(),
    );

  for (const [service, template] of [
    ['github', 'github'],
    ['org/github', 'github'],
    ['org/code', 'gitlab'],
  ] as const) {
    const { items } = await describeAction(agent, service, 'create_issue');
    expect(items).toMatchObject([{ template, action: 'create_issue', score: 1 }]);
    expect(items[0]).toHaveProperty('params_schema.properties.title');
  }
  await expect(describeAction(agent, 'github', 'create_isue')).rejects.toMatchObject({
    code: 'unknown_action',
    details: { did_you_mean: 'create_issue' },
  });
  await expect(describeAction(agent, 'jira', 'create_issue')).rejects.toMatchObject({
    code: 'unknown_service',
  });
  // The service of another user is not found.
  await expect(describeAction(colleague, 'org/github', 'create_issue')).resolves.toMatchObject({
    items: [{ service: 'github' }],
  });
});

test('a search in one service finds no actions of another', async () => {
  const { agent } = await createScene();
  const { items } = await world.client.search(
    { principal: agent.principal, query: 'issue', limit: 50, catalog: false, service: 'code' },
    testDeadline(),
  );
  expect(new Set(items.map(({ service }) => service))).toEqual(new Set(['code']));
});

describe('searching', () => {
  test("returns a row per connected service, and the parameters of the first row's action", async () => {
    const { agent } = await createScene();

    const rows = await search(agent, { query: 'create issue' });

    expect(
      rows
        .slice(0, 3)
        .map(({ service, action }) => `${service} ${action}`)
        .toSorted(),
    ).toEqual(['code create_issue', 'github create_issue', 'org/github create_issue']);
    expect(rows.find(({ service }) => service === 'code')).toEqual({
      service: 'code',
      template: 'gitlab',
      action: 'create_issue',
      description: expect.stringContaining('issue'),
      risk: 'write',
      score: expect.any(Number),
      params_schema: expect.objectContaining({ type: 'object', additionalProperties: false }),
      requires_approval: true,
      auth: { type: 'secret', connected: true },
    });
    expect(rows.every((row) => 'params_schema' in row !== 'params' in row)).toBe(true);
    expect(JSON.stringify(rows).length).toBeLessThanOrEqual(8_192);
  });

  test('reports which actions agents may call without approval, and that users may call all', async () => {
    const { ann, agent } = await createScene();
    const findRuleNeeds = async (by: Person) => {
      const rows = await search(by, { query: 'issue', limit: 50 });
      return Object.fromEntries(rows.map((row) => [row.action, row.requires_approval]));
    };

    expect(await findRuleNeeds(agent)).toMatchObject({ create_issue: true, list_issues: false });
    expect(Object.values(await findRuleNeeds(ann))).not.toContain(true);
    const body = { auto_allow_reads: false };
    for (const name of ['github', 'org/github', 'code']) {
      await world.client.updateService({ principal: ann.principal, name, body }, testDeadline());
    }
    expect(Object.values(await findRuleNeeds(agent))).not.toContain(false);
  });

  test('finds only services of the caller and of its org', async () => {
    const { ann, colleague } = await createScene();
    const stranger = world.person({ userId: ann.userId });

    expect(await search(stranger, { query: 'create issue' })).toEqual([]);
    const rows = await search(colleague, { query: 'create issue', limit: 50 });
    expect(new Set(rows.map(({ service }) => service))).toEqual(new Set(['github', 'code']));
    expect(await search(stranger, {})).toEqual([]);
  });

  test('lists the connected services when the query is empty', async () => {
    const { agent } = await createScene();

    expect(await search(agent, {})).toMatchObject([
      { service: 'code', template: 'gitlab', action: null, risk: null },
      { service: 'github', action: null },
      { service: 'org/github', action: null },
    ]);
    expect((await search(agent, { query: '  ?! ' })).map(({ service }) => service)).toHaveLength(3);
  });

  test('returns templates after connected services when the request asks for the catalog', async () => {
    const { agent } = await createScene();

    expect(await search(agent, { query: 'send email' })).toEqual([]);
    expect((await search(agent, { query: 'sendgrid send email', catalog: true }))[0]).toMatchObject(
      {
        service: null,
        template: 'sendgrid',
        action: 'send_email',
        auth: { type: 'secret', connected: false },
        params_schema: { type: 'object' },
      },
    );
    const catalogRows = await search(agent, { catalog: true });
    const names = catalogRows.map(({ service, template }) => service ?? template);
    expect(names.slice(0, 3)).toEqual(['code', 'github', 'org/github']);
    expect(names.length).toBeGreaterThan(3);
    expect(builtInKeys).toEqual(expect.arrayContaining(names.slice(3)));
  });

  test('reports missing credentials of a service', async () => {
    const { ann, agent } = await createScene();
    world.vault.secrets.get(ann.orgId)?.delete('org/gitlab_token');

    const rows = await search(agent, {});
    expect(rows.map(({ service, auth }) => [service, auth.connected])).toEqual([
      ['code', false],
      ['github', true],
      ['org/github', true],
    ]);
  });

  test.for<[why: string, asked: object]>([
    ['a query of more than 200 characters', { query: 'x'.repeat(201) }],
    ['a limit of 0 rows', { limit: 0 }],
    ['more than 50 rows', { limit: 51 }],
  ])('refuses %s', async ([, asked]) => {
    await expect(search(world.person(), asked)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('accepts only signed principals', async () => {
    const forgedPerson = { ...world.person(), principal: `${'a'.repeat(40)}.${uuidv7()}` };
    await expect(search(forgedPerson, {})).rejects.toMatchObject({ code: 'unauthenticated' });
  });
});
