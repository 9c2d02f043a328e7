import type { Identity } from '#contracts/http/identities';
import type { Rule } from '#contracts/http/rules';

/** A rule that applies to an agent. */
export interface Permission {
  readonly rule: Rule;
  /** Where the rule is: on the agent itself, on an identity above it, or on the whole org. */
  readonly place: 'own' | 'above' | 'org';
  /** The name of the identity that the rule is on; null for a rule of the org. */
  readonly holderName: string | null;
}

/**
 * The rules that apply to an agent (docs/reference/permissions.md#the-walk). `chain` lists the
 * agent and the identities above it, up to its user. A deny rule also applies to everything below
 * its identity. An allow rule does so only as long as each subagent on the way inherits.
 */
export function permissionsOf(
  chain: readonly Identity[],
  rules: readonly Rule[],
): { allows: Permission[]; denies: Permission[] } {
  const breakIndex = chain.findIndex(
    ({ kind, inherit_permissions }) => kind === 'subagent' && !inherit_permissions,
  );
  const inheritedFrom = breakIndex === -1 ? chain.length : breakIndex + 1;
  const permissions = rules.flatMap((rule): Permission[] => {
    if (rule.identity_id === null) return [{ rule, place: 'org', holderName: null }];
    const level = chain.findIndex(({ id }) => id === rule.identity_id);
    const holderName = chain[level]?.name;
    if (holderName === undefined) return [];
    if (rule.effect === 'allow' && level >= inheritedFrom) return [];
    return [{ rule, place: level === 0 ? 'own' : 'above', holderName }];
  });
  const sorted = permissions.toSorted((one, other) => orderOf(one) - orderOf(other));
  return {
    allows: sorted.filter(({ rule }) => rule.effect === 'allow'),
    denies: sorted.filter(({ rule }) => rule.effect === 'deny'),
  };
}

const places = ['own', 'above', 'org'];
const orderOf = ({ place }: Permission) => places.indexOf(place);

/** Who made the rule, as the beginning of a sentence: `You`, `ann`, `Somebody else`. */
export function makerOf(
  rule: Rule,
  makers: Readonly<Record<string, string>>,
  me: { readonly id: string },
): string {
  if (rule.created_by === me.id) return 'You';
  return makers[rule.created_by] ?? 'Somebody else';
}
