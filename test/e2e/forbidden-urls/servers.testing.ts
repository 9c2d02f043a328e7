import { statelessVersion } from '#contracts/mcp';
import { mcpTemplate } from '../../support/mcp-server.ts';
import { createServices } from './calls.testing.ts';
import { redirectTo } from './site.testing.ts';
import type { Asked } from './site.testing.ts';
import { costly } from './stage.testing.ts';
import type { Entry, Stage } from './stage.testing.ts';

const noOverrides = '    lead: { disabled: false }\n';

/** MCP servers as services: asked for their tools when they are connected, and called. */
export async function serverEntries(stage: Stage): Promise<Entry[]> {
  const { admin, site } = stage;
  const { publish, connect, passingTemplate } = createServices(stage, 'mcp');
  const documentOf = (key: string, url: string) =>
    mcpTemplate(key, JSON.stringify(url), 'none', noOverrides);
  const connectTo = (url: string) =>
    passingTemplate(
      (key) => documentOf(key, url),
      async () => undefined, // It is asked for its tools when it is connected.
    );
  site.on('mcp', answerRpc);
  site.on('challenge', ({ url }) => ({
    status: 401,
    headers: {
      'www-authenticate': `Bearer resource_metadata="${url}", authorization_uri="${url}"`,
      link: `<${url}>; rel="oauth-protected-resource"`,
    },
    // RFC 9728, for whoever looks below the address of the server instead.
    json: { resource: url, authorization_servers: [url], jwks_uri: url },
    isTold: true,
  }));

  if (!(await publish('leading', documentOf('leading', site.at('mcp')))))
    throw new Error('no template');
  const leading = await connect('leading');
  if (leading === undefined) throw new Error('no MCP server');

  return [
    { name: 'the URL of an MCP server', ...costly, attempt: connectTo },
    {
      name: 'a redirect of an MCP server',
      ...costly,
      isNeverCalled: true,
      attempt: (url) => connectTo(site.at('redirect', url)),
    },
    {
      name: 'the metadata that an MCP server names',
      ...costly,
      isNeverCalled: true,
      attempt: (url) => connectTo(site.at('challenge', url)),
    },
    {
      name: 'a redirect of a tool',
      ...costly,
      isNeverCalled: true,
      attempt: (to) =>
        admin.post('/v1/actions/call', { service: leading, action: 'lead', params: { to } }),
    },
  ];
}

/** A server with one tool, which is elsewhere. */
function answerRpc({ body }: Asked) {
  const { id, method, params } = JSON.parse(body);
  if (method === 'tools/call') return redirectTo(params.arguments.to);
  const results: Record<string, object> = {
    'server/discover': {
      supportedVersions: [statelessVersion],
      capabilities: { tools: {} },
      serverInfo: { name: 'leading', version: '1' },
    },
    'tools/list': {
      tools: [
        {
          name: 'lead',
          inputSchema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
        },
      ],
    },
  };
  return { json: { jsonrpc: '2.0', id, result: results[method] ?? {} } };
}
