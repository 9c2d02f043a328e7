import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { findServedOperations, isSameMethod } from '#templates';

/**
 * The action that a verb call amounts to. Where it may be several, as the server will decide,
 * what any of them would hide is hidden.
 */
export function servedOperation(
  template: CompiledTemplate,
  request: { method: string; path: string },
): CompiledAction | undefined {
  const served = findServedOperations(template, request);
  const found =
    served === undefined
      ? Object.values(template.actions).filter(({ method }) => isSameMethod(method, request.method))
      : [...served.listed, ...served.alike].map(({ action }) => action);
  const [first] = found;
  return first && { ...first, redact: [...new Set(found.flatMap(({ redact }) => redact))] };
}
