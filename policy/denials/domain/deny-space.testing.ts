import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { HttpMethod, JsonValue } from '#contracts/vocabulary';
import { actionKey, compilePattern, httpKey, secretKey } from '#permission-key';
import { actionOf, paramOf, templateOf } from '../../action.testing.ts';
import { isDenied, modelHost } from './deny-model.testing.ts';
import type { ModelOperation, ModelRequest, ModelService } from './deny-model.testing.ts';
import {
  listAddressNames,
  listAliasKeys,
  namesOf,
  neighbourNames,
  listOwnNames,
} from './deny-names.ts';
import type { Neighbour, RatedName } from './deny-names.ts';
import { couldDeny, deniesKey } from './deny-patterns.ts';
import { compileParamCheck } from './param-check.ts';

/** The values that the arguments of the services below may have. */
const letters = /^[a-z]+$/;
const offeredServices: readonly ModelService[] = [
  {
    name: 'org/a',
    template: 'at',
    writtenBy: 'us',
    operations: [
      { name: 'get', method: 'GET', path: '/x/{id}', argument: 'path', schema: letters },
      { name: 'wipe', method: 'DELETE', path: '/x/{id}', argument: 'path', schema: letters },
      { name: 'send', method: 'POST', path: '/send', argument: 'body to' },
      { name: 'find', method: 'GET', path: '/find', argument: 'query q', schema: letters },
    ],
  },
  {
    name: 'b',
    template: 'b',
    writtenBy: 'us',
    operations: [{ name: 'look', method: 'GET', path: '/y/{id}', argument: 'path' }],
  },
  {
    name: 'own',
    template: 'own',
    writtenBy: 'member',
    operations: [
      { name: 'mine', method: 'GET', path: '/z/{id}', argument: 'path' },
      { name: 'ask', method: 'POST', path: '/graphql' },
    ],
  },
  {
    name: 'graph',
    template: 'graph',
    writtenBy: 'admin',
    operations: [
      { name: 'query', method: 'POST', path: '/graphql', carriesOtherOperations: true },
      { name: 'plain', method: 'POST', path: '/plain' },
    ],
  },
  {
    name: 'tools',
    template: 'tools',
    writtenBy: 'admin',
    endpoint: '/mcp',
    operations: [{ name: 'say', method: 'POST', path: '/mcp' }],
  },
];

const emptyParts = { query: {}, body: null };
const paths = [
  '/x/s',
  '/x/S',
  '/X/s',
  '/x/t',
  '/x/s.git',
  '/x/s%20',
  '/x/0',
  '/x/s/u',
  '/y/s.json',
  '/y/%EF%BD%93',
  '/find.json',
  '/y/s',
  '/Y/s',
  '/z/s',
  '/nowhere',
  '/graphql',
  '/plain',
  '/send',
  '/find',
  '/mcp',
];
const rawRequests: readonly ModelRequest[] = [
  ...['GET', 'HEAD', 'POST', 'DELETE'].flatMap((method) =>
    paths.map((path) => ({ method, path, ...emptyParts })),
  ),
  ...[
    { q: 's' },
    { q: 'S' },
    { Q: 's' },
    { q: 't' },
    { q: '0' },
    { q: ['t', 's'] },
    { r: 's' },
  ].map((query) => ({ ...emptyParts, method: 'GET', path: '/find', query })),
  ...[{ to: 's' }, { to: ' S ' }, { TO: 's' }, { to: 't,s' }, { to: ['t', 's'] }, { to: 't' }].map(
    (body) => ({ ...emptyParts, method: 'POST', path: '/send', body }),
  ),
  { query: { to: 's' }, body: { to: 't' }, method: 'POST', path: '/send' },
  { query: { q: 't' }, body: { q: 's' }, method: 'GET', path: '/find' },
];

/** Calls of every operation of a service, with and without its argument. */
function actionCallsOf(service: ModelService): ModelRequest[] {
  return service.operations.flatMap(({ name, method, path, argument }): ModelRequest[] => {
    const createCall = (arg: string | undefined): ModelRequest => ({
      method,
      path: path.replace('{id}', arg ?? 's'),
      query: argument === 'query q' && arg !== undefined ? { q: arg } : {},
      body: argument === 'body to' && arg !== undefined ? { to: arg } : null,
      action: { service, name, ...(arg === undefined ? {} : { arg }) },
      secret: service.name.startsWith('org/') ? 'org/k' : 'k',
    });
    if (argument === undefined) return [createCall(undefined)];
    return [
      ...['s', 't', 't,s'].map(createCall),
      ...(argument === 'path' ? [] : [createCall(undefined)]),
    ].filter(({ action }) => argument === 'body to' || action?.arg !== 't,s');
  });
}

const patterns: readonly string[] = [
  ...offeredServices.flatMap((service) =>
    [service.name, service.name.replace('org/', ''), service.template].flatMap((name) => [
      `${name}:*:*`,
      ...service.operations.flatMap((operation) =>
        ['*', 's', 'S', 's*'].map((arg) => `${name}:${operation.name}:${arg}`),
      ),
      `${name}:unheard:*`,
    ]),
  ),
  '*:*:*',
  '*:get:s',
  'http:*:*',
  'http:POST:**',
  `http:GET:${modelHost}/**`,
  `http:GET:${modelHost}/X/s`,
  `http:ANY:${modelHost}/x/*`,
  `http:HEAD:${modelHost}/x/s`,
  'http:ANY:*.example/**',
  'secret:*:*',
  'secret:k:*',
  'secret:org/k:*',
  `secret:*:${modelHost}`,
  'secret:*:other.example',
  `secret:k:${modelHost}`,
];

/**
 * Compares product and model for every set of services, every request and every deny rule. Returns
 * the number of comparisons and describes the first one in which product and model differ.
 */
export function findDenyDisagreement(): { count: number; found: string | undefined } {
  let comparisonCount = 0;
  const compiledPatterns = patterns.map((text) => compilePattern(text, false));
  for (const services of subsetsOf(offeredServices)) {
    const requests = [...rawRequests, ...services.flatMap(actionCallsOf)];
    for (const request of requests) {
      const names = productNamesOf(services, request);
      for (const pattern of compiledPatterns) {
        comparisonCount += 1;
        const found =
          keysOf(request).some((key) => deniesKey(pattern, key)) ||
          names.some((name) => couldDeny(pattern, name));
        const expected = isDenied(services, request, pattern.text);
        if (found === expected) continue;
        const { action, secret: _, ...sent } = request;
        const requestDescription = {
          ...sent,
          action: action && `${action.service.name}:${action.name}`,
        };
        const serviceNames = services.map(({ name }) => name).join(' ');
        const verdict = `the model: ${expected}; the product: ${found}`;
        return {
          count: comparisonCount,
          found: `${serviceNames}; ${JSON.stringify(requestDescription)}; ${pattern.text}; ${verdict}`,
        };
      }
    }
  }
  return { count: comparisonCount, found: undefined };
}

function subsetsOf<Item>(items: readonly Item[]): Item[][] {
  return items.reduce<Item[][]>(
    (all, item) => [...all, ...all.map((each) => [...each, item])],
    [[]],
  );
}

function keysOf({ action, method, path, secret }: ModelRequest) {
  if (action !== undefined) return [actionKey(action.service.name, action.name, action.arg)];
  const ownSecretKeys = secret === undefined ? [] : [secretKey(secret, modelHost)];
  return [httpKey(method, modelHost, path), ...ownSecretKeys];
}

function productNamesOf(services: readonly ModelService[], request: ModelRequest): RatedName[] {
  const { action, path, secret, query, body } = request;
  const method = request.method as HttpMethod;
  const credentials =
    secret === undefined ? [] : [{ kind: 'secret' as const, credentialName: secret }];
  const at = { method, host: modelHost, path, risk: 'read' as const };
  const tool = action?.service.endpoint === undefined ? {} : { tool: action.name };
  const sentRequest = {
    method,
    path,
    ...tool,
    query: query as Record<string, JsonValue>,
    body: body as JsonValue,
  };
  const neighbourNamesFound = neighbourNames(services.map(neighbourOf), sentRequest, {
    risk: 'read',
  });
  if (action === undefined) return [...listAliasKeys(credentials, at), ...neighbourNamesFound];
  const [key] = keysOf(request);
  const ownSecretKeys = listOwnNames(namesOf(action.service.name, action.service.template), {
    action: action.name,
    risk: 'read' as const,
    keyArg: action.arg === undefined ? undefined : key?.arg,
  });
  return [...ownSecretKeys, ...listAddressNames(at, credentials), ...neighbourNamesFound];
}

const neighboursByService = new WeakMap<ModelService, Neighbour>();

function neighbourOf(service: ModelService): Neighbour {
  let knownNeighbour = neighboursByService.get(service);
  if (knownNeighbour !== undefined) return knownNeighbour;
  const template = toTemplate(service);
  const checksByParam = new WeakMap<object, ReturnType<typeof compileParamCheck>>();
  knownNeighbour = {
    names: namesOf(service.name, service.template),
    prefix: '',
    template,
    fits: (param, value) => {
      const check = checksByParam.get(param) ?? compileParamCheck(param.schema);
      checksByParam.set(param, check);
      return check(value);
    },
  };
  neighboursByService.set(service, knownNeighbour);
  return knownNeighbour;
}

function toTemplate({ template, writtenBy, operations, endpoint }: ModelService): CompiledTemplate {
  const tier = writtenBy === 'us' ? 'global' : writtenBy === 'admin' ? 'org' : 'user';
  return templateOf(operations.map(toCompiledAction), {
    key: template,
    tier,
    ...(endpoint === undefined
      ? {}
      : {
          runtime: 'mcp',
          mcp: {
            path: endpoint,
            autodiscover: false,
            overrides: {},
            protocolVersion: null,
            pins: {},
          },
        }),
  });
}

function toCompiledAction(operation: ModelOperation): CompiledAction {
  const { name, method, path, argument, schema, carriesOtherOperations: carriesOthers } = operation;
  const [place, wireName] = (argument ?? '').split(' ');
  const param = paramOf(wireName ?? 'id', (place || 'query') as 'path' | 'query' | 'body', {
    schema: {
      type: ['string', 'array'],
      ...(schema && { pattern: schema.source, items: { type: 'string', pattern: schema.source } }),
    },
  });
  return actionOf(name, {
    method: method as HttpMethod,
    path,
    ...(argument === undefined ? {} : { params: [param], scopeParam: param.name }),
    ...(place === 'body'
      ? { body: { mediaType: 'application/json', wholeBody: false, required: false, parts: {} } }
      : {}),
    ...(carriesOthers === true ? { multiplex: true } : {}),
  });
}
