import { z } from 'zod';

import { json, risk } from './vocabulary.ts';

/** Servers of other products, reached by MCP (docs/reference/templates.md#mcp-servers-as-services). */

/** Revisions we speak as a client, the preferred one first. */
export const mcpVersions = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'] as const;
export type McpVersion = (typeof mcpVersions)[number];
/** The revision without sessions: every request says itself who asks and what it can do. */
export const statelessVersion = '2026-07-28' satisfies McpVersion;

export const discoveryLimits = {
  tools: 500,
  pages: 50,
  /** Of one definition, and of all of them, as JSON. */
  definitionBytes: 65_536,
  bytes: 1_048_576,
} as const;

export const discloseEntry = z.strictObject({
  label: z.string().min(1).max(100),
  filter: z.string().min(1).max(2000),
  /** Null means the cap of every disclosed value (10 KiB). */
  maxChars: z.int().min(1).max(10_240).nullable(),
});

/** What a template says of one tool. Absent: as for every tool of the server. */
export const toolOverride = z.strictObject({
  risk: risk.nullable(),
  scopeParam: z.string().max(200).nullable(),
  disclose: z.array(discloseEntry).max(50),
  redact: z.array(z.string().max(500)).max(100),
  disabled: z.boolean(),
});
export type ToolOverride = z.infer<typeof toolOverride>;

/**
 * A tool as its server describes it, cut down to what is read or acted on: this is what a person
 * accepts, and what its hash is made of. All of it is data of a stranger.
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

/** What a call must still find: the accepted definition, by its hash. */
export const toolPin = z.strictObject({
  hash: z.string().length(64),
  /** Arguments that also stand in a header of the request (MCP 2026-07-28, `x-mcp-header`). */
  headers: z
    .array(
      z.strictObject({ path: z.array(z.string().max(200)).max(20), name: z.string().max(100) }),
    )
    .max(50),
});
export type ToolPin = z.infer<typeof toolPin>;

export const discovered = z.strictObject({
  protocolVersion: z.enum(mcpVersions),
  tools: z.array(toolDefinition).max(discoveryLimits.tools),
});
export type Discovered = z.infer<typeof discovered>;
