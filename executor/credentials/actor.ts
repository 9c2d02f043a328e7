import type { CallContext, IdentityReference, Principal } from '#contracts/vocabulary';

/** The identity that changes a credential, and the context of its request. */
export interface Actor {
  readonly principal: Principal;
  /** Null for changes that the registry makes while it connects a service. */
  readonly context: CallContext | null;
}

/** The identity that made a change, as the fields of an audit record. */
export function actorOf({ principal, context }: Actor) {
  const { credential, userId } = principal;
  return {
    user_id: userId,
    identity: identityOf(principal),
    credential: { kind: credential.kind, id: credential.id, client_id: credential.clientId },
    request_id: context?.requestId ?? null,
    trace_id: context?.traceId ?? null,
    ip: context?.ip ?? null,
  };
}

/** The identity as the audit log and pages show it. */
export function identityOf({ chain, identityId, kind }: Principal): IdentityReference {
  const path = chain.map(({ name }) => name);
  return { id: identityId, kind, name: path.at(-1) ?? '', path };
}
