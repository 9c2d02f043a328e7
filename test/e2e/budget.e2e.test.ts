import { Agent } from 'node:http';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';

import { httpRoutes } from '#contracts/all';
import type { RouteName } from '#contracts/all';
import type { RouteSpec } from '#contracts/http/define';
import { costOf, measureIdling, runPlaceholder } from '../budget/measure.ts';
import { shapesOf } from '../budget/shapes.ts';
import { cpuMsOf } from '../support/cpu.ts';
import {
  bodies,
  kindsIn,
  possess,
  possessionSettings,
  versionParameter,
} from './idor/possessions.ts';
import type { Possessions } from './idor/possessions.ts';
import { startWorld } from './support/world.ts';
import type { World } from './support/world.ts';

/** `npm run test:budget` sends everything; here a sample stands for it. */
const isAll = process.env['BUDGET'] === 'all';
/** A body is read by the gateway, and then by policy, approvals, the executor and, of what is shown, audit. */
const readersMax = 4;
/** What the clock of CPU time, garbage and the client add to a request on this one thread. */
const slackMs = 15;

interface EntryPoint {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly access: string;
  readonly valid: Readonly<Record<string, unknown>>;
  readonly properties: readonly string[];
  /** What stands before and behind each body, where it is part of a larger one. */
  readonly around?: readonly [before: string, behind: string];
}

const known: Partial<Record<RouteName, unknown>> = {
  ...bodies,
  callAction: { service: 'SERVICE', action: 'send_email', params: {} },
  validateAction: { service: 'SERVICE', action: 'send_email', params: {} },
  signIn: { email: 'a@b.example', password: 'CANARY-wrong' },
};
const routes: EntryPoint[] = (Object.entries(httpRoutes) as [RouteName, RouteSpec][]).flatMap(
  ([name, { method, path, access, body }]) =>
    body === undefined
      ? []
      : [
          {
            ...{ name, method, path, access },
            valid: (known[name] ?? {}) as Record<string, unknown>,
            properties: propertiesOf(body),
          },
        ],
);
const mcp: EntryPoint[] = ['service_call', 'service_read', 'service_search', 'service_approve'].map(
  (tool) => ({
    name: `MCP ${tool}`,
    method: 'POST',
    path: '/mcp',
    access: 'any',
    valid: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: {} } },
    properties: ['params', 'method', 'id'],
  }),
);
/** Inside of the arguments of a tool, as deep as agents put what they send. */
const mcpArguments: EntryPoint[] = (
  [
    [
      'service_call',
      { service: 'SERVICE', action: 'send_email', params: {} },
      ['params', 'filter'],
    ],
    [
      'service_call',
      { service: 'http', method: 'POST', url: `UPSTREAM/waits?run=${runPlaceholder}` },
      ['query', 'headers', 'body'],
    ],
    ['service_search', { query: 'send' }, ['query']],
  ] as const
).map(([tool, valid, properties]) => ({
  name: `MCP ${tool} with ${properties.join(', ')}`,
  ...{ method: 'POST', path: '/mcp', access: 'any', valid, properties },
  around: [
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}","arguments":`,
    '}}',
  ],
}));
const oauth: EntryPoint[] = ['/oauth/register', '/oauth/token', '/oauth/revoke'].map((path) => ({
  ...{ name: path, method: 'POST', path, access: 'public', valid: {} },
  properties: ['redirect_uris', 'token', 'client_name'],
}));
/** Asks for an approval, so that the request is built, redacted and shown. */
const raw: EntryPoint = {
  ...{ name: 'raw HTTP', method: 'POST', path: '/v1/actions/call', access: 'actions:call' },
  valid: { service: 'http', method: 'POST', url: `UPSTREAM/waits?run=${runPlaceholder}` },
  properties: ['query', 'headers', 'body'],
};
const sampled = new Set([
  'callAction',
  'validateAction',
  'signIn',
  'createTemplate',
  'MCP service_call',
  'MCP service_call with query, headers, body',
  'raw HTTP',
]);
const entryPoints = [...routes, raw, ...mcp, ...mcpArguments, ...oauth].filter(
  ({ name }) => isAll || sampled.has(name),
);

function propertiesOf(body: z.ZodType): string[] {
  const schema = z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' });
  const parts = [schema, ...(schema.anyOf ?? []), ...(schema.allOf ?? [])];
  return [
    ...new Set(
      parts.flatMap((part) => Object.keys((part as z.core.JSONSchema.JSONSchema).properties ?? {})),
    ),
  ];
}

describe('no body within the caps costs much more than reading it', () => {
  let world: World;
  let ids: Possessions;
  let agentKey: string;
  let idling: number;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  beforeAll(async () => {
    world = await startWorld({
      ...possessionSettings,
      RATE_PUBLIC_PER_MINUTE: '0',
      APPROVALS_OPEN_PER_REQUESTER: '10000',
      APPROVALS_OPEN_PER_SUBTREE: '10000',
      APPROVALS_RAISED_PER_HOUR: '10000',
      RATE_REGISTER_PER_HOUR: '0',
    });
    ({ ids, agentKey } = await possess(world, world.admin));
    idling = await measureIdling();
  });
  afterAll(async () => {
    agent.destroy();
    await world[Symbol.asyncDispose]();
  });

  const targetOf = ({ method, path, access }: EntryPoint) => {
    const named = kindsIn(path).reduce(
      (text, { param, kind }) => text.replace(param, encodeURIComponent(ids[kind])),
      path.replace(versionParameter, '1'),
    );
    const { origin } = new URL(world.url);
    const credentials =
      access === 'user'
        ? { cookie: world.admin.cookie, origin }
        : { authorization: `Bearer ${agentKey}` };
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(access === 'public' ? {} : credentials),
    };
    return { url: `${world.url}${named}`, method, headers, agent };
  };

  test.for(entryPoints.map((entry) => [entry.name, entry] as const))(
    '%s',
    { timeout: 600_000 },
    async ([, entry]) => {
      const valid = JSON.parse(
        JSON.stringify(entry.valid)
          .replaceAll('SERVICE', ids.service)
          .replaceAll('UPSTREAM', world.upstream.url),
      );
      const target = targetOf(entry);
      const [before, behind] = entry.around ?? ['', ''];
      const whole = (text: string) => `${before}${text}${behind}`;
      const smallest = await costOf(target, whole(JSON.stringify(valid)), { runs: 5, idling });
      const dear: string[] = [];
      for (const { what, text: part } of shapesOf(valid, entry.properties)) {
        const text = whole(part);
        const bytes = Buffer.from(text);
        const parsing = cpuMsOf(() => JSON.parse(bytes.toString()));
        const allowed = smallest.ms + slackMs + readersMax * 20 * parsing;
        // Only what looks dear once is looked at again.
        let { ms, status } = await costOf(target, text, { runs: 1, idling });
        for (let again = 0; again < 3 && ms > allowed; again += 1) {
          const more = await costOf(target, text, { runs: 4, idling });
          ({ status } = more);
          ms = Math.min(ms, more.ms);
        }
        if (ms > allowed || status >= 500) {
          dear.push(`${what}: ${ms.toFixed(1)} ms, ${allowed.toFixed(1)} allowed, ${status}`);
        }
      }

      expect(dear).toEqual([]);
    },
  );
});
