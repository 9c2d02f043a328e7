import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { Risk } from '#contracts/vocabulary';
import { digestOf } from '#signing';

const risks = { read: 0, write: 1, delete: 2 } as const satisfies Record<Risk, number>;

/**
 * Whether the accepted tools of an MCP server keep to its template. The template does not say which
 * tools are accepted, but it fixes where they are called, their least risk, and what of them is
 * disclosed and redacted.
 */
export function obeysTemplate({ mcp, actions }: CompiledTemplate): boolean {
  if (mcp === undefined) return true;
  return Object.entries(actions).every(([name, action]) => {
    const override = Object.hasOwn(mcp.overrides, name) ? mcp.overrides[name] : undefined;
    const isAddressed = action.key === name && action.method === 'POST' && action.path === mcp.path;
    const isRated = risks[action.risk] >= risks[override?.risk ?? 'write'];
    if (!isAddressed || !isRated) return false;
    if (override === undefined) return true;
    return (
      (action.disabled || !override.disabled) &&
      action.scopeParam === override.scopeParam &&
      digestOf(action.disclose) === digestOf(override.disclose) &&
      hidesAll(action, override.redact)
    );
  });
}

/** The arguments are the params and the body of a call alike, so one spelling is written for both. */
function hidesAll({ redact }: CompiledAction, wanted: readonly string[]): boolean {
  return wanted.every((path) => {
    const rest = path.slice(path.indexOf('.'));
    return redact.includes(`params${rest}`) && redact.includes(`body${rest}`);
  });
}
