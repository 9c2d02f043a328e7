import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { Risk } from '#contracts/vocabulary';
import { digestOf } from '#signing';

const riskRank = { read: 0, write: 1, delete: 2 } as const satisfies Record<Risk, number>;

/**
 * Whether the accepted tools of an MCP server comply with its template. The template does not list
 * the tools, but it fixes their address, their lowest risk, and what is disclosed and redacted.
 */
export function obeysTemplate({ mcp, actions }: CompiledTemplate): boolean {
  if (mcp === undefined) return true;
  return Object.entries(actions).every(([name, action]) => {
    const toolOverride = Object.hasOwn(mcp.overrides, name) ? mcp.overrides[name] : undefined;
    const hasToolAddress =
      action.key === name && action.method === 'POST' && action.path === mcp.path;
    const isRiskHighEnough = riskRank[action.risk] >= riskRank[toolOverride?.risk ?? 'write'];
    if (!hasToolAddress || !isRiskHighEnough) return false;
    if (toolOverride === undefined) return true;
    return (
      (action.disabled || !toolOverride.disabled) &&
      digestOf(action.scopeParam) === digestOf(toolOverride.scopeParam) &&
      digestOf(action.disclose) === digestOf(toolOverride.disclose) &&
      redactsAll(action, toolOverride.redact)
    );
  });
}

/**
 * Whether the action redacts all of these paths. Params and body contain the same arguments, so
 * each path must be redacted in both.
 */
function redactsAll({ redact }: CompiledAction, redactedFields: readonly string[]): boolean {
  return redactedFields.every((path) => {
    const pathRest = path.slice(path.indexOf('.'));
    return redact.includes(`params${pathRest}`) && redact.includes(`body${pathRest}`);
  });
}
