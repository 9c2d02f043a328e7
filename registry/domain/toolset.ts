import type { ToolDefinition, ToolOverride, ToolPin } from '#contracts/mcp';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { ServiceToolStatus } from '#contracts/http/service-tools';
import { visible } from './hidden-text.ts';
import { unsuitedScope } from './scope-param.ts';
import type { ReadTool } from './tool-action.ts';

/** One definition with the hash that names it, and as what it was read. */
export interface Pinned {
  readonly hash: string;
  readonly definition: ToolDefinition;
  /** Null when it cannot be used. */
  readonly tool: UsableTool | null;
}

export type UsableTool = ToolPin & { readonly action: CompiledAction };

/** A tool of a connected service: what its server offers now, and what a person accepted. */
export interface ServiceTool {
  /** With what would be hidden spelled out; of usable tools the name itself. */
  readonly name: string;
  readonly offered: Pinned | null;
  readonly accepted: Pinned | null;
  /** Why what is offered cannot be used. */
  readonly problem: string | null;
}

export function statusOf({ offered, accepted, problem }: ServiceTool): ServiceToolStatus {
  if (offered === null) return 'gone';
  if (offered.hash === accepted?.hash) return 'available';
  if (problem !== null) return 'unusable';
  return accepted === null ? 'new' : 'changed';
}

/** Who chose a service took it with what it offered; what comes later is looked at first. */
export type Accepts = (name: string) => boolean;

/** Twice what a server may offer: those that were accepted and are gone are kept as long as there is room. */
const toolsMax = 1_000;

/** Tools that were never accepted and are gone are forgotten; accepted ones stay, to be recognised. */
export function mergeOffered(
  known: readonly ServiceTool[],
  offered: readonly ReadTool[],
  accepts: Accepts = () => false,
): ServiceTool[] {
  const before = new Map(known.map((tool) => [tool.name, tool]));
  const now = new Map(
    offered.map((read) => {
      const name = visible(read.definition.name).slice(0, 128);
      const accepted = before.get(name)?.accepted ?? null;
      const tool = mergeOne(read, { name, accepted, accepts });
      return [name, tool] as const;
    }),
  );
  const gone = known.flatMap((tool): ServiceTool[] =>
    now.has(tool.name) || tool.accepted === null ? [] : [{ ...tool, offered: null, problem: null }],
  );
  return [...now.values(), ...gone].slice(0, toolsMax);
}

function mergeOne(
  { definition, hash, usable, problem }: ReadTool,
  { name, accepted, accepts }: { name: string; accepted: Pinned | null; accepts: Accepts },
): ServiceTool {
  const offered: Pinned = { hash, definition, tool: usable };
  const isTaken = accepted === null && usable !== null && accepts(name);
  return { name, offered, accepted: isTaken ? offered : accepted, problem };
}

type McpTemplate = NonNullable<CompiledTemplate['mcp']>;

/** Tools may be called like what every object inherits. */
function overrideOf(
  mcp: Pick<McpTemplate, 'overrides'> | undefined,
  name: string,
): ToolOverride | undefined {
  return mcp && Object.hasOwn(mcp.overrides, name) ? mcp.overrides[name] : undefined;
}

/** What a toolset is stored as: everything that a call of any of its tools needs. */
export interface Toolset {
  readonly protocolVersion: string;
  readonly tools: readonly UsableTool[];
}

/** The tools that may be called; one that was accepted and is so no more is there, but disabled. */
export function toolsetOf(protocolVersion: string, tools: readonly ServiceTool[]): Toolset {
  const usable = tools.flatMap((tool): UsableTool[] => {
    const accepted = tool.accepted?.tool ?? null;
    if (accepted === null) return [];
    if (statusOf(tool) === 'available') return [accepted];
    // Of what nobody can call only the name is needed.
    const paramsSchema = { type: 'object', additionalProperties: false };
    const action = { ...accepted.action, params: [], paramsSchema, disabled: true };
    return [{ ...accepted, action }];
  });
  return { protocolVersion, tools: usable };
}

/** A template of runtime `mcp` with the tools of one service as its actions. */
export function withTools(template: CompiledTemplate, toolset: Toolset): CompiledTemplate {
  const { mcp } = template;
  if (mcp === undefined) return template;
  const actions = toolset.tools.map(({ action }) => {
    const { path } = mcp;
    return [action.key, { ...overridden(action, mcp).action, path }] as const;
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
 * What the template says of a tool. Where it speaks of a parameter that the tool does not have, the
 * tool is disabled: rules for it, or what is to be hidden, would silently mean nothing.
 */
export function overridden(
  action: CompiledAction,
  mcp: Pick<McpTemplate, 'overrides'> | undefined,
): { action: CompiledAction; problem: string | null } {
  const override = overrideOf(mcp, action.key);
  if (override === undefined) return { action, problem: null };
  const { risk, scopeParam, disclose, redact, disabled } = override;
  const known = new Set(action.params.map(({ name }) => name));
  const named = [
    ...(scopeParam === null ? [] : [scopeParam]),
    ...redact.map((path) => path.split('.')[1] ?? ''),
  ];
  const missing = named.find((each) => each !== '*' && !known.has(each));
  const scope = action.params.find(({ name }) => name === scopeParam);
  const unsuited = scope && unsuitedScope(scope.schema);
  const problem =
    missing !== undefined
      ? `The template speaks of its parameter "${missing}", which it does not have.`
      : unsuited !== undefined
        ? `The template puts its parameter "${scopeParam}" into permission keys; it ${unsuited}.`
        : null;
  const sentence =
    scopeParam === null ? [] : [{ optional: [{ text: ' for ' }, { param: scopeParam }] }];
  return {
    problem,
    action: {
      ...action,
      // A server's own warning counts whatever the template says (docs/reference/permissions.md#risk).
      risk: action.risk === 'delete' ? 'delete' : (risk ?? action.risk),
      scopeParam,
      description: [...action.description, ...sentence],
      disclose,
      redact: redact.flatMap((path) => {
        const rest = path.slice(path.indexOf('.'));
        return [`params${rest}`, `body${rest}`];
      }),
      disabled: action.disabled || disabled || problem !== null,
    },
  };
}
