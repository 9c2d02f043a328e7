import type { z } from 'zod';

import type { serviceTool, serviceToolDetail } from '#contracts/http/service-tools';
import type { ToolDefinition } from '#contracts/mcp';
import type { CompiledTemplate } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { canonicalJson } from '#signing';
import { visible, visibleJson } from './hidden-text.ts';
import type { JsonObject } from './context.ts';
import { overridden, statusOf } from './toolset.ts';
import type { Pinned, ServiceTool } from './toolset.ts';

type Presented = z.infer<typeof serviceTool>;

/** A tool as people see it, with what the service's template says of it. */
export function presentTool(tool: ServiceTool, { mcp }: CompiledTemplate): Presented {
  const { name, offered, accepted } = tool;
  const status = statusOf(tool);
  const action = (offered ?? accepted)?.tool?.action;
  const applied = action && overridden(action, mcp);
  return {
    name,
    status,
    enabled: status === 'available' && applied?.action.disabled === false,
    summary: action?.summary ?? summaryOf(offered ?? accepted),
    risk: applied?.action.risk ?? null,
    hash: offered?.hash ?? null,
    accepted_hash: accepted?.hash ?? null,
    problem: tool.problem ?? applied?.problem ?? null,
  };
}

export function presentToolDetail(
  tool: ServiceTool,
  template: CompiledTemplate,
): z.infer<typeof serviceToolDetail> {
  const { offered, accepted } = tool;
  return {
    ...presentTool(tool, template),
    offered: shown(offered),
    accepted: shown(accepted),
    differs_in: offered && accepted ? differing(offered.definition, accepted.definition) : [],
  };
}

function shown(pinned: Pinned | null): JsonObject | null {
  return pinned === null ? null : (visibleJson(pinned.definition as JsonValue) as JsonObject);
}

function summaryOf(pinned: Pinned | null): string {
  const description = pinned?.definition.description;
  return typeof description === 'string' ? visible(description).slice(0, 1_000) : '';
}

function differing(left: ToolDefinition, right: ToolDefinition): string[] {
  const keys = new Set([...Object.keys(left), ...Object.keys(right)]) as Set<keyof ToolDefinition>;
  return [...keys].filter(
    (key) => canonicalJson(left[key] ?? null) !== canonicalJson(right[key] ?? null),
  );
}
