import { hash } from 'node:crypto';

import type { CompiledTemplate } from '#contracts/template';
import { canonicalJson } from '#signing';

/**
 * The start of the nesting count for a template: its schemas are expanded, so it may be a thousand
 * levels deeper than a call.
 */
const templateDepthStart = -1_000;

const digestsByTemplate = new WeakMap<CompiledTemplate, string>();

/**
 * SHA-256 of the whole compiled template, including the accepted tools of an MCP server. The
 * version number is left out, because the registry alone assigns it. Computed once for each object.
 */
export function templateDigestOf(template: CompiledTemplate): string {
  let digest = digestsByTemplate.get(template);
  if (digest === undefined) digestsByTemplate.set(template, (digest = digestOf(template)));
  return digest;
}

/**
 * The digest of the part that the author wrote: without the tools that one connected service
 * accepted.
 */
export function authoredDigestOf(template: CompiledTemplate): string {
  const { mcp } = template;
  if (mcp === undefined) return templateDigestOf(template);
  return digestOf({ ...template, actions: {}, mcp: { ...mcp, protocolVersion: null, pins: {} } });
}

/**
 * The search words are left out: no decision depends on them, and an earlier release, which does
 * not know them, computes the same digest.
 */
function digestOf({ version: _number, intents: _words, ...said }: CompiledTemplate): string {
  return hash('sha256', canonicalJson(said, templateDepthStart));
}
