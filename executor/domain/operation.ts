import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { findOperations, findServedOperations } from '#templates';

/** The action of a template that a method and path belong to, if any. */
export function findOperation(
  template: CompiledTemplate,
  request: { method: string; path: string },
): CompiledAction | undefined {
  return findOperations(template, request)[0]?.action;
}

/**
 * The action that a verb call amounts to. Where it may be several, as the server will decide,
 * what any of them would hide is hidden.
 */
export function servedOperation(
  template: CompiledTemplate,
  request: { method: string; path: string },
): CompiledAction | undefined {
  const { listed, alike } = findServedOperations(template, request);
  const found = [...listed, ...alike].map(({ action }) => action);
  const [first] = found;
  return first && { ...first, redact: [...new Set(found.flatMap(({ redact }) => redact))] };
}
