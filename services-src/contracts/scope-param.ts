import { z } from 'zod';

/**
 * The most positions of a permission key, paths of one position, and values of one position in a
 * call. A call needs a separate key for each value.
 */
export const scopeLimits = { positions: 3, paths: 10, values: 20 } as const;

/**
 * One position of the last part of a permission key. `params` are the paths, such as
 * `fields.project.key`, at which a call's params contain its values. `label` is the word for the
 * values in sentences.
 */
export const scopePosition = z.strictObject({
  params: z.array(z.string().min(1).max(200)).min(1).max(scopeLimits.paths),
  label: z.string().min(1).max(40).optional(),
  /**
   * `email`: each value is exactly one mail address, in lower case. `lower`: the letter case
   * (ASCII) of values makes no difference.
   */
  as: z.enum(['email', 'lower']).optional(),
});
export type ScopePosition = z.infer<typeof scopePosition>;

/**
 * What becomes the last part of an action's permission keys: the value of the named parameter, or
 * of positions. The first release knows only parameters, and refuses a template with positions.
 */
export const scopeParam = z.union([
  z.string().max(200),
  z.array(scopePosition).min(1).max(scopeLimits.positions),
]);
export type ScopeParam = z.infer<typeof scopeParam>;
