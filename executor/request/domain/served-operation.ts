import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { findPossibleOperations, isPlainPath, isSameMethod } from '#templates';

/**
 * The action whose operation a call by HTTP method and path reaches, in the parts of a template whose
 * servers have the path. When the server may choose among several operations, the values that any of
 * them redacts are redacted; for a path that servers read in several ways, those of every operation
 * with the method.
 */
export function findServedOperation(
  parts: readonly { readonly template: CompiledTemplate; readonly path: string }[],
  method: string,
): CompiledAction | undefined {
  const operation = parts.flatMap(({ template, path }) => {
    const operations = isPlainPath(path)
      ? findPossibleOperations(template, { method, path })
      : undefined;
    return operations === undefined
      ? Object.values(template.actions).filter((each) => isSameMethod(each.method, method))
      : operations.map(({ action }) => action);
  });
  const [first] = operation;
  return first && { ...first, redact: [...new Set(operation.flatMap(({ redact }) => redact))] };
}
