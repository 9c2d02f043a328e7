import type { CompiledAction } from '#contracts/template';

type SecuredAction = Pick<CompiledAction, 'security' | 'minimumScopes'>;

/**
 * The alternative lists of scopes of an action, for tokens that are sent with the security scheme
 * `scheme`. One list is enough. `schemes` are the security schemes with which the service is
 * connected. Null when the action cannot be called with them.
 */
export function scopeNeedsOf(
  { security, minimumScopes }: SecuredAction,
  { schemes, scheme }: { schemes: readonly string[]; scheme: string },
): readonly (readonly string[])[] | null {
  // A template that an earlier release compiled has only the scopes of its first alternative.
  if (security === undefined) return [minimumScopes ?? []];
  if (security.length === 0) return [[]];
  const servableRequirements = security.filter((requirement) =>
    Object.keys(requirement).every((each) => schemes.includes(each)),
  );
  return servableRequirements.length === 0
    ? null
    : servableRequirements.map((requirement) => requirement[scheme] ?? []);
}

/**
 * Whether an action can be called with the security schemes with which the service is connected.
 */
export function isServedBy(action: SecuredAction, schemes: readonly string[]): boolean {
  return scopeNeedsOf(action, { schemes, scheme: '' }) !== null;
}
