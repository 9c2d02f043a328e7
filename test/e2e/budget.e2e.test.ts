import { Agent } from 'node:http';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { startApart } from '../budget/components.ts';
import type { Apart } from '../budget/components.ts';
import { entryPoints } from '../budget/entry-points.ts';
import type { EntryPoint } from '../budget/entry-points.ts';
import { judge, smallestOf } from '../budget/judge.ts';
import { send } from '../budget/send.ts';
import type { Sendable } from '../budget/send.ts';
import type { Shape } from '../budget/shapes.ts';
import { ownTemplate } from '../budget/templates.ts';
import { kindsIn, possess, possessionSettings, versionParameter } from './idor/possessions.ts';
import type { Possessions } from './idor/possessions.ts';
import { createAgent, created, startWorld, until } from './support/world.ts';
import type { World } from './support/world.ts';

/** `npm run test:budget` sends everything; here every so many-th shape of a few entry points stands for it, another one for each property. */
const isAll = process.env['BUDGET'] === 'all';
const only = process.env['BUDGET_ONLY'];
const sampled: Readonly<Record<string, number>> = {
  signIn: 13,
  createTemplate: 13,
  validateAction: 63,
  'call of send_email': 23,
  'call of an own template': 23,
  'call with method and path': 23,
  'raw call': 23,
  'MCP service_call': 13,
  '/oauth/authorize': 13,
  '/oauth/token as a form with grant_type and code': 13,
};
const tried = entryPoints.filter(({ name }) =>
  only ? new RegExp(only).test(name) : isAll || name in sampled,
);

const settings = {
  ...possessionSettings,
  RATE_PUBLIC_PER_MINUTE: '0',
  RATE_REGISTER_PER_HOUR: '0',
  APPROVALS_OPEN_PER_REQUESTER: '10000',
  APPROVALS_OPEN_PER_SUBTREE: '10000',
  APPROVALS_RAISED_PER_HOUR: '10000',
  REQUESTS_PER_HOUR: '10000',
  AUDIT_BYTES_PER_MINUTE: '9999999999',
};

describe('no request within the caps costs any component much more than reading it', () => {
  let world: World;
  let apart: Apart;
  let ids: Possessions;
  let agentKey: string;
  let replaced: Readonly<Record<string, string>>;
  let probes: readonly Sendable[];
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const beside = new Agent({ keepAlive: true, maxSockets: 2 });
  let answered = 0;
  const unanswered: string[] = [];

  beforeAll(async () => {
    world = await startWorld(
      settings,
      async (environment) => (apart = await startApart(environment)),
    );
    const { admin, upstream, url } = world;
    await until(
      async () => (await admin.get('/v1/status')).body.status === 'ok',
      'every component answers',
    );
    ({ ids, agentKey } = await possess(world, admin));
    const own = created(
      await admin.post('/v1/templates', { openapi: ownTemplate('places', upstream.url) }),
    );
    created(await admin.post(`/v1/templates/${own.key}/publish`, { version: 1 }));
    created(
      await admin.post('/v1/secrets', {
        name: 'places_token',
        value: 'CANARY-places',
        allowed_hosts: [upstream.host],
      }),
    );
    created(await admin.post('/v1/services', { template: own.key, name: 'places', tier: 'user' }));
    const client = await send({
      method: 'POST',
      url: `${url}/oauth/register`,
      agent,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        redirect_uris: ['http://127.0.0.1/cb'],
        client_name: 'budget',
        token_endpoint_auth_method: 'none',
      }),
    });
    replaced = {
      SERVICE: ids.service,
      OWN: 'places',
      UPSTREAM: upstream.url,
      APPROVAL: ids.approval,
      CLIENT: JSON.parse(client.text).client_id,
    };
    const other = await createAgent(url, admin, 'other');
    created(
      await admin.post('/v1/rules', {
        identity_id: other.id,
        effect: 'allow',
        pattern: 'http:GET:**',
      }),
    );
    probes = [
      { method: 'GET', url: `${url}/health/live`, agent: beside, headers: {}, body: '' },
      {
        method: 'POST',
        url: `${url}/v1/actions/call`,
        agent: beside,
        headers: { authorization: `Bearer ${other.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ service: 'http', method: 'GET', url: `${upstream.url}/read` }),
      },
    ];
  }, 180_000);
  afterAll(async () => {
    agent.destroy();
    beside.destroy();
    await world[Symbol.asyncDispose]();
  });

  /** Somebody else's requests, which are to be answered whatever is asked beside them. */
  const probe = () =>
    Promise.all(
      probes.map(async (asked) => {
        const { status, text } = await send(asked);
        if (status === 200) answered += 1;
        else unanswered.push(`${asked.url}: ${status} ${text}`);
      }),
    );

  const filled = (text: string) =>
    Object.entries(replaced).reduce((all, [name, value]) => all.replaceAll(name, value), text);
  const sendable = (entry: EntryPoint, shape: Shape): Sendable => {
    const { method, path, asks, contentType, valid } = entry;
    const named = kindsIn(path).reduce(
      (text, { param, kind }) => text.replace(param, encodeURIComponent(ids[kind])),
      path.replace(versionParameter, '1'),
    );
    const { origin } = new URL(world.url);
    const credentials =
      asks === 'admin'
        ? { cookie: world.admin.cookie, origin }
        : { authorization: `Bearer ${agentKey}` };
    const query = filled(shape.query ?? valid.query ?? '');
    return {
      url: `${world.url}${named}${query === '' ? '' : `?${query}`}`,
      method,
      headers: {
        ...(contentType === undefined ? {} : { 'content-type': contentType }),
        accept: 'application/json, text/event-stream',
        ...(asks === 'nobody' ? { origin } : credentials),
        ...shape.headers,
      },
      body: filled(shape.body ?? valid.body ?? ''),
      agent,
    };
  };

  test.for(tried.map((entry) => [entry.name, entry] as const))(
    '%s',
    { timeout: 1_200_000 },
    async ([name, entry]) => {
      const smallest = await smallestOf(apart, sendable(entry, entry.valid));
      const every = isAll ? 1 : (sampled[name] ?? 1);
      const refused: string[] = [];
      let number = 0;
      for (const shape of entry.shapes()) {
        number += 1;
        if (number % every !== 0) continue;
        const asked = sendable(entry, shape);
        const { status, text, dear } = await judge(apart, { asked, smallest, beside: probe });
        const failed = status >= 500 ? [`${status} ${text}`] : [];
        refused.push(...[...dear, ...failed].map((sentence) => `${shape.what}: ${sentence}`));
      }
      expect(refused).toEqual([]);
      expect(number).toBeGreaterThanOrEqual(every);
    },
  );

  test('health and the reads of others are answered meanwhile', () => {
    expect(unanswered).toEqual([]);
    expect(answered).toBeGreaterThan(0);
  });
});
