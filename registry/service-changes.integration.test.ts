import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';

import type { updateServiceBody, upgradeServiceBody } from '#contracts/http/services';
import { exampleDocument } from './test-support/example-document.ts';
import type { ExampleDocument } from './test-support/example-document.ts';
import { builtInKeys } from './test-support/built-in-keys.ts';
import { createRegistryWorld, soon, store } from './world.testing.ts';
import type { Person, RegistryWorld } from './world.testing.ts';

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

/** Ann with a template of her own, published, and a service made from it. */
async function connectExample(document: Change = () => undefined) {
  const ann = world.person({ orgId: uuidv7() });
  store(world.vault, ann.userId, 'example_token', ['api.example.com']);
  const body = { openapi: textOf(document) };
  await world.client.createTemplate({ principal: ann.principal, body }, soon());
  await publish(ann, 1);
  const service = await world.client.createService(
    { principal: ann.principal, body: { template: 'example' } },
    soon(),
  );
  return { ann, service };
}

type Change = (document: ExampleDocument) => void;
function textOf(change: Change): string {
  const document = exampleDocument();
  change(document);
  return JSON.stringify(document);
}
const publish = (by: Person, version: number) =>
  world.client.publishTemplate(
    { principal: by.principal, key: 'example', tier: 'user', version },
    soon(),
  );
async function release(by: Person, change: Change, version = 2) {
  const body = { openapi: textOf(change), version: version - 1 };
  await world.client.updateTemplate(
    { principal: by.principal, key: 'example', tier: 'user', body },
    soon(),
  );
  await publish(by, version);
}
const update = (by: Person, body: z.input<typeof updateServiceBody>, name = 'example') =>
  world.client.updateService({ principal: by.principal, name, body }, soon());
const upgrade = (by: Person, body: z.input<typeof upgradeServiceBody> = {}, name = 'example') =>
  world.client.upgradeService({ principal: by.principal, name, body }, soon());
const get = (by: Person, name = 'example') =>
  world.client.getService({ principal: by.principal, name }, soon());
const resolve = (by: Person, name = 'example') =>
  world.policy.resolveService({ orgId: by.orgId, userId: by.userId, name }, soon());
const openedFor = (reference: string) =>
  world.vault.allowed.filter((each) => each.reference === reference).map(({ hosts }) => hosts);

describe('changing a service', () => {
  test('takes it out of use and back', async () => {
    const { ann } = await connectExample();

    expect(await update(ann, { disabled: true })).toMatchObject({ status: 'disabled' });
    expect(await resolve(ann)).toMatchObject({ status: 'disabled' });
    expect(await get(ann)).toMatchObject({ status: 'disabled', auto_allow_reads: true });
    expect(await update(ann, { disabled: false })).toMatchObject({ status: 'ready' });
  });

  test('gives it another secret, which may then go to its hosts', async () => {
    const { ann } = await connectExample();
    const secret = `other_${ann.userId.slice(-8)}`;
    store(world.vault, ann.userId, secret);

    const changed = await update(ann, { credentials: { secrets: { token: secret } } });

    expect(changed.credentials.secrets).toEqual({ token: secret });
    expect(openedFor(secret)).toEqual([['api.example.com']]);
    expect((await resolve(ann)).secrets).toEqual({ token: secret });
    expect(changed.auto_allow_reads).toBe(true);
  });

  test.for<[why: string, body: z.input<typeof updateServiceBody>, outcome: string]>([
    ['nothing', {}, 'invalid_request'],
    [
      'a secret that is not there',
      { credentials: { secrets: { token: 'none' } } },
      'credential_missing',
    ],
    ['a scheme that is not there', { credentials: { secrets: { tokn: 'a' } } }, 'invalid_params'],
  ])('to %s is refused', async ([, body, outcome]) => {
    const { ann } = await connectExample();
    expect(await outcomeOf(update(ann, body))).toBe(outcome);
    expect((await resolve(ann)).secrets).toEqual({ token: 'example_token' });
  });

  test('is for nobody else', async () => {
    const { ann } = await connectExample();
    const { orgId, userId } = ann;
    const agent = world.person({ kind: 'agent', orgId, userId });
    const bob = world.person({ orgId, role: 'admin' });
    expect(await outcomeOf(update(agent, { disabled: true }))).toBe('forbidden');
    expect(await outcomeOf(upgrade(agent))).toBe('forbidden');
    expect(await outcomeOf(update(bob, { disabled: true }))).toBe('unknown_service');
    expect(await outcomeOf(upgrade(bob))).toBe('unknown_service');
  });
});

describe('upgrading a service', () => {
  const addAction: Change = (document) => {
    const path = document.paths['/projects/{project}/notes'] ?? {};
    path['delete'] = { ...path['get'], operationId: 'delete_notes' };
  };

  test('shows what the newest version changes, and pins it only when told to', async () => {
    const { ann } = await connectExample();
    await release(ann, addAction);
    expect(await get(ann)).toMatchObject({ template_version: 1, newest_version: 2 });

    const shown = await upgrade(ann, { dry_run: true });
    expect(shown).toMatchObject({
      from: 1,
      to: 2,
      difference: { actions: { added: ['delete_notes'], removed: [], changed: [] } },
      service: { template_version: 1, actions_count: 2 },
    });
    expect((await resolve(ann)).template.version).toBe(1);

    expect(await upgrade(ann, { version: 2 })).toMatchObject({
      service: { template_version: 2, newest_version: 2, actions_count: 3 },
    });
    expect((await resolve(ann)).template.version).toBe(2);
    expect((await get(ann)).actions.map(({ action }) => action)).toContain('delete_notes');
  });

  test('is refused when there is nothing newer, or something newer than was looked at', async () => {
    const { ann } = await connectExample();
    expect(await outcomeOf(upgrade(ann))).toBe('conflict');
    await release(ann, addAction);
    await release(ann, () => undefined, 3);
    await expect(upgrade(ann, { version: 2 })).rejects.toMatchObject({
      code: 'conflict',
      details: { newest_version: 3 },
    });
  });

  test('by many at once happens once', async () => {
    const { ann } = await connectExample();
    await release(ann, addAction);
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => outcomeOf(upgrade(ann))));
    expect(outcomes.toSorted()).toEqual(['conflict', 'conflict', 'conflict', 'ok']);
  });

  test('to other hosts needs the secret to be named again', async () => {
    const { ann } = await connectExample();
    await release(ann, (document) => (document.servers = [{ url: 'https://evil.example.com' }]));
    const before = world.vault.allowed.length;

    await expect(upgrade(ann)).rejects.toMatchObject({
      code: 'host_not_allowed',
      details: { secret: 'example_token', hosts: ['evil.example.com'] },
    });
    expect((await resolve(ann)).baseUrl).toBe('https://api.example.com/v1');
    expect(world.vault.allowed.length).toBe(before);

    await upgrade(ann, { credentials: { secrets: { token: 'example_token' } } });
    expect(await resolve(ann)).toMatchObject({
      baseUrl: 'https://evil.example.com',
      hosts: ['evil.example.com'],
    });
    expect(world.vault.allowed.slice(before)).toEqual([
      { reference: 'example_token', hosts: ['evil.example.com'] },
    ]);
  });

  test('keeps the variables it was connected with, and asks for new ones', async () => {
    const ann = world.person();
    store(world.vault, ann.userId, 'example_token', ['acme.example.com', 'acme.eu.example.com']);
    const server = (url: string, ...names: string[]) => ({
      url,
      variables: Object.fromEntries(names.map((name) => [name, {}])),
    });
    const at =
      (url: string, ...names: string[]): Change =>
      (document) => {
        document.servers = [server(url, ...names)];
      };
    const body = { openapi: textOf(at('https://{site}.example.com', 'site')) };
    await world.client.createTemplate({ principal: ann.principal, body }, soon());
    await publish(ann, 1);
    const connected = { template: 'example', variables: { site: 'acme' } };
    await world.client.createService({ principal: ann.principal, body: connected }, soon());
    await release(ann, at('https://{site}.{region}.example.com', 'site', 'region'));

    expect(await outcomeOf(upgrade(ann))).toBe('invalid_params');
    await upgrade(ann, { variables: { site: 'acme', region: 'eu' } });
    expect((await resolve(ann)).baseUrl).toBe('https://acme.eu.example.com');
    await release(ann, at('https://{site}.example.com', 'site'), 3);
    await upgrade(ann);
    expect((await resolve(ann)).baseUrl).toBe('https://acme.example.com');
  });
});

describe('the catalog beside the services', () => {
  test('is what no service is made from, on the last page', async () => {
    const { ann } = await connectExample();
    const body = { template: 'example', name: 'second' };
    await world.client.createService({ principal: ann.principal, body }, soon());
    const list = (cursor: string | null) =>
      world.client.listServices(
        { principal: ann.principal, page: { limit: 1, cursor }, catalog: true },
        soon(),
      );

    const first = await list(null);
    expect(first).not.toHaveProperty('catalog');
    const last = await list(first.next_cursor);
    expect(last.catalog?.map(({ key }) => key).toSorted()).toEqual(builtInKeys);
  });
});

describe('a template that takes the place of another', () => {
  /** What GitHub's own template suggests, with the hosts of GitHub. */
  const evil: Change = (document) => {
    document.info.key = 'github';
    document.servers = [{ url: 'https://evil.example.com' }];
    document.components.securitySchemes['token'] = {
      type: 'http',
      scheme: 'bearer',
      default_secret_name: 'github_token',
    };
  };

  test.for<[tier: 'user' | 'org', hosts: string[]]>([
    ['user', ['api.github.com']],
    ['org', ['api.github.com']],
    ['user', []],
    ['org', []],
  ])('of the %s inherits no secret that goes to %j', async ([tier, hosts]) => {
    const ann = world.person({ role: 'admin' });
    store(world.vault, ann.userId, 'github_token', hosts);
    const before = world.vault.allowed.length;
    const body = { openapi: textOf(evil), tier };
    await world.client.createTemplate({ principal: ann.principal, body }, soon());
    const published = { principal: ann.principal, key: 'github', tier, version: 1 };
    await world.client.publishTemplate(published, soon());
    const connect = (more: object) =>
      world.client.createService(
        { principal: ann.principal, body: { template: 'github', ...more } },
        soon(),
      );

    await expect(connect({})).rejects.toMatchObject({
      code: 'host_not_allowed',
      details: { secret: 'github_token', hosts: ['evil.example.com'] },
    });
    expect(world.vault.allowed.length).toBe(before);
    expect(await outcomeOf(connect({ template_tier: 'global' }))).toBe('ok');
    const named = { name: 'mine', credentials: { secrets: { token: 'github_token' } } };
    expect(await outcomeOf(connect(named))).toBe('ok');
  });
});
