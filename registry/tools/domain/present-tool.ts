import type { z } from 'zod';

import type { serviceTool, serviceToolDetail } from '#contracts/http/service-tools';
import type { ToolDefinition } from '#contracts/mcp';
import type { CompiledTemplate } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { canonicalJson } from '#signing';
import { escapeHidden, escapeHiddenInJson } from '../../compiler/domain/hidden-text.ts';
import type { JsonObject } from '../../document/domain/context.ts';
import { applyOverride, toolStatusOf } from '../../toolsets/domain/toolset.ts';
import type { PinnedTool, ServiceTool } from '../../toolsets/domain/toolset.ts';

type PresentedTool = z.infer<typeof serviceTool>;

/** Presents a tool with the template's overrides for it. */
export function presentTool(tool: ServiceTool, { mcp }: CompiledTemplate): PresentedTool {
  const { name, offered, accepted } = tool;
  const status = toolStatusOf(tool);
  const action = (offered ?? accepted)?.tool?.action;
  const overriddenAction = action && applyOverride(action, mcp);
  return {
    name,
    status,
    enabled: status === 'available' && overriddenAction?.action.disabled === false,
    summary: action?.summary ?? toolSummaryOf(offered ?? accepted),
    risk: overriddenAction?.action.risk ?? null,
    hash: offered?.hash ?? null,
    accepted_hash: accepted?.hash ?? null,
    problem: tool.problem ?? overriddenAction?.problem ?? null,
  };
}

export function presentToolDetail(
  tool: ServiceTool,
  template: CompiledTemplate,
): z.infer<typeof serviceToolDetail> {
  const { offered, accepted } = tool;
  return {
    ...presentTool(tool, template),
    offered: presentDefinition(offered),
    accepted: presentDefinition(accepted),
    differs_in:
      offered && accepted ? listDifferingFields(offered.definition, accepted.definition) : [],
  };
}

function presentDefinition(pinned: PinnedTool | null): JsonObject | null {
  return pinned === null
    ? null
    : (escapeHiddenInJson(pinned.definition as JsonValue) as JsonObject);
}

function toolSummaryOf(pinned: PinnedTool | null): string {
  const description = pinned?.definition.description;
  return typeof description === 'string' ? escapeHidden(description).slice(0, 1_000) : '';
}

function listDifferingFields(left: ToolDefinition, right: ToolDefinition): string[] {
  const keys = new Set([...Object.keys(left), ...Object.keys(right)]) as Set<keyof ToolDefinition>;
  return [...keys].filter(
    (key) => canonicalJson(left[key] ?? null) !== canonicalJson(right[key] ?? null),
  );
}
