import type { TemplateReference } from '#contracts/call';
import type { CompiledTemplate } from '#contracts/template';
import { toShownName } from './hidden-text.ts';

/**
 * The title of a service for people who decide about its calls. A template of a single user has
 * none: a member could otherwise give its own template the title of another service, which people
 * trust more.
 */
export function serviceTitleOf(
  { tier }: Pick<TemplateReference, 'tier'>,
  template: Pick<CompiledTemplate, 'title'> | undefined,
): string | undefined {
  return tier === 'user' || template === undefined ? undefined : toShownName(template.title);
}
