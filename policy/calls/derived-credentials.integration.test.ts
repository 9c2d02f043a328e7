import { v7 as newId } from 'uuid';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import type { AuthMethod } from '#contracts/template';
import { github, templateOf } from '../action.testing.ts';
import {
  connectGithub,
  createPolicyWorld,
  host,
  httpCallOf,
  listIssues,
} from '../world.testing.ts';
import type { PolicyWorld, TestIdentity } from '../world.testing.ts';

const tokenHost = 'id.github.example';
const app: AuthMethod = {
  type: 'apiKey',
  scheme: 'app',
  in: 'header',
  name: 'Authorization',
  prefix: 'Bearer ',
  encoding: 'derived',
  defaultSecretName: 'github_app',
  parts: [{ name: 'client_id', label: 'Client ID', secret: false, optional: false }],
  derivation: {
    kind: 'client_credentials',
    authentication: 'client_secret_basic',
    tokenUrl: `https://${tokenHost}/token`,
    parameters: { audience: '{origin}/' },
    body: 'form',
    scopes: [],
    required: ['client_id'],
    secret: ['client_secret'],
  },
};

let world: PolicyWorld;
let ann: TestIdentity;
beforeAll(async () => {
  world = await createPolicyWorld();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});
beforeEach(() => {
  ann = world.user('ann', { orgId: newId() });
});

let version = 0;

function connect(
  allowedHosts: string[],
  { secret = 'github_app', isOwn = false }: { secret?: string; isOwn?: boolean } = {},
): void {
  const owned = isOwn
    ? { tier: 'user' as const, ownerId: ann.id }
    : { tier: 'global' as const, ownerId: null };
  const { services, secrets, templates } = world.neighbours;
  for (const list of [services, secrets, templates]) list.length = 0;
  templates.push(
    templateOf([github.listIssues], {
      auth: [app],
      security: [['app']],
      version: (version += 1),
      ...owned,
    }),
  );
  secrets.push({ reference: secret, orgId: ann.orgId, id: newId(), allowedHosts });
  connectGithub(world, ann, {
    secrets: { app: secret },
    template: { key: 'github', version, ...owned },
  });
}

test('the permit for a derived credential describes how to derive the credential', async () => {
  connect([host, tokenHost]);
  const { derivation } = app;
  const permit = world.permitIn(await world.decide(ann, listIssues));
  expect(permit.injections).toEqual([
    expect.objectContaining({
      credentialName: 'github_app',
      derivation: { ...derivation, parameters: { audience: `https://${host}/` } },
    }),
  ]);
});

test.for([host, tokenHost])(
  'a derived credential that may go only to %s is refused before a person is asked',
  async (allowed) => {
    connect([allowed]);
    const refused = allowed === host ? tokenHost : host;
    await expect(world.decide(ann, listIssues)).rejects.toEqual(
      expect.objectContaining({
        code: 'host_not_allowed',
        details: expect.objectContaining({ secret: 'github_app', host: refused }),
      }),
    );
  },
);

test.for([
  ['org/github_app', `secret:org/github_app:${tokenHost}`],
  ['org/github_app', `secret:github_app:${tokenHost}`],
  ['github_app', `secret:*:${tokenHost}`],
] as const)('with token host %s, the deny rule %s refuses the call', async ([secret, pattern]) => {
  connect([host, tokenHost], { secret });
  const bot = world.below(ann, 'bot');
  await world.rule(ann, bot, 'allow github:*:*');
  await world.rule(ann, bot, `allow secret:${secret}:${host}`);
  await world.rule(ann, bot, 'allow http:*:*');
  const verbCall = httpCallOf({ service: 'github', target: '/zen' });
  await world.settle();
  for (const call of [listIssues, verbCall]) {
    expect((await world.decide(bot, call)).outcome).not.toBe('denied');
  }
  await world.rule(ann, bot, `deny ${pattern}`);
  await world.settle();
  for (const call of [listIssues, verbCall]) {
    expect((await world.decide(bot, call)).outcome).toBe('denied');
  }
});

test.for<[secret: string, isOwn: boolean, template: object]>([
  ['github_app', false, { template: 'github' }],
  ['org/another', false, { template: 'github' }],
  ['github_app', true, { template: 'github' }],
  ['org/github_app', true, {}],
])(
  'names the template by which the missing secret %s can be requested',
  async ([secret, isOwn, template]) => {
    connect([host, tokenHost], { secret, isOwn });
    world.neighbours.secrets.length = 0;
    await expect(world.decide(ann, listIssues)).rejects.toEqual(
      expect.objectContaining({
        code: 'credential_missing',
        details: { secret, stored: false, ...template },
      }),
    );
  },
);

test("a member's own template cannot choose what is signed with the org's secret", async () => {
  connect([host, tokenHost], { secret: 'org/github_app', isOwn: true });
  await expect(world.decide(ann, listIssues)).rejects.toEqual(
    expect.objectContaining({ code: 'forbidden', details: { secret: 'org/github_app' } }),
  );
});

test("a member's own template can derive a credential from the member's own secret", async () => {
  connect([host, tokenHost], { isOwn: true });
  expect((await world.decide(ann, listIssues)).outcome).toBe('permit');
});
