import { z } from 'zod';

import type { ErrorCode } from './errors.ts';
import { scopeParam } from './scope-param.ts';
import { json, risk } from './vocabulary.ts';

/** MCP servers of other products (docs/reference/templates.md#mcp-servers-as-services). */

/** The MCP revisions that the gateway supports as a client, the preferred one first. */
export const mcpVersions = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'] as const;
export type McpVersion = (typeof mcpVersions)[number];
/** The revision without sessions: every request names its client and its capabilities. */
export const statelessVersion = '2026-07-28' satisfies McpVersion;

/**
 * The errors that may occur when an MCP server is asked for its tools: when a service is connected
 * or upgraded, and on request.
 */
export const discoveryErrors = [
  'needs_authentication',
  'reauth_required',
  'upstream_unreachable',
  'upstream_refused_address',
  'upstream_incomplete',
  'upstream_timeout',
  'response_too_large',
] as const satisfies readonly ErrorCode[];

export const discoveryLimits = {
  tools: 500,
  pages: 50,
  /** The size limits of one definition, and of all definitions together, in bytes of JSON. */
  definitionBytes: 65_536,
  bytes: 1_048_576,
} as const;

export const discloseEntry = z.strictObject({
  label: z.string().min(1).max(100),
  filter: z.string().min(1).max(2000),
  /** Null means the limit that holds for every disclosed value (10 KiB). */
  maxChars: z.int().min(1).max(10_240).nullable(),
});

/**
 * A template's settings for one tool. An absent field follows the setting for all tools of the
 * server.
 */
export const toolOverride = z.strictObject({
  risk: risk.nullable(),
  scopeParam: scopeParam.nullable(),
  disclose: z.array(discloseEntry).max(50),
  redact: z.array(z.string().max(500)).max(100),
  disabled: z.boolean(),
});
export type ToolOverride = z.infer<typeof toolOverride>;

/**
 * A tool as its server describes it, reduced to the members that the gateway or a person reads. A
 * person accepts this definition, and its hash covers it. All of it is untrusted data.
 */
export const toolDefinition = z.strictObject({
  name: z.string().max(discoveryLimits.definitionBytes),
  title: json.optional(),
  description: json.optional(),
  inputSchema: json.optional(),
  outputSchema: json.optional(),
  annotations: json.optional(),
});
export type ToolDefinition = z.infer<typeof toolDefinition>;

/**
 * The hash of the accepted definition; a call fails when the server's tool no longer matches it.
 */
export const toolPin = z.strictObject({
  hash: z.string().length(64),
  /**
   * Arguments that are sent in a header of the request as well (MCP 2026-07-28, `x-mcp-header`).
   */
  headers: z
    .array(
      z.strictObject({ path: z.array(z.string().max(200)).max(20), name: z.string().max(100) }),
    )
    .max(50),
});
export type ToolPin = z.infer<typeof toolPin>;

export const toolDiscovery = z.strictObject({
  protocolVersion: z.enum(mcpVersions),
  tools: z.array(toolDefinition).max(discoveryLimits.tools),
});
export type ToolDiscovery = z.infer<typeof toolDiscovery>;
