import type { CompiledAction, CompiledTemplate } from '#contracts/template';

/**
 * Whether deny rules match a call of this action also as the HTTP request that it sends, like a
 * call by method and path. This is so for an action that may carry other operations, and for every
 * action of a template that a member wrote: the member could otherwise give any request a name that
 * no deny rule of the org contains.
 */
export function isJudgedAsRequest(
  { tier }: Pick<CompiledTemplate, 'tier'>,
  { multiplex }: Pick<CompiledAction, 'multiplex'>,
): boolean {
  return tier === 'user' || multiplex === true;
}
