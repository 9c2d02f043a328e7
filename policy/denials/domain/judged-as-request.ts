import type { CompiledAction, CompiledTemplate } from '#contracts/template';

/**
 * Whether deny rules match a call of this action also as the request that it sends, as they do for a
 * call by method and path: an action that may carry other operations, and one of a template that a
 * member wrote, who could otherwise give any request a name that no deny rule of the org has.
 */
export function isJudgedAsRequest(
  { tier }: Pick<CompiledTemplate, 'tier'>,
  { multiplex }: Pick<CompiledAction, 'multiplex'>,
): boolean {
  return tier === 'user' || multiplex === true;
}
