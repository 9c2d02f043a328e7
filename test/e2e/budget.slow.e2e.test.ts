import { Agent } from 'node:http';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { startSeparateComponents } from '../budget/components.ts';
import type { SeparateComponents } from '../budget/components.ts';
import { entryPoints } from '../budget/entry-points.ts';
import type { EntryPoint } from '../budget/entry-points.ts';
import { measureRequest, measureSmallestRequest } from '../budget/judge.ts';
import { sendRequest } from '../budget/send.ts';
import type { PreparedRequest } from '../budget/send.ts';
import type { ExpensiveInput } from '../budget/shapes.ts';
import { createOwnTemplate } from '../budget/templates.ts';
import {
  kindsIn,
  createPossessions,
  possessionSettings,
  versionParameter,
} from './idor/possessions.ts';
import type { Possessions } from './idor/possessions.ts';
import { createAgent, successfulBodyOf, startWorld, pollUntil } from '../support/world.ts';
import type { World } from '../support/world.ts';

/**
 * `npm run test:budget` sends every expensive request to every entry point. Otherwise this test
 * sends a sample: every n-th request to the entry points in `sampleSteps`.
 */
const isFullRun = process.env['BUDGET'] === 'all';
const entryPointFilter = process.env['BUDGET_ONLY'];
const sampleSteps: Readonly<Record<string, number>> = {
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
const triedEntryPoints = entryPoints.filter(({ name }) =>
  entryPointFilter ? new RegExp(entryPointFilter).test(name) : isFullRun || name in sampleSteps,
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

describe('the CPU time that a component uses for an expensive request within the limits', () => {
  let world: World;
  let separateComponents: SeparateComponents;
  let ids: Possessions;
  let agentKey: string;
  let valueOfPlaceholder: Readonly<Record<string, string>>;
  let probeRequests: readonly PreparedRequest[];
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const probeAgent = new Agent({ keepAlive: true, maxSockets: 2 });
  let answeredCount = 0;
  const unansweredProbes: string[] = [];

  beforeAll(async () => {
    world = await startWorld(
      settings,
      async (environment) => (separateComponents = await startSeparateComponents(environment)),
    );
    const { admin, upstream, url } = world;
    await pollUntil(
      async () => (await admin.get('/v1/status')).body.status === 'ok',
      'every component answers',
    );
    ({ ids, agentKey } = await createPossessions(world, admin));
    const ownKey = successfulBodyOf(
      await admin.post('/v1/templates', { openapi: createOwnTemplate('places', upstream.url) }),
    );
    successfulBodyOf(await admin.post(`/v1/templates/${ownKey.key}/publish`, { version: 1 }));
    successfulBodyOf(
      await admin.post('/v1/secrets', {
        name: 'places_token',
        value: 'CANARY-places',
        allowed_hosts: [upstream.host],
      }),
    );
    successfulBodyOf(
      await admin.post('/v1/services', { template: ownKey.key, name: 'places', tier: 'user' }),
    );
    const client = await sendRequest({
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
    valueOfPlaceholder = {
      SERVICE: ids.service,
      OWN: 'places',
      UPSTREAM: upstream.url,
      APPROVAL: ids.approval,
      CLIENT: JSON.parse(client.text).client_id,
    };
    const other = await createAgent(url, admin, 'other');
    successfulBodyOf(
      await admin.post('/v1/rules', {
        identity_id: other.id,
        effect: 'allow',
        pattern: 'http:GET:**',
      }),
    );
    probeRequests = [
      { method: 'GET', url: `${url}/health/live`, agent: probeAgent, headers: {}, body: '' },
      {
        method: 'POST',
        url: `${url}/v1/actions/call`,
        agent: probeAgent,
        headers: { authorization: `Bearer ${other.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ service: 'http', method: 'GET', url: `${upstream.url}/read` }),
      },
    ];
  }, 600_000);
  afterAll(async () => {
    agent.destroy();
    probeAgent.destroy();
    await world[Symbol.asyncDispose]();
  });

  /**
   * Sends another user's requests. The gateway must answer them while it handles an expensive
   * request.
   */
  const sendProbes = () =>
    Promise.all(
      probeRequests.map(async (probeRequest) => {
        const { status, text } = await sendRequest(probeRequest);
        if (status === 200) answeredCount += 1;
        else unansweredProbes.push(`${probeRequest.url}: ${status} ${text}`);
      }),
    );

  const fillPlaceholders = (text: string) =>
    Object.entries(valueOfPlaceholder).reduce(
      (all, [name, value]) => all.replaceAll(name, value),
      text,
    );
  const sendableOf = (entry: EntryPoint, shape: ExpensiveInput): PreparedRequest => {
    const { method, path, caller, contentType, valid } = entry;
    const filledPath = kindsIn(path).reduce(
      (text, { param, kind }) => text.replace(param, encodeURIComponent(ids[kind])),
      path.replace(versionParameter, '1'),
    );
    const { origin } = new URL(world.url);
    const credentials =
      caller === 'admin'
        ? { cookie: world.admin.cookie, origin }
        : { authorization: `Bearer ${agentKey}` };
    const query = fillPlaceholders(shape.query ?? valid.query ?? '');
    return {
      url: `${world.url}${filledPath}${query === '' ? '' : `?${query}`}`,
      method,
      headers: {
        ...(contentType === undefined ? {} : { 'content-type': contentType }),
        accept: 'application/json, text/event-stream',
        ...(caller === 'nobody' ? { origin } : credentials),
        ...shape.headers,
      },
      body: fillPlaceholders(shape.body ?? valid.body ?? ''),
      agent,
    };
  };

  test.for(triedEntryPoints.map((entry) => [entry.name, entry] as const))(
    'is not much more than parsing the request takes (entry point “%s”)',
    { timeout: 1_200_000 },
    async ([name, entry]) => {
      const smallestReadings = await measureSmallestRequest(
        separateComponents,
        sendableOf(entry, entry.valid),
      );
      const sampleStep = isFullRun ? 1 : (sampleSteps[name] ?? 1);
      const violations: string[] = [];
      let shapeNumber = 0;
      for (const shape of entry.shapes()) {
        shapeNumber += 1;
        if (shapeNumber % sampleStep !== 0) continue;
        const sendable = sendableOf(entry, shape);
        const { status, text, excesses } = await measureRequest(separateComponents, {
          sendable,
          smallest: smallestReadings,
          sendOthers: sendProbes,
        });
        const serverErrors = status >= 500 ? [`${status} ${text}`] : [];
        violations.push(
          ...[...excesses, ...serverErrors].map((sentence) => `${shape.what}: ${sentence}`),
        );
      }
      expect(violations).toEqual([]);
      expect(shapeNumber).toBeGreaterThanOrEqual(sampleStep);
    },
  );

  test('is short enough that health checks and another user’s reads are answered meanwhile', () => {
    expect(unansweredProbes).toEqual([]);
    expect(answeredCount).toBeGreaterThan(0);
  });
});
