import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';

import type { createServiceBody, updateServiceBody } from '#contracts/http/services';
import { exampleDocument } from '../compiler/domain/example-document.testing.ts';
import { createRegistryWorld, storeSecret, testDeadline } from '../world.testing.ts';
import type { FakeConnection, Person, RegistryWorld } from '../world.testing.ts';

let world: RegistryWorld;
beforeAll(async () => {
  world = await createRegistryWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/**
 * The example template. It has one address for services with a token and another for services with
 * an account.
 */
function document(): string {
  const example = exampleDocument();
  example.components.securitySchemes['account'] = {
    type: 'oauth2',
    provider: 'acme',
    flows: {
      authorizationCode: {
        authorizationUrl: 'https://acme.example/authorize',
        tokenUrl: 'https://acme.example/token',
        scopes: {},
      },
    },
  };
  example.security = [{ token: [] }, { account: [] }];
  example.servers = [
    { url: 'https://{site}.example.net', variables: { site: { default: '' } }, for: ['token'] },
    { url: 'https://api.example.com/notes', for: ['account'] },
  ];
  return JSON.stringify(example);
}

/** The example template with these servers. It takes a token. */
function documentAt(...servers: Record<string, unknown>[]): string {
  const example = exampleDocument();
  example.servers = servers;
  return JSON.stringify(example);
}

async function createAnn(openapi = document()): Promise<Person> {
  const ann = world.person({ orgId: uuidv7() });
  const { principal } = ann;
  await world.client.createTemplate({ principal, body: { openapi, tier: 'user' } }, testDeadline());
  await world.client.publishTemplate(
    { principal, key: 'example', tier: 'user', version: 1 },
    testDeadline(),
  );
  return ann;
}

function storeAccount(owner: string, more: Partial<FakeConnection> = {}): void {
  const account = { provider: 'acme', status: 'active' as const, allowedHosts: [] };
  world.vault.connections.set(`${owner} work`, { ...account, ...more });
}

const connect = ({ principal }: Person, body: Partial<z.input<typeof createServiceBody>>) =>
  world.client.createService({ principal, body: { template: 'example', ...body } }, testDeadline());
const update = ({ principal }: Person, body: z.input<typeof updateServiceBody>) =>
  world.client.updateService({ principal, name: 'example', body }, testDeadline());

describe('the address of a service', () => {
  test('depends on the way in which the service is connected, and so do its hosts', async () => {
    const ann = await createAnn();
    storeSecret(world.vault, ann.userId, 'example_token');
    storeAccount(ann.userId);

    const byToken = await connect(ann, {
      name: 'by-token',
      variables: { site: 'acme' },
      credentials: { secrets: { token: 'example_token' } },
    });
    const byAccount = await connect(ann, {
      name: 'by-account',
      credentials: { connection: 'work' },
    });

    expect(byToken).toMatchObject({
      base_url: 'https://acme.example.net',
      hosts: ['acme.example.net'],
    });
    expect(byAccount).toMatchObject({
      base_url: 'https://api.example.com/notes',
      hosts: ['api.example.com'],
    });
    const allowed = world.vault.allowRequests.filter(({ reference }) => reference === 'work');
    expect(allowed).toEqual([{ reference: 'work', hosts: ['api.example.com'] }]);
  });

  test('lets credentials go to its own host, and to none of the other servers', async () => {
    const ann = await createAnn(
      documentAt({ url: 'https://api.example.com/notes' }, { url: 'https://example.net' }),
    );
    storeSecret(world.vault, ann.userId, 'example_token');
    const shown = await world.client.getTemplate(
      { principal: ann.principal, key: 'example', tier: null },
      testDeadline(),
    );
    expect(shown.addresses).toMatchObject([{ hosts: ['api.example.com'] }]);

    const credentials = { secrets: { token: 'example_token' } };
    const service = await connect(ann, { credentials });

    expect(service.hosts_added).toEqual([
      { kind: 'secret', name: 'example_token', hosts: ['api.example.com'] },
    ]);
    expect(world.vault.allowRequests.at(-1)?.hosts).toEqual(['api.example.com']);
  });

  test('is not made from the default of a host variable unless the caller gives that value', async () => {
    const url = 'https://{site}.example.net/{version}';
    const variables = { site: { default: 'your-site' }, version: { default: 'v1' } };
    const ann = await createAnn(documentAt({ url, variables }));
    storeSecret(world.vault, ann.userId, 'example_token');
    const credentials = { secrets: { token: 'example_token' } };
    const asked = world.vault.allowRequests.length;

    await expect(connect(ann, { credentials })).rejects.toMatchObject({
      code: 'invalid_params',
      details: { issues: [{ path: 'variables.site' }] },
    });
    expect(world.vault.allowRequests).toHaveLength(asked);
    expect(await connect(ann, { credentials, variables: { site: 'your-site' } })).toMatchObject({
      base_url: 'https://your-site.example.net/v1',
      hosts_added: [{ hosts: ['your-site.example.net'] }],
    });
  });

  test('is chosen by the given variables', async () => {
    const ann = await createAnn();

    await expect(connect(ann, { variables: { site: 'acme' } })).rejects.toMatchObject({
      code: 'credential_missing',
      details: { secret: 'example_token' },
    });
    await expect(connect(ann, { variables: { town: 'acme' } })).rejects.toMatchObject({
      code: 'invalid_params',
    });
  });

  test('stays when credentials change, so credentials for another address are refused', async () => {
    const ann = await createAnn();
    storeSecret(world.vault, ann.userId, 'example_token', ['acme.example.net']);
    storeSecret(world.vault, ann.userId, 'next_token');
    storeAccount(ann.userId);
    const secrets = { token: 'example_token' };
    await connect(ann, { variables: { site: 'acme' }, credentials: { secrets } });

    const changed = await update(ann, { credentials: { secrets: { token: 'next_token' } } });
    expect(changed.base_url).toBe('https://acme.example.net');
    await expect(update(ann, { credentials: { connection: 'work' } })).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  test('is shown for each way before anything is connected', async () => {
    const { principal } = await createAnn();
    const shown = await world.client.getTemplate(
      { principal, key: 'example', tier: null },
      testDeadline(),
    );

    expect(shown.addresses).toEqual([
      {
        base_url: 'https://{site}.example.net',
        variables: [{ name: 'site', description: '', default: null }],
        hosts: [],
      },
      { base_url: 'https://api.example.com/notes', variables: [], hosts: ['api.example.com'] },
    ]);
  });
});
