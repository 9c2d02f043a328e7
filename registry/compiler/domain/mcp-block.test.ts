import { describe, expect, test } from 'vitest';

import { compileTemplate } from './template.ts';

const options = {
  tier: 'org',
  ownerId: '00000000-0000-7000-8000-000000000001',
  version: 1,
  isPlainHttpAllowed: (host: string) => host === 'localhost:1',
} as const;

type McpBlock = Record<string, unknown>;
const mcpBlock = { url: 'https://mcp.example.com/mcp/', auth: 'none' };
const compileMcp = (mcp: unknown, documentFields: McpBlock = {}) =>
  compileTemplate(
    JSON.stringify({
      openapi: '3.1.0',
      info: { title: 'Issues', key: 'issues' },
      runtime: 'mcp',
      ...(mcp === undefined ? {} : { mcp }),
      ...documentFields,
    }),
    options,
  );
const codesOf = (mcp: unknown, documentFields?: McpBlock) =>
  compileMcp(mcp, documentFields).report.errors.map(({ code }) => code);

describe('a template of runtime mcp', () => {
  test('compiles the URL of the server unchanged, and its credential', () => {
    const { template } = compileMcp({ ...mcpBlock, auth: 'bearer', secret: 'issues_token' });
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
    expect(compileMcp(mcpBlock).template).toMatchObject({ auth: [], security: [] });
    const oauth = compileMcp({ ...mcpBlock, auth: 'oauth', provider: 'acme' }).template;
    expect(oauth?.auth).toMatchObject([{ type: 'oauth2', provider: 'acme' }]);
  });

  test('compiles overrides of single tools in all accepted forms of the extensions', () => {
    const redact = ['params.token'];
    const tools = {
      create: { risk: 'delete', 'x-service-scope-param': 'repository', x_service_redact: redact },
      'risk.of-all': { disabled: true },
      disabled: { risk: 'read' },
    };
    const { report, template } = compileMcp({ ...mcpBlock, tools });
    expect(report.errors).toEqual([]);
    expect(template?.mcp?.overrides).toMatchObject({
      create: { risk: 'delete', scopeParam: 'repository', redact, disabled: false },
      'risk.of-all': { risk: null, disabled: true },
      disabled: { risk: 'read', disabled: false },
    });
  });

  test.for<[string, unknown, string]>([
    ['no mcp block', undefined, 'required_field_missing'],
    ['an mcp block that is not an object', 'https://mcp.example.com', 'wrong_type'],
    ['a misspelt field', { ...mcpBlock, urll: 1 }, 'unknown_field'],
    ['no url', { auth: 'none' }, 'required_field_missing'],
    ['a plain http url', { ...mcpBlock, url: 'http://mcp.example.com/' }, 'server_not_https'],
    [
      'a url with a query',
      { ...mcpBlock, url: 'https://mcp.example.com/?key=1' },
      'server_invalid',
    ],
    [
      'a url with a variable',
      { ...mcpBlock, url: 'https://{site}.example.com/' },
      'server_invalid',
    ],
    ['a url with a user', { ...mcpBlock, url: 'https://a@mcp.example.com/' }, 'server_invalid'],
    ['an unknown transport', { ...mcpBlock, transport: 'stdio' }, 'mcp_invalid'],
    ['no field auth', { url: mcpBlock.url }, 'mcp_invalid'],
    ['an unknown value of auth', { ...mcpBlock, auth: 'basic' }, 'mcp_invalid'],
    ['the auth bearer without a secret', { ...mcpBlock, auth: 'bearer' }, 'required_field_missing'],
    ['a secret without the auth bearer', { ...mcpBlock, secret: 'a' }, 'mcp_invalid'],
    ['the auth oauth without a provider', { ...mcpBlock, auth: 'oauth' }, 'required_field_missing'],
    ['an invalid secret name', { ...mcpBlock, auth: 'bearer', secret: 'A B' }, 'mcp_invalid'],
    ['a flag other than true or false', { ...mcpBlock, autodiscover: 'yes' }, 'wrong_type'],
    ['an unknown risk', { ...mcpBlock, tools: { a: { risk: 'low' } } }, 'risk_invalid'],
    ['a tool that is not an object', { ...mcpBlock, tools: { a: true } }, 'wrong_type'],
    ['a misspelt field of a tool', { ...mcpBlock, tools: { a: { rik: 'read' } } }, 'unknown_field'],
    [
      'a redacted path outside the arguments',
      { ...mcpBlock, tools: { a: { redact: ['url'] } } },
      'redact_invalid',
    ],
    [
      'two forms of the same field',
      { ...mcpBlock, tools: { a: { risk: 'read', 'x-service-risk': 'read' } } },
      'ambiguous_alias',
    ],
    [
      'an unknown x-service field',
      { ...mcpBlock, tools: { a: { 'x-service-hidden': true } } },
      'unknown_extension',
    ],
  ])('is refused with %s', ([, mcp, code]) => {
    expect(codesOf(mcp)).toContain(code);
  });

  test('must not describe an HTTP API, and a template of another runtime must not have an mcp block', () => {
    for (const key of ['servers', 'paths', 'components', 'security']) {
      expect(
        codesOf(mcpBlock, { [key]: key === 'servers' || key === 'security' ? [] : {} }),
      ).toEqual(['mcp_unexpected']);
    }
    expect(codesOf(mcpBlock, { runtime: 'http' })).toContain('mcp_unexpected');
  });
});
