import type { ApprovalResponse } from '#contracts/http/approvals';
import type { Connection } from '#contracts/http/connections';
import type { Me } from '#contracts/http/identities';
import type { Secret } from '#contracts/http/secrets';

export interface RefusedCredential {
  readonly kind: 'secret' | 'connection';
  readonly name: string;
  readonly refusedAt: string;
  /**
   * The page on which this person can connect the account again. Null for a secret, and for an
   * account that this person cannot connect.
   */
  readonly repairPath: string | null;
}

type ShownApproval = Pick<ApprovalResponse, 'request' | 'requester' | 'may_resolve'>;
type Stored = Pick<Secret, 'name' | 'tier' | 'owner_id' | 'refused_at'>;

const orgPrefix = 'org/';

/**
 * The names of the call's credentials that this person can look up: those of the org, and the
 * person's own. On the card of another user's agent, a bare name means that user's credential.
 */
export function namesToLookUp(me: Pick<Me, 'id' | 'role'>, approval: ShownApproval) {
  const isOwnCall = (approval.may_resolve[0] ?? approval.requester.id) === me.id;
  const names = approval.request.credentials
    .filter(({ name }) => me.role !== 'auditor' && (isOwnCall || name.startsWith(orgPrefix)))
    .map(({ kind, name }) => ({ kind, name }));
  return {
    secrets: names.filter(({ kind }) => kind === 'secret').map(({ name }) => name),
    connections: names.filter(({ kind }) => kind === 'connection').map(({ name }) => name),
  };
}

/** The credentials of the call that the provider refused, as far as this person can see them. */
export function refusedCredentialsOf(
  me: Pick<Me, 'id' | 'role'>,
  approval: ShownApproval,
  stored: { readonly secrets: readonly Stored[]; readonly connections: readonly Connection[] },
): RefusedCredential[] {
  const { secrets, connections } = namesToLookUp(me, approval);
  return [
    ...refusedAmong(me, secrets, stored.secrets).map(({ name, refusedAt }) => ({
      kind: 'secret' as const,
      name,
      refusedAt,
      repairPath: null,
    })),
    ...refusedAmong(me, connections, stored.connections).map(({ name, refusedAt, credential }) => ({
      kind: 'connection' as const,
      name,
      refusedAt,
      repairPath:
        credential.tier === 'user' || me.role === 'admin'
          ? `/connect/repair/${credential.id}`
          : null,
    })),
  ];
}

function refusedAmong<Credential extends Stored>(
  me: Pick<Me, 'id'>,
  names: readonly string[],
  stored: readonly Credential[],
): { name: string; refusedAt: string; credential: Credential }[] {
  return [...new Set(names)].flatMap((name) => {
    const isOfOrg = name.startsWith(orgPrefix);
    const credential = stored.find(
      (each) =>
        each.name === (isOfOrg ? name.slice(orgPrefix.length) : name) &&
        (isOfOrg ? each.tier === 'org' : each.tier === 'user' && each.owner_id === me.id),
    );
    const refusedAt = credential?.refused_at ?? null;
    return credential === undefined || refusedAt === null ? [] : [{ name, refusedAt, credential }];
  });
}
