import { statelessVersion } from '#contracts/mcp';
import { mcpTemplate } from '../../support/mcp-server.ts';
import { createServices } from './calls.testing.ts';
import { redirectTo } from './site.testing.ts';
import type { SiteRequest } from './site.testing.ts';
import { costlyEntry } from './stage.testing.ts';
import type { Entry, Stage } from './stage.testing.ts';

const noOverrides = '    lead: { disabled: false }\n';

/**
 * Services on MCP servers. The gateway lists a server's tools when the service is connected, and
 * calls the tools later.
 */
export async function createServerEntries(stage: Stage): Promise<Entry[]> {
  const { admin, site } = stage;
  const { publish, connect, passingTemplate } = createServices(stage, 'mcp');
  const documentOf = (key: string, url: string) =>
    mcpTemplate(key, JSON.stringify(url), 'none', noOverrides);
  const connectTo = (url: string) =>
    passingTemplate(
      (key) => documentOf(key, url),
      async () => undefined, // The gateway lists a server's tools when it is connected, so no call is needed.
    );
  site.on('mcp', answerRpc);
  site.on('challenge', ({ url }) => ({
    status: 401,
    headers: {
      'www-authenticate': `Bearer resource_metadata="${url}", authorization_uri="${url}"`,
      link: `<${url}>; rel="oauth-protected-resource"`,
    },
    // The OAuth metadata of the protected resource (RFC 9728), which a client may look up at the
    // server's address.
    json: { resource: url, authorization_servers: [url], jwks_uri: url },
    containsTestedUrl: true,
  }));

  if (!(await publish('leading', documentOf('leading', site.at('mcp')))))
    throw new Error('no template');
  const leadingService = await connect('leading');
  if (leadingService === undefined) throw new Error('no MCP server');

  return [
    { name: 'the URL of an MCP server', ...costlyEntry, attempt: connectTo },
    {
      name: 'a redirect of an MCP server',
      ...costlyEntry,
      isNeverCalled: true,
      attempt: (url) => connectTo(site.at('redirect', url)),
    },
    {
      name: 'the metadata that an MCP server names',
      ...costlyEntry,
      isNeverCalled: true,
      attempt: (url) => connectTo(site.at('challenge', url)),
    },
    {
      name: 'a redirect of a tool',
      ...costlyEntry,
      isNeverCalled: true,
      attempt: (to) =>
        admin.post('/v1/actions/call', { service: leadingService, action: 'lead', params: { to } }),
    },
  ];
}

/**
 * Answers like an MCP server with one tool. A call of the tool is redirected to the address that
 * the call contains.
 */
function answerRpc({ body }: SiteRequest) {
  const { id, method, params } = JSON.parse(body);
  if (method === 'tools/call') return redirectTo(params.arguments.to);
  const resultsByMethod: Record<string, object> = {
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
  return { json: { jsonrpc: '2.0', id, result: resultsByMethod[method] ?? {} } };
}
