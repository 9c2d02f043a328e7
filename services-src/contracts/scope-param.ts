import { z } from 'zod';

/** Positions of one permission key; values of one position for which a call needs separate keys. */
export const scopeLimits = { positions: 3, paths: 10, values: 20 } as const;

/**
 * One position of the last part of a permission key: the paths in the params of a call at which its
 * values stand, such as `fields.project.key`, and the word for them in sentences.
 */
export const scopePosition = z.strictObject({
  params: z.array(z.string().min(1).max(200)).min(1).max(scopeLimits.paths),
  label: z.string().min(1).max(40).optional(),
  /**
   * `email`: each value is exactly one mail address, in lower case. `lower`: capital letters (ASCII)
   * do not count.
   */
  as: z.enum(['email', 'lower']).optional(),
});
export type ScopePosition = z.infer<typeof scopePosition>;

/**
 * What becomes the last part of an action's permission keys. A parameter by its name is the form of
 * the first release; a component of that release refuses a template with positions as a whole.
 */
export const scopeParam = z.union([
  z.string().max(200),
  z.array(scopePosition).min(1).max(scopeLimits.positions),
]);
export type ScopeParam = z.infer<typeof scopeParam>;
