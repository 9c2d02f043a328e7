import { z } from 'zod';

import { httpRoutes } from '#contracts/all';
import type { RouteName } from '#contracts/all';
import type { RouteSpec } from '#contracts/http/define';
import { bodiesByRoute } from '../e2e/idor/possessions.ts';
import { templateDocument } from '../support/template.ts';
import { runPlaceholder } from './send.ts';
import { bodiesOf, hostileHeaders, parameterInputsOf } from './shapes.ts';
import type { BodySpec, FittingValues, ExpensiveInput } from './shapes.ts';

/**
 * An endpoint that takes input: the smallest request that it accepts (`valid`), and requests that
 * are meant to be expensive (`shapes`).
 */
export interface EntryPoint {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly caller: 'nobody' | 'agent' | 'admin';
  readonly contentType?: string;
  readonly valid: ExpensiveInput;
  /** Generates the requests one by one, because all of them together would need too much memory. */
  shapes(): Iterable<ExpensiveInput>;
}

/**
 * The sizes of the generated bodies. They are slightly below the limits of a whole body, because
 * the body has other members too.
 */
const bodyBytesMax = 1_040_000;
const mcpBytesMax = 260_000;
const publicBytesMax = 8_000;
const oauthBytesMax = 16_000;
const formBytesMax = 16_000;
const queryCharactersMax = 12_000;
const runNumberText = runPlaceholder;

/**
 * A small valid body for each route that takes a body. The test replaces words in capitals by the
 * ids of existing resources.
 */
const smallestBodies: Partial<Record<RouteName, Readonly<Record<string, unknown>>>> = {
  ...(bodiesByRoute as object),
  createAgent: { name: `agent_${runNumberText}` },
  createSubagent: { name: `sub_${runNumberText}` },
  createUser: { email: `u${runNumberText}@budget.example`, role: 'member' },
  inviteUser: { email: `i${runNumberText}@budget.example`, role: 'member' },
  changeProfile: { checklist: 'open' },
  changeOrg: { durable_read_audit: false },
  signIn: { email: 'a@b.example', password: 'CANARY-wrong' },
  createSecret: { name: `secret_${runNumberText}`, value: 'CANARY-budget' },
  requestSecret: { name: `asked_${runNumberText}` },
  createConnection: { provider: 'github' },
  createRequest: { kind: 'service', template: 'github', name: `wanted_${runNumberText}` },
  createService: { template: 'sendgrid', name: `service_${runNumberText}` },
  createTemplate: { openapi: templateDocument(`tpl_${runNumberText}`) },
  validateTemplate: { openapi: templateDocument(`tpl_${runNumberText}`) },
  importTemplate: { source: { document: templateDocument(`imported_${runNumberText}`) } },
  startUpload: { text: 'openapi: 3.1.0' },
  callAction: { service: 'SERVICE', action: 'list_verified_senders' },
  validateAction: { service: 'SERVICE', action: 'list_verified_senders' },
  callConnection: { connection: 'github', method: 'GET', url: 'UPSTREAM/waits' },
  createRule: {
    identity_id: null,
    effect: 'deny',
    pattern: `http:DELETE:h${runNumberText}.example.com/**`,
  },
  createWebhook: { url: 'UPSTREAM/hook' },
};

function createJsonEntry(
  entry: Pick<EntryPoint, 'name' | 'method' | 'path' | 'caller'>,
  body: BodySpec,
  others: Iterable<ExpensiveInput> = [],
): EntryPoint {
  const [before, behind] = body.around ?? ['', ''];
  return {
    ...entry,
    contentType: 'application/json',
    valid: { what: 'valid', body: `${before}${JSON.stringify(body.valid)}${behind}` },
    *shapes() {
      yield* bodiesOf(body);
      yield* others;
    },
  };
}

const routeEntries = Object.entries(httpRoutes) as [RouteName, RouteSpec][];

/**
 * The caller of a route. Routes for calls and for creating subagents are called by an agent, public
 * routes by nobody, and all others by the admin, who has the most rights.
 */
function callerOf(name: RouteName, { access }: RouteSpec): EntryPoint['caller'] {
  if (access === 'public') return 'nobody';
  const isForAgents = access.startsWith('actions') || name === 'createSubagent';
  return isForAgents ? 'agent' : 'admin';
}

const bodyEntries: EntryPoint[] = routeEntries.flatMap(([name, spec]) => {
  const { method, path, access, body } = spec;
  if (body === undefined) return [];
  const bodySpec: BodySpec = {
    valid: smallestBodies[name] ?? {},
    properties: propertiesOf(body),
    bytesMax: access === 'public' ? publicBytesMax : bodyBytesMax,
  };
  return [createJsonEntry({ name, method, path, caller: callerOf(name, spec) }, bodySpec)];
});

/**
 * The routes that get hostile headers. The gateway parses headers before it knows the route. So one
 * public route and one route that needs a credential are enough.
 */
const routesWithHostileHeaders = new Set<RouteName>(['getLive', 'getMe']);
/**
 * GET requests with long queries. Every route parses its query, even a route that accepts no
 * parameters.
 */
const queryEntries: EntryPoint[] = routeEntries.flatMap(([name, spec]) => {
  const { method, path, query, body } = spec;
  if (method !== 'GET' || body !== undefined) return [];
  const names = query === undefined ? [] : propertiesOf(query);
  return [
    {
      name,
      method,
      path,
      caller: callerOf(name, spec),
      valid: { what: 'valid', query: '' },
      *shapes() {
        for (const [what, text] of parameterInputsOf(names, queryCharactersMax))
          yield { what, query: text };
        if (routesWithHostileHeaders.has(name)) yield* hostileHeaders;
      },
    },
  ];
});

const callRoute = { method: 'POST', path: '/v1/actions/call', caller: 'agent' } as const;
const dryRunRoute = { method: 'POST', path: '/v1/actions/validate', caller: 'agent' } as const;
const mailParams = {
  from: { email: 'a@budget.example' },
  subject: `run ${runNumberText}`,
  personalizations: [{ to: [{ email: 'b@budget.example' }] }],
  content: [{ type: 'text/plain', value: 'x' }],
};
const repeatItem = (item: string, count: number) => Array<string>(count).fill(item).join();
const addressJson = '{"email":"a@b.example"}';
/** Large values that match the schemas of `send_email`, and values that almost match them. */
const mailFitting: FittingValues = {
  personalizations: [
    ['many recipients', `[{"to":[${repeatItem(addressJson, 9_800)}]}]`],
    ['many messages', `[${repeatItem(`{"to":[${addressJson}]}`, 1_000)}]`],
    ['too many messages', `[${repeatItem(`{"to":[${addressJson}]}`, 4_900)}]`],
    ['wrong recipients', `[{"to":[${repeatItem('{"email":0}', 9_800)}]}]`],
    ['unknown names', `[${repeatItem('{"too":[]}', 9_800)}]`],
    [
      'template values',
      `[{"to":[${addressJson}],"dynamic_template_data":[${repeatItem('0', 19_000)}]}]`,
    ],
  ],
  content: [
    [
      'a long text',
      `[{"type":"text/plain","value":"${'é"\\'.replace('"\\', '\\"').repeat(200_000)}"}]`,
    ],
  ],
  categories: [['too many', `[${repeatItem('"c"', 20_000)}]`]],
  attachments: [
    ['a long file', `[{"content":"${'QUJD'.repeat(250_000)}","filename":"a"}]`],
    ['too many', `[${repeatItem('{"content":"QQ==","filename":"a"}', 4_900)}]`],
  ],
};
const placeParams = { list: 'a', item: 'b', name: `run ${runNumberText}` };
const numbersText = Array.from({ length: 20_000 }, (_, at) => at).join();
const placeFitting: FittingValues = {
  list: [['segments', JSON.stringify('a/'.repeat(4_000))]],
  code: [['letters and one that is not', JSON.stringify(`${'a'.repeat(40)}!`)]],
  numbers: [['all different', `[${numbersText}]`]],
  people: [
    ['people', `[${repeatItem('{"email":"a@b.example","kind":"cc"}', 4_900)}]`],
    ['wrong people', `[${repeatItem('{"email":"@","kind":"no"}', 4_900)}]`],
  ],
  choice: [['none of the choices', `[${repeatItem('"ab"', 20_000)}]`]],
};
const frameOfParams = (service: string, action: string) =>
  [`{"service":"${service}","action":"${action}","params":`, '}'] as const;
const paramsWithTexts = (params: object) =>
  JSON.stringify({ ...params, texts: Array(10_000).fill('x') });

/**
 * Large parameters of calls. The schemas, the disclose filters, the approval cards and the audit
 * log have to handle them.
 */
const callEntries: EntryPoint[] = [
  ...([callRoute, dryRunRoute] as const).flatMap((route, at) => [
    createJsonEntry(
      { name: `${at === 0 ? 'call' : 'dry run'} of send_email`, ...route },
      {
        valid: mailParams,
        properties: ['personalizations', 'from', 'subject', 'content', 'categories', 'attachments'],
        bytesMax: bodyBytesMax,
        around: frameOfParams('SERVICE', 'send_email'),
        fitting: mailFitting,
      },
    ),
    createJsonEntry(
      { name: `${at === 0 ? 'call' : 'dry run'} of an own template`, ...route },
      {
        valid: placeParams,
        properties: [
          'list',
          'tags',
          'name',
          'code',
          'texts',
          'numbers',
          'rows',
          'people',
          'map',
          'choice',
          'anything',
        ],
        bytesMax: bodyBytesMax,
        around: frameOfParams('OWN', 'put_item'),
        fitting: placeFitting,
      },
    ),
    createJsonEntry(
      { name: `${at === 0 ? 'call' : 'dry run'} with method and path`, ...route },
      {
        valid: { service: 'OWN', method: 'POST', path: `/lists/a/items/${runNumberText}` },
        properties: ['path', 'query', 'headers', 'body', 'secrets'],
        bytesMax: bodyBytesMax,
        fitting: {
          path: [
            ['segments', JSON.stringify('/a'.repeat(4_000))],
            ['a query', JSON.stringify(`/lists/a?${'a=b&'.repeat(2_000)}`)],
            ['dots', JSON.stringify(`/lists/${'%2e%2e/'.repeat(1_100)}`)],
          ],
          body: [
            [
              'what an own template takes',
              JSON.stringify({ ...placeParams, texts: Array(19_000).fill('x') }),
            ],
            ['a form', JSON.stringify('a[b]=c&'.repeat(100_000))],
          ],
        },
      },
    ),
  ]),
  createJsonEntry(
    { name: 'call with params as a text', ...callRoute },
    {
      valid: {
        service: 'OWN',
        action: 'put_item',
        params: paramsWithTexts({ list: 'a', item: 'b', name: '' }),
      },
      properties: ['params'],
      bytesMax: bodyBytesMax,
      fitting: {
        params: [
          [
            'texts',
            JSON.stringify(JSON.stringify({ ...placeParams, texts: Array(19_000).fill('x') })),
          ],
          [
            'people',
            JSON.stringify(
              `{"list":"a","item":"b","name":"","people":[${repeatItem(addressJson, 9_000)}]}`,
            ),
          ],
        ],
      },
    },
  ),
  createJsonEntry(
    { name: 'raw call', ...callRoute },
    {
      valid: { service: 'http', method: 'POST', url: `UPSTREAM/waits?run=${runNumberText}` },
      properties: ['url', 'query', 'headers', 'body', 'secrets'],
      bytesMax: bodyBytesMax,
      fitting: {
        url: [
          ['segments', JSON.stringify(`UPSTREAM${'/a'.repeat(4_000)}`)],
          ['a query', JSON.stringify(`UPSTREAM/waits?${'a=b&'.repeat(2_000)}`)],
        ],
      },
    },
    hostileHeaders,
  ),
];

const mcpRoute = { method: 'POST', path: '/mcp', caller: 'agent' } as const;
const createToolCall = (name: string, args: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: args },
});
const frameOfToolArgument = (tool: string, behind = '') =>
  [
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}","arguments":`,
    `${behind}}}`,
  ] as const;
const mcpEntries: EntryPoint[] = [
  createJsonEntry(
    { name: 'MCP messages', ...mcpRoute },
    {
      valid: createToolCall('service_search', { query: 'send' }),
      properties: ['params', 'method', 'id'],
      bytesMax: mcpBytesMax,
    },
  ),
  createJsonEntry(
    { name: 'MCP initialize', ...mcpRoute },
    {
      valid: {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'a', version: '1' },
      },
      properties: ['capabilities', 'clientInfo', 'protocolVersion'],
      bytesMax: mcpBytesMax,
      around: ['{"jsonrpc":"2.0","id":1,"method":"initialize","params":', '}'],
    },
  ),
  ...(
    [
      ['service_search', { query: 'send' }, ['query', 'service', 'limit']],
      [
        'service_read',
        { service: 'OWN', action: 'get_list', params: { list: 'a' } },
        ['params', 'filter'],
      ],
      [
        'service_call',
        { service: 'SERVICE', action: 'send_email', params: mailParams },
        ['params', 'service'],
      ],
      [
        'service_approve',
        { approval_id: 'APPROVAL', resolution: 'deny' },
        ['approval_id', 'reason'],
      ],
      ['service_auth', { operation: 'service_status' }, ['operation', 'service']],
    ] as const
  ).map(([tool, valid, properties]) =>
    createJsonEntry(
      { name: `MCP ${tool}`, ...mcpRoute },
      { valid, properties, bytesMax: mcpBytesMax, around: frameOfToolArgument(tool) },
    ),
  ),
  createJsonEntry(
    { name: 'MCP service_call of an own template', ...mcpRoute },
    {
      valid: placeParams,
      properties: ['list', 'texts', 'people', 'map', 'anything'],
      bytesMax: mcpBytesMax,
      around: [
        `${frameOfToolArgument('service_call')[0]}{"service":"OWN","action":"put_item","params":`,
        '}}}',
      ],
    },
  ),
];

const registration = {
  redirect_uris: ['http://127.0.0.1/cb'],
  client_name: `budget ${runNumberText}`,
};
const formContentType = 'application/x-www-form-urlencoded';
function createFormEntry(
  entry: Pick<EntryPoint, 'name' | 'method' | 'path' | 'caller'>,
  valid: Readonly<Record<string, string>>,
  bytesMax: number,
): EntryPoint {
  const wholeForm = new URLSearchParams(valid).toString();
  return {
    ...entry,
    contentType: formContentType,
    valid: { what: 'valid', body: wholeForm },
    *shapes() {
      for (const [what, text] of parameterInputsOf(
        Object.keys(valid),
        bytesMax - wholeForm.length,
      )) {
        yield { what, body: `${wholeForm}&${text}` };
        yield { what: `${what} alone`, body: text };
      }
    },
  };
}

const publicPostRoute = { method: 'POST', caller: 'nobody' } as const;
const clientParams = { client_id: 'CLIENT', redirect_uri: 'http://127.0.0.1/cb' };
const authorizationQuery = {
  ...clientParams,
  response_type: 'code',
  code_challenge_method: 'S256',
  state: 'x',
  scope: 'mcp',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
};
const oauthEntries: EntryPoint[] = [
  createJsonEntry(
    { name: '/oauth/register', path: '/oauth/register', ...publicPostRoute },
    {
      valid: registration,
      properties: ['redirect_uris', 'client_name', 'grant_types', 'scope', 'client_uri', 'jwks'],
      bytesMax: oauthBytesMax,
    },
  ),
  ...(
    [
      [
        '/oauth/token',
        {
          grant_type: 'authorization_code',
          code: 'x',
          code_verifier: 'x'.repeat(43),
          ...clientParams,
        },
      ],
      ['/oauth/token', { grant_type: 'refresh_token', refresh_token: 'x', ...clientParams }],
      ['/oauth/revoke', { token: 'x', client_id: clientParams.client_id }],
      ['/oauth/consent', { flow: 'x', decision: 'allow' }],
    ] as const
  ).map(([path, valid]) =>
    createFormEntry(
      {
        name: `${path} as a form with ${Object.keys(valid)[0]}${'code' in valid ? ' and code' : ''}`,
        path,
        ...publicPostRoute,
      },
      valid,
      oauthBytesMax,
    ),
  ),
  ...['/oauth/token', '/oauth/revoke'].map((path) =>
    createJsonEntry(
      { name: `${path} as JSON`, path, ...publicPostRoute },
      {
        valid: { token: 'x', ...clientParams },
        properties: ['token', 'client_id'],
        bytesMax: oauthBytesMax,
      },
    ),
  ),
  {
    name: '/oauth/authorize',
    method: 'GET',
    path: '/oauth/authorize',
    caller: 'nobody',
    valid: { what: 'valid', query: new URLSearchParams(authorizationQuery).toString() },
    *shapes() {
      const wholeForm = new URLSearchParams(authorizationQuery).toString();
      for (const [what, text] of parameterInputsOf(
        Object.keys(authorizationQuery),
        queryCharactersMax,
      )) {
        yield { what, query: `${wholeForm}&${text}` };
        yield { what: `${what} alone`, query: text };
      }
      yield* hostileHeaders;
    },
  },
];
const pageEntries: EntryPoint[] = [
  createFormEntry(
    { name: '/sign-in', path: '/sign-in', ...publicPostRoute },
    { token: 'x' },
    formBytesMax,
  ),
  createFormEntry(
    { name: '/sign-in with a password', path: '/sign-in', ...publicPostRoute },
    { email: 'a@b.example', password: 'CANARY-wrong' },
    formBytesMax,
  ),
];

function propertiesOf(body: z.ZodType): string[] {
  const schema = z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' });
  const parts = [schema, ...(schema.anyOf ?? []), ...(schema.allOf ?? [])];
  return [
    ...new Set(
      parts.flatMap((part) => Object.keys((part as z.core.JSONSchema.JSONSchema).properties ?? {})),
    ),
  ];
}

export const entryPoints: readonly EntryPoint[] = [
  ...bodyEntries,
  ...queryEntries,
  ...callEntries,
  ...mcpEntries,
  ...oauthEntries,
  ...pageEntries,
];
