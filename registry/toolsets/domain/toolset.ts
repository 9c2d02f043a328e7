import type { ToolDefinition, ToolOverride, ToolPin } from '#contracts/mcp';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { ServiceToolStatus } from '#contracts/http/service-tools';
import { escapeHidden } from '../../compiler/domain/hidden-text.ts';
import { scopePathProblem } from '../../compiler/domain/read-scope.ts';
import { scopeParamProblem } from '../../compiler/domain/scope-param.ts';
import type { ReadTool } from '../../compiler/domain/tool-action.ts';

/** One definition of a tool, with its hash and the action that was made from it. */
export interface PinnedTool {
  readonly hash: string;
  readonly definition: ToolDefinition;
  /** Null when no action can be made from the definition. */
  readonly tool: UsableTool | null;
}

export type UsableTool = ToolPin & { readonly action: CompiledAction };

/**
 * A tool of a connected service: the definition that the MCP server offers now, and the definition
 * that a person accepted.
 */
export interface ServiceTool {
  /**
   * The name of the tool, with hidden characters shown as codes. The name of a usable tool has
   * none.
   */
  readonly name: string;
  readonly offered: PinnedTool | null;
  readonly accepted: PinnedTool | null;
  /** Why the offered definition cannot be used. */
  readonly problem: string | null;
}

export function toolStatusOf({ offered, accepted, problem }: ServiceTool): ServiceToolStatus {
  if (offered === null) return 'gone';
  if (offered.hash === accepted?.hash) return 'available';
  if (problem !== null) return 'unusable';
  return accepted === null ? 'new' : 'changed';
}

/**
 * Decides whether a tool is accepted when its service is connected. A person must accept tools that
 * the server adds later.
 */
export type AcceptsTool = (name: string) => boolean;

/**
 * The largest number of stored tools, twice what one server may offer. The rest of the space is for
 * accepted tools that the server no longer offers.
 */
const toolsMax = 1_000;

/**
 * Merges the tools that a server offers now with the stored tools. A stored tool that the server no
 * longer offers is kept only if it was accepted, so that it needs no new acceptance when the server
 * offers it again.
 */
export function mergeOfferedTools(
  knownTools: readonly ServiceTool[],
  offeredTools: readonly ReadTool[],
  acceptsTool: AcceptsTool = () => false,
): ServiceTool[] {
  const toolsBefore = new Map(knownTools.map((tool) => [tool.name, tool]));
  const toolsNow = new Map(
    offeredTools.map((read) => {
      const name = escapeHidden(read.definition.name).slice(0, 128);
      const acceptedTool = toolsBefore.get(name)?.accepted ?? null;
      const tool = mergeTool(read, { name, accepted: acceptedTool, accepts: acceptsTool });
      return [name, tool] as const;
    }),
  );
  const missingTools = knownTools.flatMap((tool): ServiceTool[] =>
    toolsNow.has(tool.name) || tool.accepted === null
      ? []
      : [{ ...tool, offered: null, problem: null }],
  );
  return [...toolsNow.values(), ...missingTools].slice(0, toolsMax);
}

function mergeTool(
  { definition, hash, usable, problem }: ReadTool,
  { name, accepted, accepts }: { name: string; accepted: PinnedTool | null; accepts: AcceptsTool },
): ServiceTool {
  const pinnedTool: PinnedTool = { hash, definition, tool: usable };
  const isAcceptedNow = accepted === null && usable !== null && accepts(name);
  return { name, offered: pinnedTool, accepted: isAcceptedNow ? pinnedTool : accepted, problem };
}

type McpTemplate = NonNullable<CompiledTemplate['mcp']>;

/**
 * The template's override for a tool. Checks for an own property, because a tool may be called
 * `toString`, which all objects inherit.
 */
function findOverride(
  mcp: Pick<McpTemplate, 'overrides'> | undefined,
  name: string,
): ToolOverride | undefined {
  return mcp && Object.hasOwn(mcp.overrides, name) ? mcp.overrides[name] : undefined;
}

/** The stored form of a toolset: everything that a call of one of its tools needs. */
export interface Toolset {
  readonly protocolVersion: string;
  readonly tools: readonly UsableTool[];
}

/**
 * The toolset with all accepted tools. An accepted tool is disabled when the server no longer
 * offers the accepted definition.
 */
export function toolsetOf(protocolVersion: string, tools: readonly ServiceTool[]): Toolset {
  const acceptedTools = tools.flatMap((tool): UsableTool[] => {
    const acceptedTool = tool.accepted?.tool ?? null;
    if (acceptedTool === null) return [];
    if (toolStatusOf(tool) === 'available') return [acceptedTool];
    // A disabled tool keeps its name, but needs no parameters.
    const paramsSchema = { type: 'object', additionalProperties: false };
    const action = { ...acceptedTool.action, params: [], paramsSchema, disabled: true };
    return [{ ...acceptedTool, action }];
  });
  return { protocolVersion, tools: acceptedTools };
}

/** Returns the template of an MCP server with the tools of one service as its actions. */
export function withTools(template: CompiledTemplate, toolset: Toolset): CompiledTemplate {
  const { mcp } = template;
  if (mcp === undefined) return template;
  const actions = toolset.tools.map(({ action }) => {
    const { path } = mcp;
    return [action.key, { ...applyOverride(action, mcp).action, path }] as const;
  });
  const pins = toolset.tools.map(
    ({ action, hash, headers }) => [action.key, { hash, headers }] as const,
  );
  const { protocolVersion } = toolset;
  return {
    ...template,
    actions: Object.fromEntries(actions),
    mcp: { ...mcp, protocolVersion, pins: Object.fromEntries(pins) },
  };
}

/**
 * Applies the template's override to a tool. Disables the tool when the override names a parameter
 * that the tool does not have: otherwise the rules for the parameter, or its redaction, would
 * silently have no effect.
 */
export function applyOverride(
  action: CompiledAction,
  mcp: Pick<McpTemplate, 'overrides'> | undefined,
): { action: CompiledAction; problem: string | null } {
  const toolOverride = findOverride(mcp, action.key);
  if (toolOverride === undefined) return { action, problem: null };
  const { risk, scopeParam, disclose, redact, disabled } = toolOverride;
  const paramNames = new Set(action.params.map(({ name }) => name));
  const namedParams = [
    ...(typeof scopeParam === 'string' ? [scopeParam] : []),
    ...redact.map((path) => path.split('.')[1] ?? ''),
  ];
  const missingParam = namedParams.find((each) => each !== '*' && !paramNames.has(each));
  const unsuitedReason = findScopeProblem(scopeParam, action.params);
  const problem =
    missingParam !== undefined
      ? `The template speaks of its parameter "${missingParam}", which it does not have.`
      : unsuitedReason;
  const statusSentence =
    typeof scopeParam === 'string' && paramNames.has(scopeParam)
      ? [{ optional: [{ text: ' for ' }, { param: scopeParam }] }]
      : [];
  return {
    problem,
    action: {
      ...action,
      // A delete that the server itself declares cannot become a lower risk by the template
      // (docs/reference/permissions.md#risk).
      risk: action.risk === 'delete' ? 'delete' : (risk ?? action.risk),
      scopeParam,
      description: [...action.description, ...statusSentence],
      disclose,
      redact: redact.flatMap((path) => {
        const pathRest = path.slice(path.indexOf('.'));
        return [`params${pathRest}`, `body${pathRest}`];
      }),
      disabled: action.disabled || disabled || problem !== null,
    },
  };
}

/** Why the tool's parameters cannot be in permission keys as the template says; null when they can. */
function findScopeProblem(
  scopeParam: ToolOverride['scopeParam'],
  params: CompiledAction['params'],
): string | null {
  if (scopeParam === null) return null;
  if (typeof scopeParam === 'string') {
    const param = params.find(({ name }) => name === scopeParam);
    const unsuitedReason = param && scopeParamProblem(param.schema);
    return unsuitedReason === undefined
      ? null
      : `The template puts its parameter "${scopeParam}" into permission keys; it ${unsuitedReason}.`;
  }
  for (const { params: paths, as } of scopeParam) {
    for (const path of paths) {
      const problem = scopePathProblem(path, params, as);
      if (problem === undefined) continue;
      return `The template puts "${path}" into permission keys; it ${problem.text}.`;
    }
  }
  return null;
}
