import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { builtInKeys } from './test-support/built-in-keys.ts';
import { createRegistryWorld, soon, store } from './world.testing.ts';
import type { Person, RegistryWorld } from './world.testing.ts';

let world: RegistryWorld;
beforeAll(async () => {
  world = await createRegistryWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

interface Asked {
  query?: string;
  limit?: number;
  catalog?: boolean;
}
const search = async (by: Person, { query = '', limit = 10, catalog = false }: Asked) =>
  (await world.client.search({ principal: by.principal, query, limit, catalog }, soon())).items;

async function connect(by: Person, body: { template: string; name?: string; tier?: 'org' }) {
  const secret = `${body.template}_token`;
  store(world.vault, by.userId, secret);
  store(world.vault, by.orgId, `org/${secret}`);
  const reference = body.tier === 'org' ? `org/${secret}` : secret;
  const credentials = { secrets: { [schemes[body.template] ?? 'token']: reference } };
  await world.client.createService(
    { principal: by.principal, body: { ...body, credentials } },
    soon(),
  );
}
const schemes: Record<string, string> = { sendgrid: 'api_key' };

async function setScene() {
  const ann = world.person({ role: 'admin' });
  await connect(ann, { template: 'github' });
  await connect(ann, { template: 'github', tier: 'org' });
  await connect(ann, { template: 'gitlab', name: 'code', tier: 'org' });
  const agent = world.person({ kind: 'agent', orgId: ann.orgId, userId: ann.userId });
  const colleague = world.person({ orgId: ann.orgId });
  return { ann, agent, colleague };
}

describe('searching', () => {
  test('gives a row per connected service, with how to call the first', async () => {
    const { agent } = await setScene();

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
    expect(rows.map((row) => 'params_schema' in row)).toEqual(rows.map((_, at) => at < 5));
  });

  test('says what an agent may do without asking, and a user always', async () => {
    const { ann, agent } = await setScene();
    const needs = async (by: Person) => {
      const rows = await search(by, { query: 'issue', limit: 50 });
      return Object.fromEntries(rows.map((row) => [row.action, row.requires_approval]));
    };

    expect(await needs(agent)).toMatchObject({ create_issue: true, list_issues: false });
    expect(Object.values(await needs(ann))).not.toContain(true);
    const body = { auto_allow_reads: false };
    for (const name of ['github', 'org/github', 'code']) {
      await world.client.updateService({ principal: ann.principal, name, body }, soon());
    }
    expect(Object.values(await needs(agent))).not.toContain(false);
  });

  test('shows nothing of other users and other orgs', async () => {
    const { ann, colleague } = await setScene();
    const stranger = world.person({ userId: ann.userId });

    expect(await search(stranger, { query: 'create issue' })).toEqual([]);
    const rows = await search(colleague, { query: 'create issue', limit: 50 });
    expect(new Set(rows.map(({ service }) => service))).toEqual(new Set(['github', 'code']));
    expect(await search(stranger, {})).toEqual([]);
  });

  test('for nothing lists the services', async () => {
    const { agent } = await setScene();

    expect(await search(agent, {})).toMatchObject([
      { service: 'code', template: 'gitlab', action: null, risk: null },
      { service: 'github', action: null },
      { service: 'org/github', action: null },
    ]);
    expect((await search(agent, { query: '  ?! ' })).map(({ service }) => service)).toHaveLength(3);
  });

  test('finds what could be connected when asked to, after what is', async () => {
    const { agent } = await setScene();

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
    const listed = await search(agent, { catalog: true });
    const names = listed.map(({ service, template }) => service ?? template);
    expect(names.slice(0, 3)).toEqual(['code', 'github', 'org/github']);
    expect(names.length).toBeGreaterThan(3);
    expect(builtInKeys).toEqual(expect.arrayContaining(names.slice(3)));
  });

  test('says when the credentials of a service are gone', async () => {
    const { ann, agent } = await setScene();
    world.vault.secrets.get(ann.orgId)?.delete('org/gitlab_token');

    const rows = await search(agent, {});
    expect(rows.map(({ service, auth }) => [service, auth.connected])).toEqual([
      ['code', false],
      ['github', true],
      ['org/github', true],
    ]);
  });

  test.for<[why: string, asked: object]>([
    ['a query beyond 200 characters', { query: 'x'.repeat(201) }],
    ['no rows', { limit: 0 }],
    ['more than 50 rows', { limit: 51 }],
  ])('refuses %s', async ([, asked]) => {
    await expect(search(world.person(), asked)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('decides by signed principals alone', async () => {
    const forged = { ...world.person(), principal: `${'a'.repeat(40)}.${uuidv7()}` };
    await expect(search(forged, {})).rejects.toMatchObject({ code: 'unauthenticated' });
  });
});
