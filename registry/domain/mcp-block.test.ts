import { describe, expect, test } from 'vitest';

import { compileTemplate } from './template.ts';

const options = {
  tier: 'org',
  ownerId: '00000000-0000-7000-8000-000000000001',
  version: 1,
  isPlainHttpAllowed: (host: string) => host === 'localhost:1',
} as const;

type Block = Record<string, unknown>;
const block = { url: 'https://mcp.example.com/mcp/', auth: 'none' };
const compile = (mcp: unknown, more: Block = {}) =>
  compileTemplate(
    JSON.stringify({
      openapi: '3.1.0',
      info: { title: 'Issues', key: 'issues' },
      runtime: 'mcp',
      ...(mcp === undefined ? {} : { mcp }),
      ...more,
    }),
    options,
  );
const codesOf = (mcp: unknown, more?: Block) =>
  compile(mcp, more).report.errors.map(({ code }) => code);

describe('a template of runtime mcp', () => {
  test('says where a server is, exactly as written, and what opens it', () => {
    const { template } = compile({ ...block, auth: 'bearer', secret: 'issues_token' });
    expect(template).toMatchObject({
      runtime: 'mcp',
      server: { url: 'https://mcp.example.com' },
      hosts: ['mcp.example.com'],
      auth: [
        {
          scheme: 'bearer',
          name: 'Authorization',
          prefix: 'Bearer ',
          defaultSecretName: 'issues_token',
        },
      ],
      security: [['bearer']],
      actions: {},
      mcp: { path: '/mcp/', autodiscover: true, protocolVersion: null, pins: {} },
    });
    expect(compile(block).template).toMatchObject({ auth: [], security: [] });
    const oauth = compile({ ...block, auth: 'oauth', provider: 'acme' }).template;
    expect(oauth?.auth).toMatchObject([{ type: 'oauth2', provider: 'acme' }]);
  });

  test('says what it knows of single tools, in every spelling of the extensions', () => {
    const redact = ['params.token'];
    const tools = {
      create: { risk: 'delete', 'x-service-scope-param': 'repository', x_service_redact: redact },
      'risk.of-all': { disabled: true },
      disabled: { risk: 'read' },
    };
    const { report, template } = compile({ ...block, tools });
    expect(report.errors).toEqual([]);
    expect(template?.mcp?.overrides).toMatchObject({
      create: { risk: 'delete', scopeParam: 'repository', redact, disabled: false },
      'risk.of-all': { risk: null, disabled: true },
      disabled: { risk: 'read', disabled: false },
    });
  });

  test.for<[string, unknown, string]>([
    ['no block', undefined, 'required_field_missing'],
    ['a block that is none', 'https://mcp.example.com', 'wrong_type'],
    ['a misspelt field', { ...block, urll: 1 }, 'unknown_field'],
    ['no url', { auth: 'none' }, 'required_field_missing'],
    ['a url of plain http', { ...block, url: 'http://mcp.example.com/' }, 'server_not_https'],
    ['a url with a query', { ...block, url: 'https://mcp.example.com/?key=1' }, 'server_invalid'],
    ['a url with a variable', { ...block, url: 'https://{site}.example.com/' }, 'server_invalid'],
    ['a url with a user', { ...block, url: 'https://a@mcp.example.com/' }, 'server_invalid'],
    ['another transport', { ...block, transport: 'stdio' }, 'mcp_invalid'],
    ['no auth', { url: block.url }, 'mcp_invalid'],
    ['another auth', { ...block, auth: 'basic' }, 'mcp_invalid'],
    ['bearer without a secret', { ...block, auth: 'bearer' }, 'required_field_missing'],
    ['a secret without bearer', { ...block, secret: 'a' }, 'mcp_invalid'],
    ['oauth without a provider', { ...block, auth: 'oauth' }, 'required_field_missing'],
    ['a secret that is no name', { ...block, auth: 'bearer', secret: 'A B' }, 'mcp_invalid'],
    ['a flag that is none', { ...block, autodiscover: 'yes' }, 'wrong_type'],
    ['a risk that is none', { ...block, tools: { a: { risk: 'low' } } }, 'risk_invalid'],
    ['a tool that is none', { ...block, tools: { a: true } }, 'wrong_type'],
    ['a misspelt field of a tool', { ...block, tools: { a: { rik: 'read' } } }, 'unknown_field'],
    [
      'a redacted path elsewhere',
      { ...block, tools: { a: { redact: ['url'] } } },
      'redact_invalid',
    ],
    [
      'two spellings of a field',
      { ...block, tools: { a: { risk: 'read', 'x-service-risk': 'read' } } },
      'ambiguous_alias',
    ],
    [
      'a field of ours that does not exist',
      { ...block, tools: { a: { 'x-service-hidden': true } } },
      'unknown_extension',
    ],
  ])('is refused with %s', ([, mcp, code]) => {
    expect(codesOf(mcp)).toContain(code);
  });

  test('has nothing that describes an API of HTTP, and the block belongs to it alone', () => {
    for (const key of ['servers', 'paths', 'components', 'security']) {
      expect(codesOf(block, { [key]: key === 'servers' || key === 'security' ? [] : {} })).toEqual([
        'mcp_unexpected',
      ]);
    }
    expect(codesOf(block, { runtime: 'http' })).toContain('mcp_unexpected');
  });
});
