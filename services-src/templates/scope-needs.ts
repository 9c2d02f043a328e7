import type { CompiledAction } from '#contracts/template';

type SecuredAction = Pick<CompiledAction, 'security' | 'minimumScopes'>;

/**
 * The lists of scopes of which an action needs one of a token that is sent by the security scheme
 * `scheme`. `schemes` are those by which the service is connected. Null when the action cannot be
 * called by these.
 */
export function scopeNeedsOf(
  { security, minimumScopes }: SecuredAction,
  { schemes, scheme }: { schemes: readonly string[]; scheme: string },
): readonly (readonly string[])[] | null {
  // A template that an earlier release compiled has the scopes of its first alternative alone.
  if (security === undefined) return [minimumScopes ?? []];
  if (security.length === 0) return [[]];
  const servableRequirements = security.filter((requirement) =>
    Object.keys(requirement).every((each) => schemes.includes(each)),
  );
  return servableRequirements.length === 0
    ? null
    : servableRequirements.map((requirement) => requirement[scheme] ?? []);
}

/** Whether an action can be called by the security schemes by which the service is connected. */
export function isServedBy(action: SecuredAction, schemes: readonly string[]): boolean {
  return scopeNeedsOf(action, { schemes, scheme: '' }) !== null;
}
