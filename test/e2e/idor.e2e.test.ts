import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { httpRoutes } from '#contracts/all';
import type { RouteName } from '#contracts/all';
import type { RouteSpec } from '#contracts/http/define';
import { withKey } from '../support/http.ts';
import type { Caller, Reply } from '../support/http.ts';
import {
  bodies,
  kindsIn,
  nothings,
  possess,
  possessionSettings,
  versionParameter,
} from './idor/possessions.ts';
import type { Possessions } from './idor/possessions.ts';
import { createOrg } from './support/people.ts';
import { created, startWorld } from './support/world.ts';
import type { World } from './support/world.ts';

interface Visitor {
  readonly who: 'admin' | 'member' | 'agent' | 'auditor';
  readonly send: (method: string, path: string, body?: unknown) => Promise<Reply>;
  /** What it may name, for paths that hold two ids. */
  readonly own: Possessions;
}

const routes = (Object.entries(httpRoutes) as [RouteName, RouteSpec][]).map(([name, spec]) => ({
  name,
  ...spec,
}));
const withIds = routes.filter(({ path }) => path.includes('{'));
const lists = routes.filter(({ method, path, access }) => {
  return method === 'GET' && !path.includes('{') && access !== 'public';
});

describe('an id of somebody else', () => {
  let world: World;
  let visitors: Visitor[];
  let strangers: Possessions;
  let colleagues: Possessions;
  let before: string[];

  beforeAll(async () => {
    world = await startWorld(possessionSettings);
    const { url, admin, tables } = world;
    const { orgId } = admin;
    const otherOrg = await createOrg(tables.query);
    const [mia, bob, aud, eve] = await Promise.all([
      world.person({ orgId, name: 'mia', role: 'member' }),
      world.person({ orgId, name: 'bob', role: 'member' }),
      world.person({ orgId, name: 'aud', role: 'auditor' }),
      world.person({ orgId: otherOrg, name: 'eve', role: 'admin' }),
    ]);
    const { ids: admins } = await possess(world, admin);
    const { ids: mias, agentKey } = await possess(world, mia);
    const agent = withKey(url, agentKey);
    const child = created(await agent.post('/v1/identities/subagents', { name: 'child' }));
    const childKeys = `/v1/identities/${child.id}/keys`;
    const childKey = created(await agent.post(childKeys, { name: 'spare' }));
    ({ ids: colleagues } = await possess(world, bob));
    ({ ids: strangers } = await possess(world, eve));
    await tables.query(
      `insert into auth.sign_in_provider (org_id, key, name, issuer, client_id, scopes,
                                          allowed_email_domains, allowed_groups)
       values ($1, $2, 'Theirs', 'https://id.example', 'gateway', '{openid}', '{}', '{}')`,
      [otherOrg, strangers.provider],
    );
    const { provider } = strangers;
    created(
      await eve.put(`/v1/oauth-apps/${provider}`, {
        client_id: 'theirs',
        client_secret: 'CANARY-theirs',
        definition: {
          title: 'Theirs',
          authorization_url: 'https://id.example/authorize',
          token_url: 'https://id.example/token',
          hosts: ['api.example'],
        },
      }),
    );
    const visitor = (who: Visitor['who'], caller: Caller, own: Possessions): Visitor => ({
      who,
      own,
      send: (method, path, body) => sendAs(caller, method, path, body),
    });
    visitors = [
      visitor('admin', admin, admins),
      visitor('member', mia, mias),
      visitor('agent', agent, { ...mias, identity: child.id, key: childKey.id }),
      visitor('auditor', aud, mias),
    ];
    before = await fingerprint(world);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  // First: later tests name them in calls that are audited, refused as they are.
  test.for(lists.map(({ path }) => [path]))('stands in no answer of %s', async ([path = '']) => {
    for (const visitor of visitors) {
      const { status, body } = await visitor.send('GET', path);
      expect([200, 403]).toContain(status);
      const hidden = ['admin', 'auditor'].includes(visitor.who)
        ? [strangers]
        : [strangers, colleagues];
      for (const ids of hidden) {
        for (const id of Object.values(ids)) expect(JSON.stringify(body)).not.toContain(id);
      }
    }
  });

  test.for(withIds.map((route) => [`${route.method} ${route.path}`, route] as const))(
    '%s is as good as none',
    async ([, route]) => {
      for (const visitor of visitors) {
        for (const holes of holesOf(route.path)) {
          const none = await ask(route, visitor, fill(visitor.own, nothings(), holes));
          const makesOne = ['putSignInProvider', 'putOauthApp'].includes(route.name);
          if (!makesOne) expectAbsence(none, route, visitor);
          const theirs = await ask(route, visitor, fill(visitor.own, strangers, holes));
          expect(plain(theirs, visitor, strangers), `${visitor.who}, other org`).toEqual(
            plain(none, visitor),
          );
          if (visitor.who === 'admin') continue; // An admin sees the whole org.
          expectDistance(await ask(route, visitor, fill(visitor.own, colleagues, holes)), none, {
            route,
            visitor,
          });
        }
      }
    },
  );

  test.for<[where: string, method: string, path: string, body: (ids: Possessions) => unknown]>([
    ['approvals of a requester', 'GET', '/v1/approvals?requester={identity}', () => undefined],
    ['rules of an identity', 'GET', '/v1/rules?identity_id={identity}', () => undefined],
    ['audit of an identity', 'GET', '/v1/audit?identity_id={identity}', () => undefined],
    // Of its own attempts on ids, whatever they are, an org has rows: refusals are records.
    [
      'audit of an approval',
      'GET',
      '/v1/audit?approval_id={approval}&type=approval.raised',
      () => undefined,
    ],
    [
      'a rule for an identity',
      'POST',
      '/v1/rules',
      ({ identity }) => ({ identity_id: identity, effect: 'deny', pattern: 'a:b:c' }),
    ],
    [
      'a subagent below an agent',
      'POST',
      '/v1/identities/subagents',
      ({ identity }) => ({ name: 'intruder', parent_id: identity }),
    ],
    [
      'a dry run as an identity',
      'POST',
      '/v1/actions/validate',
      ({ identity }) => ({
        service: 'http',
        method: 'GET',
        url: 'https://example.com/',
        as_identity_id: identity,
      }),
    ],
    [
      'resuming an approval',
      'POST',
      '/v1/actions/call',
      ({ approval }) => ({ approval_id: approval }),
    ],
    [
      'connecting a template',
      'POST',
      '/v1/services',
      ({ template }) => ({ template, name: 'intruder' }),
    ],
    [
      'importing an upload',
      'POST',
      '/v1/templates/import',
      ({ upload }) => ({ source: { upload_id: upload } }),
    ],
    [
      'calling a service',
      'POST',
      '/v1/actions/call',
      ({ service }) => ({ service, action: 'list_verified_senders' }),
    ],
  ])(
    'of another org is as good as none in a query or a body: %s',
    async ([, method, path, body]) => {
      for (const visitor of visitors) {
        const send = (ids: Possessions) =>
          visitor.send(
            method,
            path.replace(/\{(\w+)\}/, (_, kind: keyof Possessions) => ids[kind]),
            body(ids),
          );
        const none = nothings();
        const [theirs, nobodys] = [await send(strangers), await send(none)];
        expect(nobodys.status).toBeLessThan(500);
        if (method === 'POST') expect([403, 404]).toContain(nobodys.status);
        expect(plain(theirs, visitor, strangers), visitor.who).toEqual(
          plain(nobodys, visitor, none),
        );
      }
    },
  );

  test('does nothing to what it names', async () => {
    expect(await fingerprint(world)).toEqual(before);
  });
});

/** Each id of a path for itself, and all of them. */
function holesOf(path: string): string[][] {
  const all = kindsIn(path).map(({ param }) => param);
  return all.length === 1 ? [all] : [all, ...all.map((param) => [param])];
}

function fill(own: Possessions, foreign: Possessions, holes: readonly string[]) {
  return (path: string) =>
    kindsIn(path).reduce(
      (filled, { param, kind }) =>
        filled.replace(param, (holes.includes(param) ? foreign : own)[kind]),
      path.replace(versionParameter, '1'),
    );
}

/** What every route may answer (contracts/http/define.ts), and so none lists. */
const everywhere = ['invalid_request', 'unauthenticated', 'insufficient_scope'];

function ask(
  route: RouteSpec & { name: RouteName },
  { send }: Visitor,
  to: (path: string) => string,
) {
  return send(route.method, to(route.path), bodies[route.name]);
}

/** A route closed to a caller altogether says so of every id alike. */
const isClosed = ({ access, method, path }: RouteSpec, { who }: Visitor, { body }: Reply) =>
  (who === 'member' &&
    /^\/v1\/(users|sign-in-providers)/.test(path) &&
    body.error === 'forbidden') ||
  (who === 'agent' && access === 'user' && body.error === 'insufficient_scope') ||
  (who === 'auditor' && method !== 'GET' && body.error === 'forbidden') ||
  (who === 'member' && /^\/v1\/oauth(\/clients|-apps)\//.test(path) && body.error === 'forbidden');

function expectAbsence(reply: Reply, route: RouteSpec, visitor: Visitor): void {
  const told = `${visitor.who}: ${JSON.stringify(reply.body)}`;
  expect([...route.errors, ...everywhere], told).toContain(reply.body.error);
  if (isClosed(route, visitor, reply)) expect(reply.status, told).toBe(403);
  else expect(reply.status, told).toBe(404);
}

/** In the caller's own org, outside its chain (docs/reference/errors.md#foreign-ids). */
function expectDistance(
  theirs: Reply,
  none: Reply,
  { route, visitor }: { route: RouteSpec; visitor: Visitor },
): void {
  const told = `${visitor.who}, colleague: ${JSON.stringify(theirs.body)}`;
  if (visitor.who === 'auditor') {
    // Reads everything in the org, changes nothing.
    if (route.method === 'GET') expect([200, 404], told).toContain(theirs.status);
    else expect([403, 404], told).toContain(theirs.status);
  } else if (route.path.startsWith('/v1/approvals/')) {
    expect([theirs.status, theirs.body.error], told).toEqual([403, 'not_in_your_chain']);
  } else {
    expect([theirs.status, theirs.body.error], told).toEqual([none.status, none.body.error]);
  }
}

/** What an answer says, without what differs between any two requests. */
function plain({ status, body }: Reply, { own }: Visitor, asked?: Possessions) {
  let text = JSON.stringify({ ...body, request_id: '' });
  for (const ids of [asked, own]) {
    for (const [kind, id] of Object.entries(ids ?? {})) text = text.replaceAll(id, `{${kind}}`);
  }
  // Names that were made up for one request.
  return {
    status,
    text: text.replaceAll(/svc_\w{16}/g, '{service}').replaceAll(/tpl_\w{16}/g, '{template}'),
  };
}

async function sendAs(
  caller: Caller,
  method: string,
  path: string,
  body?: unknown,
): Promise<Reply> {
  if (method === 'GET') return caller.get(path);
  if (method === 'DELETE') return caller.delete(path);
  if (method === 'PUT') return caller.put(path, body);
  return method === 'PATCH' ? caller.patch(path, body) : caller.post(path, body);
}

/** Every row but those that change by being looked at. */
async function fingerprint({ tables }: World): Promise<string[]> {
  const names = Object.keys(await tables.count());
  const clocks = [
    'last_active_at',
    'last_used_at',
    'last_sign_in_at',
    'chain_checked_at',
    'failing_since',
  ];
  const rows = await Promise.all(
    names.map((name) =>
      tables.query(`select (to_jsonb(t) - $1::text[])::text as row from ${name} t order by 1`, [
        clocks,
      ]),
    ),
  );
  return rows.flatMap((found, index) => found.map(({ row }) => `${names[index]} ${row}`));
}
