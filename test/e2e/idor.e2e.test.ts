import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { httpRoutes } from '#contracts/all';
import type { RouteName } from '#contracts/all';
import type { RouteSpec } from '#contracts/http/define';
import { servedErrorsOf } from '#contracts/route-errors';
import { createCallerWithKey } from '../support/http.ts';
import type { Caller, Reply } from '../support/http.ts';
import {
  bodiesByRoute,
  kindsIn,
  createMissingIds,
  createPossessions,
  possessionSettings,
  versionParameter,
} from './idor/possessions.ts';
import type { Possessions } from './idor/possessions.ts';
import { createOrg } from '../support/people.ts';
import { successfulBodyOf, startWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

interface Visitor {
  readonly who: 'admin' | 'member' | 'agent' | 'auditor';
  readonly send: (method: string, path: string, body?: unknown) => Promise<Reply>;
  /** The visitor's own ids, for the other parameters of paths with several ids. */
  readonly own: Possessions;
}

const routes = (Object.entries(httpRoutes) as [RouteName, RouteSpec][]).map(([name, spec]) => ({
  name,
  ...spec,
}));
const routesWithIds = routes.filter(({ path }) => path.includes('{'));
const listRoutes = routes.filter(({ method, path, access }) => {
  return method === 'GET' && !path.includes('{') && access !== 'public';
});

describe('an id of another person’s resource', () => {
  let world: World;
  let visitors: Visitor[];
  let strangersPossessions: Possessions;
  let colleaguesPossessions: Possessions;
  let rowsBefore: string[];

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
    const { ids: admins } = await createPossessions(world, admin);
    const { ids: mias, agentKey } = await createPossessions(world, mia);
    const agent = createCallerWithKey(url, agentKey);
    const child = successfulBodyOf(await agent.post('/v1/identities/subagents', { name: 'child' }));
    const childKeysPath = `/v1/identities/${child.id}/keys`;
    const childKey = successfulBodyOf(await agent.post(childKeysPath, { name: 'spare' }));
    ({ ids: colleaguesPossessions } = await createPossessions(world, bob));
    ({ ids: strangersPossessions } = await createPossessions(world, eve));
    await tables.query(
      `insert into auth.sign_in_provider (org_id, key, name, issuer, client_id, scopes,
                                          allowed_email_domains, allowed_groups)
       values ($1, $2, 'Theirs', 'https://id.example', 'gateway', '{openid}', '{}', '{}')`,
      [otherOrg, strangersPossessions.provider],
    );
    const { provider } = strangersPossessions;
    successfulBodyOf(
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
    rowsBefore = await dumpStableRows(world);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  // This test runs first, because later tests put other people's ids into requests, and the
  // visitor's own audit log shows refused requests.
  test.for(listRoutes.map(({ path }) => [path]))(
    'appears in no answer of the list %s',
    async ([path = '']) => {
      for (const visitor of visitors) {
        const { status, body } = await visitor.send('GET', path);
        expect([200, 403]).toContain(status);
        const hiddenPossessions = ['admin', 'auditor'].includes(visitor.who)
          ? [strangersPossessions]
          : [strangersPossessions, colleaguesPossessions];
        for (const ids of hiddenPossessions) {
          for (const id of Object.values(ids)) expect(JSON.stringify(body)).not.toContain(id);
        }
      }
    },
  );

  test.for(routesWithIds.map((route) => [`${route.method} ${route.path}`, route] as const))(
    'is answered like an id that does not exist, in the path of %s',
    async ([, route]) => {
      for (const visitor of visitors) {
        for (const filledParams of paramSetsOf(route.path)) {
          const missingReply = await sendWithId(
            route,
            visitor,
            fillPath(visitor.own, createMissingIds(), filledParams),
          );
          const createsResource = ['putSignInProvider', 'putOauthApp'].includes(route.name);
          if (!createsResource) expectAbsentAnswer(missingReply, route, visitor);
          const foreignReply = await sendWithId(
            route,
            visitor,
            fillPath(visitor.own, strangersPossessions, filledParams),
          );
          expect(
            normaliseAnswer(foreignReply, visitor, strangersPossessions),
            `${visitor.who}, other org`,
          ).toEqual(normaliseAnswer(missingReply, visitor));
          if (visitor.who === 'admin') continue; // An admin may see the whole org.
          expectColleagueAnswer(
            await sendWithId(
              route,
              visitor,
              fillPath(visitor.own, colleaguesPossessions, filledParams),
            ),
            missingReply,
            {
              route,
              visitor,
            },
          );
        }
      }
    },
  );

  test.for<[where: string, method: string, path: string, body: (ids: Possessions) => unknown]>([
    ['approvals of a requester', 'GET', '/v1/approvals?requester={identity}', () => undefined],
    ['rules of an identity', 'GET', '/v1/rules?identity_id={identity}', () => undefined],
    ['audit of an identity', 'GET', '/v1/audit?identity_id={identity}', () => undefined],
    // The visitor's own audit log contains its refused requests with other people's ids, so this
    // case asks only for records of a type that refused requests do not have.
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
    'is treated like an id that does not exist if it is of another org, in a query or body: %s',
    async ([, method, path, body]) => {
      for (const visitor of visitors) {
        const send = (ids: Possessions) =>
          visitor.send(
            method,
            path.replace(/\{(\w+)\}/, (_, kind: keyof Possessions) => ids[kind]),
            body(ids),
          );
        const answersOfMissingIds = createMissingIds();
        const [theirs, nobodys] = [
          await send(strangersPossessions),
          await send(answersOfMissingIds),
        ];
        expect(nobodys.status).toBeLessThan(500);
        if (method === 'POST') expect([403, 404]).toContain(nobodys.status);
        expect(normaliseAnswer(theirs, visitor, strangersPossessions), visitor.who).toEqual(
          normaliseAnswer(nobodys, visitor, answersOfMissingIds),
        );
      }
    },
  );

  test('changes nothing about the resource', async () => {
    expect(await dumpStableRows(world)).toEqual(rowsBefore);
  });
});

/**
 * Returns the parameters of a path that get another person's id: first all of them, then each one
 * alone.
 */
function paramSetsOf(path: string): string[][] {
  const all = kindsIn(path).map(({ param }) => param);
  return all.length === 1 ? [all] : [all, ...all.map((param) => [param])];
}

function fillPath(own: Possessions, foreign: Possessions, filledParams: readonly string[]) {
  return (path: string) =>
    kindsIn(path).reduce(
      (filledPath, { param, kind }) =>
        filledPath.replace(param, (filledParams.includes(param) ? foreign : own)[kind]),
      path.replace(versionParameter, '1'),
    );
}

/** Error codes that every route may answer with (contracts/route-errors.ts). */
const commonErrors = ['invalid_request', 'unauthenticated', 'insufficient_scope'];

function sendWithId(
  route: RouteSpec & { name: RouteName },
  { send }: Visitor,
  to: (path: string) => string,
) {
  return send(route.method, to(route.path), bodiesByRoute[route.name]);
}

/**
 * True if this kind of caller may not use the route at all, so that the route refuses every id in
 * the same way.
 */
const isClosed = ({ access, method, path }: RouteSpec, { who }: Visitor, { body }: Reply) =>
  (who === 'member' &&
    /^\/v1\/(users|sign-in-providers)/.test(path) &&
    body.error === 'forbidden') ||
  (who === 'agent' && access === 'user' && body.error === 'insufficient_scope') ||
  (who === 'auditor' && method !== 'GET' && body.error === 'forbidden') ||
  (who === 'member' && /^\/v1\/oauth(\/clients|-apps)\//.test(path) && body.error === 'forbidden');

function expectAbsentAnswer(reply: Reply, route: RouteSpec, visitor: Visitor): void {
  const message = `${visitor.who}: ${JSON.stringify(reply.body)}`;
  expect([...servedErrorsOf(route), ...commonErrors], message).toContain(reply.body.error);
  if (isClosed(route, visitor, reply)) expect(reply.status, message).toBe(403);
  else expect(reply.status, message).toBe(404);
}

/**
 * Expects the answer for an id that belongs to the caller's org but is outside its chain of
 * identities (docs/reference/errors.md#foreign-ids).
 */
function expectColleagueAnswer(
  theirs: Reply,
  answersOfMissingIds: Reply,
  { route, visitor }: { route: RouteSpec; visitor: Visitor },
): void {
  const message = `${visitor.who}, colleague: ${JSON.stringify(theirs.body)}`;
  if (visitor.who === 'auditor') {
    // An auditor may read everything in the org, and may change nothing.
    if (route.method === 'GET') expect([200, 404], message).toContain(theirs.status);
    else expect([403, 404], message).toContain(theirs.status);
  } else if (
    route.path.startsWith('/v1/approvals/') ||
    (route.path.startsWith('/v1/requests/') &&
      !isClosed(route, visitor, theirs) &&
      visitor.who !== 'agent')
  ) {
    expect([theirs.status, theirs.body.error], message).toEqual([403, 'not_in_your_chain']);
  } else {
    expect([theirs.status, theirs.body.error], message).toEqual([
      answersOfMissingIds.status,
      answersOfMissingIds.body.error,
    ]);
  }
}

/** Returns an answer without the parts that differ between any two requests. */
function normaliseAnswer({ status, body }: Reply, { own }: Visitor, sentIds?: Possessions) {
  let text = JSON.stringify({ ...body, request_id: '' });
  for (const ids of [sentIds, own]) {
    for (const [kind, id] of Object.entries(ids ?? {})) text = text.replaceAll(id, `{${kind}}`);
  }
  // Removes names that the test generates anew for each request.
  return {
    status,
    text: text.replaceAll(/svc[_+ ]\w{16}/g, '{service}').replaceAll(/tpl_\w{16}/g, '{template}'),
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

/** All rows of the tables, without the columns that a read changes, such as `last_used_at`. */
async function dumpStableRows({ tables }: World): Promise<string[]> {
  const names = Object.keys(await tables.count());
  const changingColumns = [
    'last_active_at',
    'last_used_at',
    'last_sign_in_at',
    'chain_checked_at',
    'failing_since',
  ];
  const rows = await Promise.all(
    names.map((name) =>
      tables.query(`select (to_jsonb(t) - $1::text[])::text as row from ${name} t order by 1`, [
        changingColumns,
      ]),
    ),
  );
  return rows.flatMap((tableRows, index) => tableRows.map(({ row }) => `${names[index]} ${row}`));
}
