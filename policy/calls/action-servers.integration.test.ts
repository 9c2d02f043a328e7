import { v7 as newId } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { ActionCall } from '#contracts/call';
import type { HttpMethod } from '#contracts/vocabulary';
import { actionOf, paramOf, templateOf } from '../action.testing.ts';
import { connectGithub, createPolicyWorld, host, httpCallOf } from '../world.testing.ts';
import type { PolicyWorld, TestIdentity } from '../world.testing.ts';

let world: PolicyWorld;
let ann: TestIdentity;
let bot: TestIdentity;
let version = 0;

const filesHost = 'files.github.example';
const files = { url: `https://${filesHost}/v2` };
const path = [paramOf('name', 'path')];
const paramsSchema = { type: 'object', properties: { name: { type: 'string' } } };
const actions = [
  actionOf('notes.get', { path: '/notes/{name}', params: path, paramsSchema }),
  actionOf('files.get', { path: '/files/{name}', params: path, paramsSchema, server: files }),
  actionOf('files.delete', {
    method: 'DELETE',
    path: '/files/{name}',
    risk: 'delete',
    params: path,
    paramsSchema,
    server: { ...files, basePath: '/content' },
  }),
];
const callOf = (action: string): ActionCall => ({
  kind: 'action',
  service: 'github',
  action,
  params: { name: 'a' },
  filter: null,
});

beforeAll(async () => {
  world = await createPolicyWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => connect());

async function connect({
  allowedHosts = [host, filesHost],
  baseUrl = `https://${host}`,
}: { allowedHosts?: string[]; baseUrl?: string } = {}): Promise<void> {
  const { services, templates, secrets } = world.neighbours;
  for (const list of [services, templates, secrets]) list.length = 0;
  world.neighbours.areAddressesGiven = baseUrl !== `https://${host}`;
  ann = world.user('ann', { orgId: newId() });
  bot = world.below(ann, 'bot');
  version += 1;
  templates.push(
    templateOf(actions, {
      version,
      runtime: 'http_servers',
      hosts: [host, filesHost],
      auth: [
        {
          type: 'apiKey',
          scheme: 'token',
          in: 'header',
          name: 'X-Token',
          prefix: '',
          encoding: 'raw',
          defaultSecretName: 'github_token',
        },
      ],
      security: [['token']],
    }),
  );
  secrets.push({ reference: 'github_token', orgId: ann.orgId, id: newId(), allowedHosts });
  connectGithub(world, ann, {
    baseUrl,
    hosts: baseUrl === `https://${host}` ? [host, filesHost] : [new URL(baseUrl).host],
    template: { key: 'github', tier: 'global', ownerId: null, version },
  });
  await world.settle();
}

const outcomeOf = async (method: HttpMethod, target: string) =>
  (await world.decide(bot, httpCallOf({ method, target }))).outcome;

describe('an action whose template gives it a server other than that of the service', () => {
  test("may be called at that server's host only, with the credentials of the service", async () => {
    const permit = world.permitIn(await world.decide(bot, callOf('files.get')));
    expect(permit).toMatchObject({
      hosts: [filesHost],
      target: { baseUrl: files.url },
      injections: [{ credentialName: 'github_token' }],
    });
    const beside = world.permitIn(await world.decide(bot, callOf('notes.get')));
    expect(beside).toMatchObject({ hosts: [host], target: { baseUrl: `https://${host}` } });
  });

  test('is refused while its credential may not go to that host', async () => {
    await connect({ allowedHosts: [host] });

    await expect(world.decide(bot, callOf('files.get'))).rejects.toMatchObject({
      code: 'host_not_allowed',
      details: { host: filesHost },
    });
    expect((await world.decide(bot, callOf('notes.get'))).outcome).toBe('permit');
  });

  test('is refused when a deny rule for raw HTTP calls matches its address', async () => {
    await world.rule(ann, bot, `deny http:GET:${filesHost}/v2/files/**`);

    expect((await world.decide(bot, callOf('files.get'))).outcome).toBe('denied');
    expect((await world.decide(bot, callOf('notes.get'))).outcome).toBe('permit');
  });

  test('is also refused as a raw HTTP call to its host when a deny rule names it', async () => {
    await world.rule(ann, bot, 'allow http:*:*');
    await world.rule(ann, bot, 'deny github:files.get:*');

    expect(await outcomeOf('GET', `https://${filesHost}/v2/files/a`)).toBe('denied');
    expect(await outcomeOf('GET', `https://${filesHost}/V2/files/a.json`)).toBe('denied');
    expect(await outcomeOf('DELETE', `https://${filesHost}/v2/files/a`)).toBe('permit');
    expect(await outcomeOf('GET', `https://${host}/notes/a`)).toBe('permit');
    expect((await world.decide(bot, callOf('notes.get'))).outcome).toBe('permit');
  });

  test('shares its host with unlisted requests, which a deny rule on another action refuses', async () => {
    await world.rule(ann, bot, 'allow http:*:*');
    await world.rule(ann, bot, 'deny github:notes.get:*');

    expect(await outcomeOf('GET', `https://${filesHost}/v2/files/a`)).toBe('permit');
    expect(await outcomeOf('GET', `https://${filesHost}/other`)).toBe('denied');
  });

  test('is among the actions that a deny rule on its host is reported to stop', async () => {
    const { stops } = await world.rule(ann, bot, `deny http:*:${filesHost}/**`);
    expect(stops?.map(({ action }) => action).toSorted()).toEqual(['files.delete', 'files.get']);
  });
});

describe('an action with its own server, in a service with a given base URL', () => {
  const given = 'https://self.example.net/api';
  beforeEach(() => connect({ baseUrl: given, allowedHosts: ['self.example.net'] }));

  test('is switched off, and the error says why', async () => {
    await expect(world.decide(bot, callOf('files.get'))).rejects.toMatchObject({
      code: 'action_disabled',
      details: { reason: 'action_server', server: files.url, base_url: given },
    });
  });

  test('is called below that base URL, if the template says so', async () => {
    await world.rule(ann, bot, 'allow github:files.delete:*');
    const permit = world.permitIn(await world.decide(bot, callOf('files.delete')));
    expect(permit).toMatchObject({
      hosts: ['self.example.net'],
      target: { baseUrl: `${given}/content` },
    });
  });

  test('is refused as a raw HTTP call at that base URL when a deny rule matches the action', async () => {
    await world.rule(ann, bot, 'allow http:*:*');
    await world.rule(ann, bot, 'deny github:files.delete:*');

    expect(await outcomeOf('DELETE', `${given}/content/files/a`)).toBe('denied');
  });
});

describe('an action with its own server, in a service whose token is bound to one site of the account', () => {
  const lookUp = { get: `https://${host}/sites`, items: '.[]', value: '.id' };
  const site = { name: 'site', description: '', default: null, enum: null, account: lookUp };
  const server = { url: `https://${host}/ex/{site}`, variables: [site], baseUrlAllowed: false };
  const atSite = `https://${host}/ex/a1`;

  async function connectBound(baseUrls: string[]): Promise<void> {
    await connect({ baseUrl: atSite });
    world.neighbours.areAddressesGiven = false;
    const [template] = world.neighbours.templates;
    Object.assign(template ?? {}, {
      version: (version += 1),
      server: { ...server, variables: [{ ...site, account: undefined, enum: [] }] },
      servers: [server],
      auth: [
        {
          type: 'oauth2',
          scheme: 'account',
          provider: 'github',
          authorizationUrl: '',
          tokenUrl: '',
          scopes: [],
        },
      ],
      security: [['account']],
    });
    const connection = {
      orgId: ann.orgId,
      id: newId(),
      reference: 'work',
      provider: 'github',
      status: 'active' as const,
      allowedHosts: [host, filesHost],
      grantedScopes: [],
      authUrl: 'https://gateway.example/connect/repair/1',
      pin: { value: 'a1', label: 'Acme', from: lookUp, baseUrls },
    };
    world.neighbours.connections.splice(0, 10, connection);
    Object.assign(world.neighbours.services[0] ?? {}, {
      connection: 'work',
      secrets: {},
      hosts: [host, filesHost],
      template: { key: 'github', tier: 'global', ownerId: null, version },
    });
    await world.settle();
  }

  test('is called with a token that is bound to the site and may also go to that server', async () => {
    await connectBound([atSite, files.url]);

    const permit = world.permitIn(await world.decide(bot, callOf('files.get')));
    expect(permit).toMatchObject({ hosts: [filesHost], target: { baseUrl: files.url } });
  });

  test('is refused with a token that may go to the site only', async () => {
    await connectBound([atSite]);

    await expect(world.decide(bot, callOf('files.get'))).rejects.toMatchObject({
      code: 'host_not_allowed',
      details: { connection: 'work', account_value: 'a1' },
    });
    expect((await world.decide(bot, callOf('notes.get'))).outcome).toBe('permit');
  });
});
