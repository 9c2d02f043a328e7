import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { actionBaseUrl, reasonOff } from '#templates';

/** The actions of a template that callers can see and call. */
export function enabledActions(template: CompiledTemplate): CompiledAction[] {
  return Object.values(template.actions).filter((action) => !action.disabled);
}

/**
 * Why an action is off in a service at this base URL; undefined when it is not
 * (docs/reference/templates.md#servers-of-operations).
 */
export function reasonOffAt(
  template: Pick<CompiledTemplate, 'server' | 'servers'>,
  action: Pick<CompiledAction, 'server'>,
  baseUrl: string,
): string | undefined {
  return actionBaseUrl(template, action, baseUrl) === undefined
    ? `${reasonOff(action)}.`
    : undefined;
}
