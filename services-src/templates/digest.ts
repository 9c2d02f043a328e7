import { hash } from 'node:crypto';

import type { CompiledTemplate } from '#contracts/template';
import { canonicalJson } from '#signing';

/** How much deeper than a call a template may be: its schemas are unfolded. */
const templateLevels = -1_000;

const wholes = new WeakMap<CompiledTemplate, string>();

/**
 * SHA-256 of everything that a compiled template says, the accepted tools of an MCP server
 * included. Its number is left out: that is the registry's. Computed once for each object.
 */
export function templateDigest(template: CompiledTemplate): string {
  let digest = wholes.get(template);
  if (digest === undefined) wholes.set(template, (digest = digestOf(template)));
  return digest;
}

/** The same of what its author wrote: without the tools that one connected service accepted. */
export function authoredDigest(template: CompiledTemplate): string {
  const { mcp } = template;
  if (mcp === undefined) return templateDigest(template);
  return digestOf({ ...template, actions: {}, mcp: { ...mcp, protocolVersion: null, pins: {} } });
}

function digestOf({ version: _number, ...said }: CompiledTemplate): string {
  return hash('sha256', canonicalJson(said, templateLevels));
}
