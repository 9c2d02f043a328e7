import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { findPossibleOperations, isPlainPath, isSameMethod } from '#templates';

/**
 * The action that a call by HTTP method and path reaches, in the parts of a template whose servers
 * have the path. If the server may choose among several operations, the redactions of all of them
 * apply. For a path that servers interpret in several ways, the redactions of all operations with
 * this method apply.
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
