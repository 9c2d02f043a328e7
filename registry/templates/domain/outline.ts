import type { CompiledTemplate } from '#contracts/template';
import { enabledActions } from './enabled-actions.ts';

/** A compiled template without its actions. Lists and searches by host need no more. */
export type TemplateOutline = Omit<CompiledTemplate, 'actions'> & { readonly actionsCount: number };

export function outlineOf(template: CompiledTemplate): TemplateOutline {
  const { actions: _actions, ...rest } = template;
  return { ...rest, actionsCount: enabledActions(template).length };
}
