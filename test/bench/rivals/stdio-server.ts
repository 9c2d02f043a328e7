/**
 * An MCP server over stdio for the bridge `supergateway`: its one tool reads an item of the upstream,
 * whose URL is the argument of the program.
 */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { request } from 'undici';
import { z } from 'zod/v4';

const upstreamUrl = process.argv[2] ?? '';
const headers = { authorization: 'Bearer CANARY-upstream' };

const server = new McpServer({ name: 'items', version: '1.0.0' });
server.registerTool('get_item', { inputSchema: { id: z.string() } }, async ({ id }) => {
  const reply = await request(`${upstreamUrl}/items/${id}`, { headers });
  return { content: [{ type: 'text', text: await reply.body.text() }] };
});
await server.connect(new StdioServerTransport());
