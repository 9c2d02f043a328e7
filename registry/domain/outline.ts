import type { CompiledTemplate } from '#contracts/template';
import { enabledActions } from './present-template.ts';

/** A compiled template without its actions: what lists show, and hosts are looked up in. */
export type TemplateOutline = Omit<CompiledTemplate, 'actions'> & { readonly actionsCount: number };

export function outlineOf(template: CompiledTemplate): TemplateOutline {
  const { actions: _actions, ...rest } = template;
  return { ...rest, actionsCount: enabledActions(template).length };
}
