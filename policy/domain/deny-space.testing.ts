import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { HttpMethod, JsonValue } from '#contracts/vocabulary';
import { actionKey, compilePattern, httpKey, secretKey } from '#permission-key';
import { actionOf, paramOf, templateOf } from './action.testing.ts';
import { isDenied, modelHost } from './deny-model.testing.ts';
import type { ModelOperation, ModelRequest, ModelService } from './deny-model.testing.ts';
import { addressNames, aliasKeys, namesOf, neighbourNames, ownNames } from './deny-names.ts';
import type { Neighbour, RatedName } from './deny-names.ts';
import { couldDeny, deniesKey } from './deny-patterns.ts';
import { compileParamCheck } from './validate-params.ts';

/** Two built-in APIs and what is around them on one host; each may be there or not. */
const letters = /^[a-z]+$/;
const offered: readonly ModelService[] = [
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
      { name: 'query', method: 'POST', path: '/graphql', carriesOthers: true },
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

const nothing = { query: {}, body: null };
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
const raw: readonly ModelRequest[] = [
  ...['GET', 'HEAD', 'POST', 'DELETE'].flatMap((method) =>
    paths.map((path) => ({ method, path, ...nothing })),
  ),
  ...[
    { q: 's' },
    { q: 'S' },
    { Q: 's' },
    { q: 't' },
    { q: '0' },
    { q: ['t', 's'] },
    { r: 's' },
  ].map((query) => ({ ...nothing, method: 'GET', path: '/find', query })),
  ...[{ to: 's' }, { to: ' S ' }, { TO: 's' }, { to: 't,s' }, { to: ['t', 's'] }, { to: 't' }].map(
    (body) => ({ ...nothing, method: 'POST', path: '/send', body }),
  ),
  { query: { to: 's' }, body: { to: 't' }, method: 'POST', path: '/send' },
  { query: { q: 't' }, body: { q: 's' }, method: 'GET', path: '/find' },
];

/** Through every operation of a service, with its argument and without. */
function actionsOf(service: ModelService): ModelRequest[] {
  return service.operations.flatMap(({ name, method, path, argument }): ModelRequest[] => {
    const call = (arg: string | undefined): ModelRequest => ({
      method,
      path: path.replace('{id}', arg ?? 's'),
      query: argument === 'query q' && arg !== undefined ? { q: arg } : {},
      body: argument === 'body to' && arg !== undefined ? { to: arg } : null,
      action: { service, name, ...(arg === undefined ? {} : { arg }) },
      secret: service.name.startsWith('org/') ? 'org/k' : 'k',
    });
    if (argument === undefined) return [call(undefined)];
    return [
      ...['s', 't', 't,s'].map(call),
      ...(argument === 'path' ? [] : [call(undefined)]),
    ].filter(({ action }) => argument === 'body to' || action?.arg !== 't,s');
  });
}

const patterns: readonly string[] = [
  ...offered.flatMap((service) =>
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

/** Every set of services, every request, every deny rule: the first on which product and model part. */
export function findDenyDisagreement(): { count: number; found: string | undefined } {
  let count = 0;
  const compiled = patterns.map((text) => compilePattern(text, false));
  for (const services of subsets(offered)) {
    const requests = [...raw, ...services.flatMap(actionsOf)];
    for (const request of requests) {
      const names = productNames(services, request);
      for (const pattern of compiled) {
        count += 1;
        const found =
          keysOf(request).some((key) => deniesKey(pattern, key)) ||
          names.some((name) => couldDeny(pattern, name));
        const expected = isDenied(services, request, pattern.text);
        if (found === expected) continue;
        const { action, secret: _, ...sent } = request;
        const told = { ...sent, action: action && `${action.service.name}:${action.name}` };
        const world = services.map(({ name }) => name).join(' ');
        const verdict = `the model: ${expected}; the product: ${found}`;
        return { count, found: `${world}; ${JSON.stringify(told)}; ${pattern.text}; ${verdict}` };
      }
    }
  }
  return { count, found: undefined };
}

function subsets<Item>(items: readonly Item[]): Item[][] {
  return items.reduce<Item[][]>(
    (all, item) => [...all, ...all.map((each) => [...each, item])],
    [[]],
  );
}

function keysOf({ action, method, path, secret }: ModelRequest) {
  if (action !== undefined) return [actionKey(action.service.name, action.name, action.arg)];
  const own = secret === undefined ? [] : [secretKey(secret, modelHost)];
  return [httpKey(method, modelHost, path), ...own];
}

function productNames(services: readonly ModelService[], request: ModelRequest): RatedName[] {
  const { action, path, secret, query, body } = request;
  const method = request.method as HttpMethod;
  const credentials =
    secret === undefined ? [] : [{ kind: 'secret' as const, credentialName: secret }];
  const at = { method, host: modelHost, path, risk: 'read' as const };
  const tool = action?.service.endpoint === undefined ? {} : { tool: action.name };
  const sent = {
    method,
    path,
    ...tool,
    query: query as Record<string, JsonValue>,
    body: body as JsonValue,
  };
  const others = neighbourNames(services.map(neighbourOf), sent, { risk: 'read' });
  if (action === undefined) return [...aliasKeys(credentials, at), ...others];
  const [key] = keysOf(request);
  const own = ownNames(namesOf(action.service.name, action.service.template), {
    action: action.name,
    risk: 'read' as const,
    keyArg: action.arg === undefined ? undefined : key?.arg,
  });
  return [...own, ...addressNames(at, credentials), ...others];
}

const neighbours = new WeakMap<ModelService, Neighbour>();

function neighbourOf(service: ModelService): Neighbour {
  let known = neighbours.get(service);
  if (known !== undefined) return known;
  const template = templateFrom(service);
  const checks = new WeakMap<object, ReturnType<typeof compileParamCheck>>();
  known = {
    names: namesOf(service.name, service.template),
    prefix: '',
    template,
    fits: (param, value) => {
      const check = checks.get(param) ?? compileParamCheck(param.schema);
      checks.set(param, check);
      return check(value);
    },
  };
  neighbours.set(service, known);
  return known;
}

function templateFrom({
  template,
  writtenBy,
  operations,
  endpoint,
}: ModelService): CompiledTemplate {
  const tier = writtenBy === 'us' ? 'global' : writtenBy === 'admin' ? 'org' : 'user';
  return templateOf(operations.map(compiledFrom), {
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

function compiledFrom(operation: ModelOperation): CompiledAction {
  const { name, method, path, argument, schema, carriesOthers } = operation;
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
