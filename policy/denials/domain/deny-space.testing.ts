import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { HttpMethod } from '#contracts/vocabulary';
import { actionKey, compilePattern, httpKey, secretKey } from '#permission-key';
import { actionOf, paramOf, templateOf } from '../../action.testing.ts';
import { isDenied, modelHost } from './deny-model.testing.ts';
import type { ModelOperation, ModelRequest, ModelService } from './deny-model.testing.ts';
import { listActionNames, listAddressNames, listAliasKeys, namesOf } from './deny-names.ts';
import type { RatedName } from './deny-names.ts';
import { couldDeny, deniesKey } from './deny-patterns.ts';
import { isJudgedAsRequest } from './judged-as-request.ts';
import { listRequestNames } from './request-names.ts';
import type { Neighbour } from './request-names.ts';

const offeredServices: readonly ModelService[] = [
  {
    name: 'org/a',
    template: 'at',
    writtenBy: 'us',
    operations: [
      { name: 'get', method: 'GET', path: '/x/{id}', hasArgument: true },
      { name: 'wipe', method: 'DELETE', path: '/x/{id}', hasArgument: true },
      { name: 'send', method: 'POST', path: '/send', hasArgument: true },
      { name: 'find', method: 'GET', path: '/find', hasArgument: true },
      { name: 'self', method: 'GET', path: '/x/self' },
    ],
  },
  {
    name: 'b',
    template: 'b',
    writtenBy: 'us',
    operations: [{ name: 'look', method: 'GET', path: '/y/{id}', hasArgument: true }],
  },
  {
    name: 'own',
    template: 'own',
    writtenBy: 'member',
    operations: [
      { name: 'mine', method: 'GET', path: '/z/{id}', hasArgument: true },
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

const paths = [
  '/x/s',
  '/x/S',
  '/X/s',
  '/x/t',
  '/x/s.git',
  '/x/s%20',
  '/x/self',
  '/x/self.json',
  '/x/selfish',
  '/x/a,self:',
  '/x/s/',
  '//x/s',
  '/x/s;v=1',
  '/x/s.',
  '/x/%2573',
  '/x/s/u',
  '/x/s/..%20/u',
  '/y/s;v=1',
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
const rawRequests: readonly ModelRequest[] = ['GET', 'HEAD', 'POST', 'DELETE'].flatMap((method) =>
  paths.map((path) => ({ method, path })),
);

/** Calls of every operation of a service, with and without its argument. */
function actionCallsOf(service: ModelService): ModelRequest[] {
  return service.operations.flatMap(({ name, method, path, hasArgument }): ModelRequest[] => {
    const createCall = (arg: string | undefined): ModelRequest => ({
      method,
      path: path.replace('{id}', arg?.trim() ?? 's'),
      action: { service, name, ...(arg === undefined ? {} : { arg }) },
      secret: service.name.startsWith('org/') ? 'org/k' : 'k',
    });
    if (hasArgument !== true) return [createCall(undefined)];
    const isInPath = path.includes('{id}');
    return [
      ...['s', 'S', ' s ', 't'].map(createCall),
      ...(isInPath ? [] : [createCall(undefined)]),
    ];
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
  `http:ANY:${modelHost}/y`,
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
  const { action, path, secret } = request;
  const method = request.method as HttpMethod;
  const credentials =
    secret === undefined ? [] : [{ kind: 'secret' as const, credentialName: secret }];
  const at = { method, host: modelHost, path, risk: 'read' as const };
  const tool = action?.service.endpoint === undefined ? {} : { tool: action.name };
  const others = services.filter(({ template }) => template !== action?.service.template);
  const listNames = () =>
    listRequestNames(others.map(neighbourOf), { method, path, ...tool }, { risk: 'read' });
  if (action === undefined) return [...listAliasKeys(credentials, at), ...listNames()];
  const ownNames = listActionNames(namesOf(action.service.name, action.service.template), {
    action: action.name,
    risk: 'read' as const,
    keys: keysOf(request),
  });
  const template = neighbourOf(action.service).template;
  const calledAction = Object.values(template.actions).find(({ key }) => key === action.name);
  const isRequest = isJudgedAsRequest(template, calledAction ?? {});
  return [...ownNames, ...listAddressNames(at, credentials), ...(isRequest ? listNames() : [])];
}

const neighboursByService = new WeakMap<ModelService, Neighbour>();

function neighbourOf(service: ModelService): Neighbour {
  let knownNeighbour = neighboursByService.get(service);
  if (knownNeighbour !== undefined) return knownNeighbour;
  const template = toTemplate(service);
  knownNeighbour = {
    names: namesOf(service.name, service.template),
    isConnected: true,
    template,
    places: [{ prefix: '', template }],
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
  const { name, method, path, hasArgument, carriesOtherOperations: carriesOthers } = operation;
  const param = paramOf('id', path.includes('{id}') ? 'path' : 'query');
  return actionOf(name, {
    method: method as HttpMethod,
    path,
    ...(hasArgument === true ? { params: [param], scopeParam: param.name } : {}),
    ...(carriesOthers === true ? { multiplex: true } : {}),
  });
}
