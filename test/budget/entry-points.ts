import { z } from 'zod';

import { httpRoutes } from '#contracts/all';
import type { RouteName } from '#contracts/all';
import type { RouteSpec } from '#contracts/http/define';
import { bodies } from '../e2e/idor/possessions.ts';
import { templateDocument } from '../e2e/support/template.ts';
import { runPlaceholder } from './send.ts';
import { bodiesOf, hostileHeaders, pairsOf } from './shapes.ts';
import type { Body, Fitting, Shape } from './shapes.ts';

/** An address that takes input, the smallest request that it accepts, and dear ones. */
export interface EntryPoint {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly asks: 'nobody' | 'agent' | 'admin';
  readonly contentType?: string;
  readonly valid: Shape;
  /** Made when they are sent: together they are large. */
  shapes(): Iterable<Shape>;
}

/** Below each limit on a whole body there is room for what stands around a value. */
const bodyBytesMax = 1_040_000;
const mcpBytesMax = 260_000;
const publicBytesMax = 8_000;
const oauthBytesMax = 16_000;
const formBytesMax = 16_000;
const queryCharactersMax = 12_000;
const run = runPlaceholder;

/** A small valid body for each route that takes one; the capitals are replaced by what exists. */
const smallest: Partial<Record<RouteName, Readonly<Record<string, unknown>>>> = {
  ...(bodies as object),
  createAgent: { name: `agent_${run}` },
  createSubagent: { name: `sub_${run}` },
  createUser: { email: `u${run}@budget.example`, role: 'member' },
  inviteUser: { email: `i${run}@budget.example`, role: 'member' },
  changeOrg: { durable_read_audit: false },
  signIn: { email: 'a@b.example', password: 'CANARY-wrong' },
  createSecret: { name: `secret_${run}`, value: 'CANARY-budget' },
  requestSecret: { name: `asked_${run}` },
  createConnection: { provider: 'github' },
  createService: { template: 'sendgrid', name: `service_${run}` },
  createTemplate: { openapi: templateDocument(`tpl_${run}`) },
  validateTemplate: { openapi: templateDocument(`tpl_${run}`) },
  importTemplate: { source: { document: templateDocument(`imported_${run}`) } },
  startUpload: { text: 'openapi: 3.1.0' },
  callAction: { service: 'SERVICE', action: 'list_verified_senders' },
  validateAction: { service: 'SERVICE', action: 'list_verified_senders' },
  callConnection: { connection: 'github', method: 'GET', url: 'UPSTREAM/waits' },
  createRule: { identity_id: null, effect: 'deny', pattern: `http:DELETE:h${run}.example.com/**` },
  createWebhook: { url: 'UPSTREAM/hook' },
};

function jsonEntry(
  entry: Pick<EntryPoint, 'name' | 'method' | 'path' | 'asks'>,
  body: Body,
  others: Iterable<Shape> = [],
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

/** Those who may do most: agents call, and people do the rest. */
function askerOf(name: RouteName, { access }: RouteSpec): EntryPoint['asks'] {
  if (access === 'public') return 'nobody';
  const isForAgents = access.startsWith('actions') || name === 'createSubagent';
  return isForAgents ? 'agent' : 'admin';
}

const withBodies: EntryPoint[] = routeEntries.flatMap(([name, spec]) => {
  const { method, path, access, body } = spec;
  if (body === undefined) return [];
  const given: Body = {
    valid: smallest[name] ?? {},
    properties: propertiesOf(body),
    bytesMax: access === 'public' ? publicBytesMax : bodyBytesMax,
  };
  return [jsonEntry({ name, method, path, asks: askerOf(name, spec) }, given)];
});

/** Headers are read before it is known which route they are for: a public one stands for all, and one with a caller. */
const headersTriedOn = new Set<RouteName>(['getLive', 'getMe']);
/** Queries, of which every route reads at least that it has none. */
const withoutBodies: EntryPoint[] = routeEntries.flatMap(([name, spec]) => {
  const { method, path, query, body } = spec;
  if (method !== 'GET' || body !== undefined) return [];
  const names = query === undefined ? [] : propertiesOf(query);
  return [
    {
      name,
      method,
      path,
      asks: askerOf(name, spec),
      valid: { what: 'valid', query: '' },
      *shapes() {
        for (const [what, text] of pairsOf(names, queryCharactersMax)) yield { what, query: text };
        if (headersTriedOn.has(name)) yield* hostileHeaders;
      },
    },
  ];
});

const call = { method: 'POST', path: '/v1/actions/call', asks: 'agent' } as const;
const tried = { method: 'POST', path: '/v1/actions/validate', asks: 'agent' } as const;
const mail = {
  from: { email: 'a@budget.example' },
  subject: `run ${run}`,
  personalizations: [{ to: [{ email: 'b@budget.example' }] }],
  content: [{ type: 'text/plain', value: 'x' }],
};
const repeated = (item: string, count: number) => Array<string>(count).fill(item).join();
const address = '{"email":"a@b.example"}';
/** What passes the schemas, or most of them, as long as it can be. */
const mailFitting: Fitting = {
  personalizations: [
    ['many recipients', `[{"to":[${repeated(address, 9_800)}]}]`],
    ['many messages', `[${repeated(`{"to":[${address}]}`, 1_000)}]`],
    ['too many messages', `[${repeated(`{"to":[${address}]}`, 4_900)}]`],
    ['wrong recipients', `[{"to":[${repeated('{"email":0}', 9_800)}]}]`],
    ['unknown names', `[${repeated('{"too":[]}', 9_800)}]`],
    ['template values', `[{"to":[${address}],"dynamic_template_data":[${repeated('0', 19_000)}]}]`],
  ],
  content: [
    [
      'a long text',
      `[{"type":"text/plain","value":"${'é"\\'.replace('"\\', '\\"').repeat(200_000)}"}]`,
    ],
  ],
  categories: [['too many', `[${repeated('"c"', 20_000)}]`]],
  attachments: [
    ['a long file', `[{"content":"${'QUJD'.repeat(250_000)}","filename":"a"}]`],
    ['too many', `[${repeated('{"content":"QQ==","filename":"a"}', 4_900)}]`],
  ],
};
const place = { list: 'a', item: 'b', name: `run ${run}` };
const numbers = Array.from({ length: 20_000 }, (_, at) => at).join();
const placeFitting: Fitting = {
  list: [['segments', JSON.stringify('a/'.repeat(4_000))]],
  code: [['letters and one that is not', JSON.stringify(`${'a'.repeat(40)}!`)]],
  numbers: [['all different', `[${numbers}]`]],
  people: [
    ['people', `[${repeated('{"email":"a@b.example","kind":"cc"}', 4_900)}]`],
    ['wrong people', `[${repeated('{"email":"@","kind":"no"}', 4_900)}]`],
  ],
  choice: [['none of the choices', `[${repeated('"ab"', 20_000)}]`]],
};
const inParams = (service: string, action: string) =>
  [`{"service":"${service}","action":"${action}","params":`, '}'] as const;
const asText = (params: object) => JSON.stringify({ ...params, texts: Array(10_000).fill('x') });

/** Inside of what a call carries, where it reaches schemas, filters, cards and the audit log. */
const calls: EntryPoint[] = [
  ...([call, tried] as const).flatMap((route, at) => [
    jsonEntry(
      { name: `${at === 0 ? 'call' : 'dry run'} of send_email`, ...route },
      {
        valid: mail,
        properties: ['personalizations', 'from', 'subject', 'content', 'categories', 'attachments'],
        bytesMax: bodyBytesMax,
        around: inParams('SERVICE', 'send_email'),
        fitting: mailFitting,
      },
    ),
    jsonEntry(
      { name: `${at === 0 ? 'call' : 'dry run'} of an own template`, ...route },
      {
        valid: place,
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
        around: inParams('OWN', 'put_item'),
        fitting: placeFitting,
      },
    ),
    jsonEntry(
      { name: `${at === 0 ? 'call' : 'dry run'} with method and path`, ...route },
      {
        valid: { service: 'OWN', method: 'POST', path: `/lists/a/items/${run}` },
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
              JSON.stringify({ ...place, texts: Array(19_000).fill('x') }),
            ],
            ['a form', JSON.stringify('a[b]=c&'.repeat(100_000))],
          ],
        },
      },
    ),
  ]),
  jsonEntry(
    { name: 'call with params as a text', ...call },
    {
      valid: {
        service: 'OWN',
        action: 'put_item',
        params: asText({ list: 'a', item: 'b', name: '' }),
      },
      properties: ['params'],
      bytesMax: bodyBytesMax,
      fitting: {
        params: [
          ['texts', JSON.stringify(JSON.stringify({ ...place, texts: Array(19_000).fill('x') }))],
          [
            'people',
            JSON.stringify(
              `{"list":"a","item":"b","name":"","people":[${repeated(address, 9_000)}]}`,
            ),
          ],
        ],
      },
    },
  ),
  jsonEntry(
    { name: 'raw call', ...call },
    {
      valid: { service: 'http', method: 'POST', url: `UPSTREAM/waits?run=${run}` },
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

const tools = { method: 'POST', path: '/mcp', asks: 'agent' } as const;
const toolCall = (name: string, args: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: args },
});
const inTool = (tool: string, behind = '') =>
  [
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}","arguments":`,
    `${behind}}}`,
  ] as const;
const mcp: EntryPoint[] = [
  jsonEntry(
    { name: 'MCP messages', ...tools },
    {
      valid: toolCall('service_search', { query: 'send' }),
      properties: ['params', 'method', 'id'],
      bytesMax: mcpBytesMax,
    },
  ),
  jsonEntry(
    { name: 'MCP initialize', ...tools },
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
        { service: 'SERVICE', action: 'send_email', params: mail },
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
    jsonEntry(
      { name: `MCP ${tool}`, ...tools },
      { valid, properties, bytesMax: mcpBytesMax, around: inTool(tool) },
    ),
  ),
  jsonEntry(
    { name: 'MCP service_call of an own template', ...tools },
    {
      valid: place,
      properties: ['list', 'texts', 'people', 'map', 'anything'],
      bytesMax: mcpBytesMax,
      around: [`${inTool('service_call')[0]}{"service":"OWN","action":"put_item","params":`, '}}}'],
    },
  ),
];

const registration = { redirect_uris: ['http://127.0.0.1/cb'], client_name: `budget ${run}` };
const form = 'application/x-www-form-urlencoded';
function formEntry(
  entry: Pick<EntryPoint, 'name' | 'method' | 'path' | 'asks'>,
  valid: Readonly<Record<string, string>>,
  bytesMax: number,
): EntryPoint {
  const whole = new URLSearchParams(valid).toString();
  return {
    ...entry,
    contentType: form,
    valid: { what: 'valid', body: whole },
    *shapes() {
      for (const [what, text] of pairsOf(Object.keys(valid), bytesMax - whole.length)) {
        yield { what, body: `${whole}&${text}` };
        yield { what: `${what} alone`, body: text };
      }
    },
  };
}

const open = { method: 'POST', asks: 'nobody' } as const;
const client = { client_id: 'CLIENT', redirect_uri: 'http://127.0.0.1/cb' };
const asking = {
  ...client,
  response_type: 'code',
  code_challenge_method: 'S256',
  state: 'x',
  scope: 'mcp',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
};
const oauth: EntryPoint[] = [
  jsonEntry(
    { name: '/oauth/register', path: '/oauth/register', ...open },
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
        { grant_type: 'authorization_code', code: 'x', code_verifier: 'x'.repeat(43), ...client },
      ],
      ['/oauth/token', { grant_type: 'refresh_token', refresh_token: 'x', ...client }],
      ['/oauth/revoke', { token: 'x', client_id: client.client_id }],
      ['/oauth/consent', { flow: 'x', decision: 'allow' }],
    ] as const
  ).map(([path, valid]) =>
    formEntry(
      {
        name: `${path} as a form with ${Object.keys(valid)[0]}${'code' in valid ? ' and code' : ''}`,
        path,
        ...open,
      },
      valid,
      oauthBytesMax,
    ),
  ),
  ...['/oauth/token', '/oauth/revoke'].map((path) =>
    jsonEntry(
      { name: `${path} as JSON`, path, ...open },
      {
        valid: { token: 'x', ...client },
        properties: ['token', 'client_id'],
        bytesMax: oauthBytesMax,
      },
    ),
  ),
  {
    name: '/oauth/authorize',
    method: 'GET',
    path: '/oauth/authorize',
    asks: 'nobody',
    valid: { what: 'valid', query: new URLSearchParams(asking).toString() },
    *shapes() {
      const whole = new URLSearchParams(asking).toString();
      for (const [what, text] of pairsOf(Object.keys(asking), queryCharactersMax)) {
        yield { what, query: `${whole}&${text}` };
        yield { what: `${what} alone`, query: text };
      }
      yield* hostileHeaders;
    },
  },
];
const pages: EntryPoint[] = [
  formEntry({ name: '/sign-in', path: '/sign-in', ...open }, { token: 'x' }, formBytesMax),
  formEntry(
    { name: '/sign-in with a password', path: '/sign-in', ...open },
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
  ...withBodies,
  ...withoutBodies,
  ...calls,
  ...mcp,
  ...oauth,
  ...pages,
];
