import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { findOperations } from '#templates';

/** The action of a template that a method and path belong to, if any. */
export function findOperation(
  template: CompiledTemplate,
  request: { method: string; path: string },
): CompiledAction | undefined {
  return findOperations(template, request)[0]?.action;
}
