import type { Attributes } from '@opentelemetry/api';
import type { JSONRPCRequest } from '@modelcontextprotocol/server';

import { tools } from '../mcp-tools/tools.ts';

const tracedMethods: ReadonlySet<string> = new Set([
  'initialize',
  'notifications/cancelled',
  'notifications/initialized',
  'ping',
  'server/discover',
  'tools/call',
  'tools/list',
]);

/**
 * Returns the span attributes of a message, as OpenTelemetry's conventions for MCP define them.
 * Names that the gateway does not know are left out, because a client may write anything there.
 */
export function mcpAttributesOf({ method, params }: JSONRPCRequest): Attributes {
  if (!tracedMethods.has(method)) return {};
  const tool = method === 'tools/call' && tools.find(({ name }) => name === params?.['name']);
  return { 'mcp.method.name': method, ...(tool && { 'gen_ai.tool.name': tool.name }) };
}

/**
 * In MCP, `_meta` contains the W3C trace context. For a message without one, the header
 * `traceparent` is used.
 */
export function findTraceparent({ params }: JSONRPCRequest): unknown {
  const meta: unknown = params?._meta;
  return typeof meta === 'object' && meta !== null && 'traceparent' in meta
    ? meta.traceparent
    : undefined;
}
