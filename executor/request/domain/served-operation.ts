import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { findServedOperations, isSameMethod } from '#templates';

/**
 * The action whose operation a call by HTTP method and path reaches, in the parts of a template whose
 * servers have the path. When the server may choose among several operations, the values that any of
 * them redacts are redacted.
 */
export function findServedOperation(
  parts: readonly { readonly template: CompiledTemplate; readonly path: string }[],
  method: string,
): CompiledAction | undefined {
  const operation = parts.flatMap(({ template, path }) => {
    const servedOperations = findServedOperations(template, { method, path });
    return servedOperations === undefined
      ? Object.values(template.actions).filter((each) => isSameMethod(each.method, method))
      : [...servedOperations.listed, ...servedOperations.alike].map(({ action }) => action);
  });
  const [first] = operation;
  return first && { ...first, redact: [...new Set(operation.flatMap(({ redact }) => redact))] };
}
