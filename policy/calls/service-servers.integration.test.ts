import { v7 as newId } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { ServiceRecord } from '#contracts/bus/registry';
import type { AuthMethod, CompiledTemplate } from '#contracts/template';
import { github, templateOf } from '../action.testing.ts';
import {
  connectGithub,
  createPolicyWorld,
  host,
  httpCallOf,
  listIssues,
} from '../world.testing.ts';
import type { PolicyWorld, TestIdentity } from '../world.testing.ts';

let world: PolicyWorld;
let ann: TestIdentity;
let bot: TestIdentity;
/** The content of a template version never changes, so each test uses another version. */
let version = 0;

const account: AuthMethod = {
  type: 'oauth2',
  scheme: 'account',
  provider: 'github',
  authorizationUrl: 'https://github.example/authorize',
  tokenUrl: 'https://github.example/token',
  scopes: [],
};
const token: AuthMethod = {
  type: 'apiKey',
  scheme: 'token',
  in: 'header',
  name: 'X-Token',
  prefix: '',
  encoding: 'raw',
  defaultSecretName: 'github_token',
};
const fixed = { variables: [], baseUrlAllowed: false };
const byToken = { ...fixed, url: `https://${host}`, schemes: ['token'] };
const byAccount = { ...fixed, url: `https://${host}/accounts`, schemes: ['account'] };

beforeAll(async () => {
  world = await createPolicyWorld();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});
beforeEach(() => {
  const { services, secrets, connections } = world.neighbours;
  for (const list of [services, secrets, connections]) list.length = 0;
  world.neighbours.areAddressesGiven = false;
  ann = world.user('ann', { orgId: newId() });
  bot = world.below(ann, 'bot');
});

/** Connects GitHub with a token and an account. The template has one server for each of the two. */
async function connect(
  more: Partial<ServiceRecord>,
  servers: CompiledTemplate['servers'] = [byToken, byAccount],
): Promise<void> {
  const { templates, secrets, connections } = world.neighbours;
  const { schemes: _schemes, ...server } = servers[0] ?? byToken;
  templates.splice(
    0,
    templates.length,
    templateOf(Object.values(github), {
      server,
      servers,
      version: (version += 1),
      auth: [token, account],
      security: [['token'], ['account']],
    }),
  );
  const credential = { orgId: ann.orgId, id: newId(), allowedHosts: [host] };
  secrets.push({ ...credential, reference: 'github_token' });
  connections.push({
    ...credential,
    reference: 'work',
    id: newId(),
    provider: 'github',
    status: 'active' as const,
    grantedScopes: [],
    authUrl: 'https://gateway.example/connect/repair/1',
  });
  connectGithub(world, ann, {
    secrets: { token: 'github_token' },
    connection: 'work',
    template: { key: 'github', tier: 'global', ownerId: null, version },
    ...more,
  });
  await world.settle();
}

describe('a service whose template has different servers for its security schemes', () => {
  test.for<[scheme: string, baseUrl: string, credential: string]>([
    ['token', byToken.url, 'github_token'],
    ['account', byAccount.url, 'work'],
  ])('uses its %s at the server for that scheme', async ([scheme, baseUrl, credential]) => {
    await connect({ schemes: [scheme], baseUrl });

    const { target, injections } = world.permitIn(await world.decide(bot, listIssues));
    expect(target).toMatchObject({ baseUrl });
    expect(injections.map(({ credentialName }) => credentialName)).toEqual([credential]);
  });

  test('uses the credential that belongs to its server, when the registry names no alternative', async () => {
    await connect({ baseUrl: byAccount.url });

    const { injections } = world.permitIn(await world.decide(bot, listIssues));
    expect(injections.map(({ credentialName }) => credentialName)).toEqual(['work']);
  });

  test.for<[scheme: string, baseUrl: string]>([
    ['token', byAccount.url],
    ['account', byToken.url],
    ['account', 'https://evil.example'],
  ])(
    'is refused when the registry claims that it is connected by %s at %s',
    async ([scheme, baseUrl]) => {
      await connect({ schemes: [scheme], baseUrl });

      await expect(world.decide(bot, listIssues)).rejects.toMatchObject({
        code: 'unavailable',
        details: { component: 'registry', reason: 'address_not_genuine' },
      });
    },
  );
});

describe('a service whose address depends on the account', () => {
  const lookUp = { get: `https://${host}/sites`, items: '.[]', value: '.id' };
  const site = { name: 'site', description: '', default: null, enum: null };
  const ofAccount = {
    url: `https://${host}/ex/{site}`,
    variables: [{ ...site, account: { ...lookUp, label: '.url' } }],
    baseUrlAllowed: false,
    schemes: ['account'],
  };
  const pin = {
    value: 'a1',
    label: 'https://acme.example',
    from: lookUp,
    baseUrls: [`https://${host}/ex/a1`],
  };

  async function connectBound(baseUrl: string, bound: typeof pin | null): Promise<void> {
    await connect({ schemes: ['account'], baseUrl }, [byToken, ofAccount]);
    const [connection] = world.neighbours.connections;
    Object.assign(connection ?? {}, { pin: bound });
    await world.settle();
  }

  test('is called at the site that the connection is bound to', async () => {
    await connectBound(`https://${host}/ex/a1`, pin);

    const { target } = world.permitIn(await world.decide(bot, listIssues));
    expect(target).toMatchObject({ baseUrl: `https://${host}/ex/a1` });
  });

  test('is refused when the registry gives it the address of another site', async () => {
    await connectBound(`https://${host}/ex/b2`, pin);

    for (const call of [listIssues, httpCallOf({ service: 'github', target: '/zen' })]) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await expect(world.decide(ann, call)).rejects.toMatchObject({
        code: 'host_not_allowed',
        details: { connection: 'work', account_value: 'a1' },
      });
    }
  });

  test('is refused with a connection that is not bound to a site', async () => {
    await connectBound(`https://${host}/ex/a1`, null);

    await expect(world.decide(bot, listIssues)).rejects.toMatchObject({
      code: 'credential_missing',
      details: { connection: 'work', template: 'github' },
    });
  });

  test('is refused with a connection that is bound to a base URL on another host', async () => {
    await connectBound(`https://${host}/ex/a1`, {
      ...pin,
      baseUrls: ['https://elsewhere.example/ex/a1'],
    });

    await expect(world.decide(bot, listIssues)).rejects.toMatchObject({
      code: 'host_not_allowed',
    });
  });

  test("does not send its connection's token to other URLs of the host", async () => {
    await connectBound(`https://${host}/ex/a1`, pin);
    const raw = (target: string) => httpCallOf({ connection: 'work', target });

    expect((await world.decide(bot, raw(`https://${host}/ex/a1/zen`))).outcome).toBe('gap');
    for (const path of ['/zen', '/ex/b2/zen', '/ex/a12/zen']) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await expect(world.decide(ann, raw(`https://${host}${path}`))).rejects.toMatchObject({
        code: 'host_not_allowed',
      });
    }
  });
});
