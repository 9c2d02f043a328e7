import { randomUUID } from 'node:crypto';

import { expect, test } from 'vitest';

import { busContracts, httpRoutes } from '#contracts/all';
import type { EndpointName, RouteName } from '#contracts/all';
import type { RouteSpec } from '#contracts/http/define';
import { endpointsOf } from '#contracts/route-errors';
import { AppError } from '#errors';
import type { Deps } from './deps.ts';
import { createUserPrincipal } from './principals.testing.ts';
import type { RouteHandler, RouteInput } from './http/route-handler.ts';
import { createHandlers } from './handlers.ts';

/**
 * One request, and the answers of the endpoints that it reaches. An endpoint without an answer here
 * returns `{}`.
 */
interface Scenario {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly answers?: Partial<Record<EndpointName, () => unknown>>;
}

const pathName = 'name';
const action = { service: 'github', action: 'create_issue', params: {} };
const suspendedCall = { kind: 'pending', envelope: { approval_id: randomUUID() } };
const permitDecision = {
  'policy.decide': () => ({ outcome: 'permit', permissionKeys: [] }),
} as const;
const person = { proof: null, requester: { id: randomUUID() }, requested_by: { id: randomUUID() } };
const auditPage = { items: [{ user_id: randomUUID() }], rows: [{ user_id: randomUUID() }] };
const connectionCall = { connection: 'google', method: 'GET', url: 'https://example.com/' };
/** Together these scenarios cover every endpoint that a call can use. */
const calls: readonly Scenario[] = [
  { answers: { ...permitDecision, 'executor.execute': () => ({ kind: 'called' }) } },
  {
    // An earlier call with the same idempotency key was suspended, and the caller waits for its
    // decision.
    headers: { prefer: 'wait=1' },
    answers: {
      ...permitDecision,
      'executor.execute': () => ({ kind: 'suspended' }),
      'approvals.resume': () => suspendedCall,
    },
  },
  {
    answers: {
      'policy.decide': () => ({ outcome: 'gap', permissionKeys: [] }),
      'approvals.raise': () => suspendedCall,
    },
  },
];

/** Requests for the routes that would not call all of their endpoints if the body were empty. */
const scenarios: Partial<Record<RouteName, readonly Scenario[]>> = {
  callAction: calls.map((call) => ({ ...call, body: action })),
  callConnection: calls.map((call) => ({ ...call, body: connectionCall })),
  validateAction: [{ body: action }],
  listApprovals: [{ answers: { 'approvals.list': () => ({ items: [person] }) } }],
  getApproval: [{ answers: { 'approvals.get': () => person } }],
  cancelApproval: [{ answers: { 'approvals.cancel': () => person } }],
  callApproval: [{ answers: { 'approvals.run': () => person } }],
  createRequest: [{ answers: { 'executor.createRequest': () => ({ request: person }) } }],
  listRequests: [{ answers: { 'executor.listRequests': () => ({ items: [person] }) } }],
  getRequest: [{ answers: { 'executor.getRequest': () => person } }],
  declineRequest: [{ answers: { 'executor.declineRequest': () => person } }],
  cancelRequest: [{ answers: { 'executor.cancelRequest': () => person } }],
  getSecretRequest: [{ answers: { 'executor.getSecretRequest': () => person } }],
  listAudit: [{ answers: { 'audit.list': () => auditPage } }],
  getAudit: [{ answers: { 'audit.get': () => auditPage } }],
  createService: [{ body: { base_url: 'https://api.example.com' } }],
  upgradeService: [
    {
      answers: {
        'registry.upgradeService': () => ({
          difference: { actions: { removed: ['list_notes'], changed: [] } },
          service: { name: pathName, tier: 'user' },
        }),
      },
    },
  ],
  publishTemplate: [
    {},
    {
      answers: {
        'policy.recordTemplate': () => {
          throw new AppError('not_found', 'There is no such template.');
        },
      },
    },
  ],
  resolveApproval: [
    {
      body: { resolution: 'allow' },
      answers: {
        'approvals.get': () => ({
          id: pathName,
          status: 'pending',
          proof: {},
          request: {},
          suggested_tiers: [],
        }),
        'approvals.resolve': () => person,
      },
    },
  ],
};

test.for(Object.entries<RouteSpec>(httpRoutes))(
  'the handler of the route %s calls exactly the bus endpoints that its contract names',
  async ([name, spec]) => {
    const requestedSubjects = new Set<string>();
    for (const scenario of scenarios[name as RouteName] ?? [{}]) {
      const handlers = createHandlers(
        depsOf({ recordedSubjects: requestedSubjects, answers: scenario.answers ?? {} }),
      );
      const handler = handlers[name as RouteName] as unknown as RouteHandler<RouteSpec>;
      // This test only checks which endpoints are called; the handler may fail on the answer `{}`.
      await handler(inputOf(scenario)).catch(() => undefined);
    }
    expect([...requestedSubjects].toSorted()).toEqual(endpointsOf(spec).toSorted());
  },
);

function inputOf({ body = {}, headers = {} }: Scenario): RouteInput<RouteSpec> {
  const claims = createUserPrincipal('admin');
  const caller = { principal: 'signed', claims };
  const input = {
    params: new Proxy({}, { get: () => pathName }),
    query: {},
    body,
    caller,
    credential: { kind: 'session', token: 'token' },
    authenticate: async () => caller,
    headers,
    context: { requestId: 'r1', traceId: null, ip: '192.0.2.1' },
    deadline: { signal: new AbortController().signal, remainingMs: () => 1000 },
    signal: new AbortController().signal,
  };
  return input as unknown as RouteInput<RouteSpec>;
}

function depsOf({
  recordedSubjects: asked,
  answers,
}: {
  recordedSubjects: Set<string>;
  answers: Partial<Record<EndpointName, () => unknown>>;
}): Deps {
  const componentClients = Object.entries(busContracts).map(([component, { endpoints }]) => {
    const methods = Object.keys(endpoints).map((endpoint) => {
      const name = `${component}.${endpoint}` as EndpointName;
      const askHandler = async () => {
        asked.add(name);
        return answers[name]?.() ?? {};
      };
      return [endpoint, askHandler] as const;
    });
    return [component, Object.fromEntries(methods)] as const;
  });
  const largestNumber = Number.MAX_SAFE_INTEGER;
  const deps = {
    ...Object.fromEntries(componentClients),
    authenticator: { forget: () => undefined },
    cards: { holds: () => true },
    files: { read: () => undefined },
    publisher: { publish: async () => undefined },
    refusals: { record: async () => undefined },
    auditShare: { assertRoom: () => undefined, count: () => undefined },
    feed: { subscribe: () => ({ [Symbol.dispose]: () => undefined }) },
    announceDisconnect: () => undefined,
    reportCall: () => undefined,
    executors: {
      follow: () => ({
        untilSilent: () => new Promise(() => undefined),
        [Symbol.dispose]: () => undefined,
      }),
    },
    secondExecutions: { count: () => undefined, spend: () => false },
    limits: {
      depthMax: largestNumber,
      valuesMax: largestNumber,
      itemsMax: largestNumber,
      namesMax: largestNumber,
      nameCharactersMax: largestNumber,
      pathCharactersMax: largestNumber,
      queryValuesMax: largestNumber,
    },
    site: () => ({ baseUrl: 'https://gateway.example', cookieName: 'session' }),
    // The gateway is stopping, so a waiting call reads its approval once and then ends.
    stopping: AbortSignal.abort(),
    logger: { warn: () => undefined },
  };
  return deps as unknown as Deps;
}
