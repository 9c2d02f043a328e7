import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';

import type { updateServiceBody, upgradeServiceBody } from '#contracts/http/services';
import { exampleDocument } from '../compiler/domain/example-document.testing.ts';
import type { ExampleDocument } from '../compiler/domain/example-document.testing.ts';
import { builtInKeys } from '../templates/built-in-keys.testing.ts';
import { createRegistryWorld, testDeadline, storeSecret } from '../world.testing.ts';
import type { Person, RegistryWorld } from '../world.testing.ts';

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

/** Creates a user Ann, a template that she has published, and a service made from the template. */
async function connectExample(document: Change = () => undefined) {
  const ann = world.person({ orgId: uuidv7() });
  storeSecret(world.vault, ann.userId, 'example_token', ['api.example.com']);
  const body = { openapi: textOf(document) };
  await world.client.createTemplate({ principal: ann.principal, body }, testDeadline());
  await publishVersion(ann, 1);
  const service = await world.client.createService(
    { principal: ann.principal, body: { template: 'example' } },
    testDeadline(),
  );
  return { ann, service };
}

type Change = (document: ExampleDocument) => void;
function textOf(change: Change): string {
  const document = exampleDocument();
  change(document);
  return JSON.stringify(document);
}
const publishVersion = (by: Person, version: number) =>
  world.client.publishTemplate(
    { principal: by.principal, key: 'example', tier: 'user', version },
    testDeadline(),
  );
async function publishNextVersion(by: Person, change: Change, version = 2) {
  const body = { openapi: textOf(change), version: version - 1 };
  await world.client.updateTemplate(
    { principal: by.principal, key: 'example', tier: 'user', body },
    testDeadline(),
  );
  await publishVersion(by, version);
}
test('connecting a version that is no longer the published one is refused, and nothing is connected', async () => {
  const { ann, service } = await connectExample();
  await publishNextVersion(ann, (document) => {
    document.servers = [{ url: 'https://other.example.com' }];
  });
  const connect = (template_version: number) =>
    world.client.createService(
      {
        principal: ann.principal,
        body: { template: 'example', name: 'again', template_version },
      },
      testDeadline(),
    );
  await expect(connect(service.template_version)).rejects.toMatchObject({
    code: 'conflict',
    details: { reason: 'template_changed', template_version: 2 },
  });
  await expect(connect(3)).rejects.toMatchObject({ details: { reason: 'template_changed' } });
  storeSecret(world.vault, ann.userId, 'example_token', ['other.example.com']);
  expect(await connect(2)).toMatchObject({ hosts: ['other.example.com'], template_version: 2 });
});

const update = (by: Person, body: z.input<typeof updateServiceBody>, name = 'example') =>
  world.client.updateService({ principal: by.principal, name, body }, testDeadline());
const upgrade = (by: Person, body: z.input<typeof upgradeServiceBody> = {}, name = 'example') =>
  world.client.upgradeService({ principal: by.principal, name, body }, testDeadline());
const get = (by: Person, name = 'example') =>
  world.client.getService({ principal: by.principal, name }, testDeadline());
const resolve = (by: Person, name = 'example') =>
  world.policy.resolveService({ orgId: by.orgId, userId: by.userId, name }, testDeadline());
const hostsAllowedFor = (reference: string) =>
  world.vault.allowRequests
    .filter((each) => each.reference === reference)
    .map(({ hosts }) => hosts);

describe('changing a service', () => {
  test('can disable and enable the service', async () => {
    const { ann } = await connectExample();

    expect(await update(ann, { disabled: true })).toMatchObject({ status: 'disabled' });
    expect(await resolve(ann)).toMatchObject({ status: 'disabled' });
    expect(await get(ann)).toMatchObject({ status: 'disabled', auto_allow_reads: true });
    expect(await update(ann, { disabled: false })).toMatchObject({ status: 'ready' });
  });

  test('can replace the secret, and the new secret may go to the hosts of the service', async () => {
    const { ann } = await connectExample();
    const secret = `other_${ann.userId.slice(-8)}`;
    storeSecret(world.vault, ann.userId, secret);

    const updatedService = await update(ann, { credentials: { secrets: { token: secret } } });

    expect(updatedService.credentials.secrets).toEqual({ token: secret });
    expect(hostsAllowedFor(secret)).toEqual([['api.example.com']]);
    expect((await resolve(ann)).secrets).toEqual({ token: secret });
    expect(updatedService.auto_allow_reads).toBe(true);
  });

  test.for<[why: string, body: z.input<typeof updateServiceBody>, outcome: string]>([
    ['an empty change', {}, 'invalid_request'],
    ['an unknown secret', { credentials: { secrets: { token: 'none' } } }, 'credential_missing'],
    ['an unknown scheme', { credentials: { secrets: { tokn: 'a' } } }, 'invalid_params'],
  ])('refuses %s', async ([, body, outcome]) => {
    const { ann } = await connectExample();
    expect(await outcomeOf(update(ann, body))).toBe(outcome);
    expect((await resolve(ann)).secrets).toEqual({ token: 'example_token' });
  });

  test('is forbidden for other users', async () => {
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

  test('shows the changes of the newest version, and pins that version unless it is a dry run', async () => {
    const { ann } = await connectExample();
    await publishNextVersion(ann, addAction);
    expect(await get(ann)).toMatchObject({ template_version: 1, newest_version: 2 });

    const shownDifference = await upgrade(ann, { dry_run: true });
    expect(shownDifference).toMatchObject({
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

  test('is refused when the template has no newer version, or when the named version is no longer the newest version', async () => {
    const { ann } = await connectExample();
    expect(await outcomeOf(upgrade(ann))).toBe('conflict');
    await publishNextVersion(ann, addAction);
    await publishNextVersion(ann, () => undefined, 3);
    await expect(upgrade(ann, { version: 2 })).rejects.toMatchObject({
      code: 'conflict',
      details: { newest_version: 3 },
    });
  });

  test('happens only once for concurrent requests', async () => {
    const { ann } = await connectExample();
    await publishNextVersion(ann, addAction);
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => outcomeOf(upgrade(ann))));
    expect(outcomes.toSorted()).toEqual(['conflict', 'conflict', 'conflict', 'ok']);
  });

  test('requires naming the secret again when the new version has other hosts', async () => {
    const { ann } = await connectExample();
    await publishNextVersion(
      ann,
      (document) => (document.servers = [{ url: 'https://evil.example.com' }]),
    );
    const allowedCountBefore = world.vault.allowRequests.length;

    await expect(upgrade(ann)).rejects.toMatchObject({
      code: 'host_not_allowed',
      details: { secret: 'example_token', hosts: ['evil.example.com'] },
    });
    expect((await resolve(ann)).baseUrl).toBe('https://api.example.com/v1');
    expect(world.vault.allowRequests.length).toBe(allowedCountBefore);

    await upgrade(ann, { credentials: { secrets: { token: 'example_token' } } });
    expect(await resolve(ann)).toMatchObject({
      baseUrl: 'https://evil.example.com',
      hosts: ['evil.example.com'],
    });
    expect(world.vault.allowRequests.slice(allowedCountBefore)).toEqual([
      { reference: 'example_token', hosts: ['evil.example.com'] },
    ]);
  });

  test('keeps the values of variables, and requires values for new variables', async () => {
    const ann = world.person();
    storeSecret(world.vault, ann.userId, 'example_token', [
      'acme.example.com',
      'acme.eu.example.com',
    ]);
    const createServer = (url: string, ...names: string[]) => ({
      url,
      variables: Object.fromEntries(names.map((name) => [name, {}])),
    });
    const at =
      (url: string, ...names: string[]): Change =>
      (document) => {
        document.servers = [createServer(url, ...names)];
      };
    const body = { openapi: textOf(at('https://{site}.example.com', 'site')) };
    await world.client.createTemplate({ principal: ann.principal, body }, testDeadline());
    await publishVersion(ann, 1);
    const connectBody = { template: 'example', variables: { site: 'acme' } };
    await world.client.createService(
      { principal: ann.principal, body: connectBody },
      testDeadline(),
    );
    await publishNextVersion(ann, at('https://{site}.{region}.example.com', 'site', 'region'));

    expect(await outcomeOf(upgrade(ann))).toBe('invalid_params');
    await upgrade(ann, { variables: { site: 'acme', region: 'eu' } });
    expect((await resolve(ann)).baseUrl).toBe('https://acme.eu.example.com');
    await publishNextVersion(ann, at('https://{site}.example.com', 'site'), 3);
    await upgrade(ann);
    expect((await resolve(ann)).baseUrl).toBe('https://acme.example.com');
  });
});

describe('the catalog in the list of services', () => {
  test('lists the templates without a service, on the last page', async () => {
    const { ann } = await connectExample();
    const body = { template: 'example', name: 'second' };
    await world.client.createService({ principal: ann.principal, body }, testDeadline());
    const listPage = (cursor: string | null) =>
      world.client.listServices(
        { principal: ann.principal, page: { limit: 1, cursor }, catalog: true },
        testDeadline(),
      );

    const first = await listPage(null);
    expect(first).not.toHaveProperty('catalog');
    const last = await listPage(first.next_cursor);
    expect(last.catalog?.map(({ key }) => key).toSorted()).toEqual(builtInKeys);
  });
});

describe('a template that replaces a built-in template', () => {
  /** Makes a template with GitHub's key and suggested secret name, but with another host. */
  const withGithubKeyAndOtherHost: Change = (document) => {
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
  ])(
    'in the tier %s gets no access to a secret that may go to the hosts %j',
    async ([tier, hosts]) => {
      const ann = world.person({ role: 'admin' });
      storeSecret(world.vault, ann.userId, 'github_token', hosts);
      const allowedCountBefore = world.vault.allowRequests.length;
      const body = { openapi: textOf(withGithubKeyAndOtherHost), tier };
      await world.client.createTemplate({ principal: ann.principal, body }, testDeadline());
      const publishRequest = { principal: ann.principal, key: 'github', tier, version: 1 };
      await world.client.publishTemplate(publishRequest, testDeadline());
      const connect = (more: object) =>
        world.client.createService(
          { principal: ann.principal, body: { template: 'github', ...more } },
          testDeadline(),
        );

      await expect(connect({})).rejects.toMatchObject({
        code: 'host_not_allowed',
        details: { secret: 'github_token', hosts: ['evil.example.com'] },
      });
      expect(world.vault.allowRequests.length).toBe(allowedCountBefore);
      expect(await outcomeOf(connect({ template_tier: 'global' }))).toBe('ok');
      const bodyWithSecret = { name: 'mine', credentials: { secrets: { token: 'github_token' } } };
      expect(await outcomeOf(connect(bodyWithSecret))).toBe('ok');
    },
  );
});
