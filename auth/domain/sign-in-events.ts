import { blankAuditEntry } from '#contracts/audit';
import type { Event } from '#contracts/events';
import type { CallContext } from '#contracts/vocabulary';
import { auditOf } from './audit-entry.ts';
import type { Change } from './identity-events.ts';

interface SignedIn {
  readonly orgId: string;
  readonly user: { readonly id: string; readonly name: string };
  readonly context: CallContext;
}

/** Somebody without a principal yet: the user itself, as far as it is known. */
function auditOfUser({ user, context }: SignedIn, description: string) {
  return {
    ...blankAuditEntry(description),
    user_id: user.id,
    identity: { id: user.id, kind: 'user' as const, name: user.name, path: [user.name] },
    request_id: context.requestId,
    trace_id: context.traceId,
    ip: context.ip,
  };
}

export function sessionCreated(who: SignedIn, session: { id: string; how: string }) {
  return {
    type: 'session.created',
    orgId: who.orgId,
    audience: [who.user.id],
    data: { session_id: session.id, identity_id: who.user.id },
    audit: {
      ...auditOfUser(who, `${who.user.name} signed in ${session.how}.`),
      credential: { kind: 'session', id: session.id, client_id: null },
    },
  } as const;
}

/** Only of accounts that exist, and as often as they may be tried. */
export function signInFailed(who: SignedIn) {
  return {
    type: 'sign_in.failed',
    orgId: who.orgId,
    audience: [who.user.id],
    data: { identity_id: who.user.id },
    audit: auditOfUser(who, `Somebody tried to sign in as ${who.user.name} with a wrong password.`),
  } as const;
}

/** A user who came by a provider for the first time. */
export function userAdmitted(who: SignedIn, provider: { name: string }) {
  return {
    type: 'identity.created',
    orgId: who.orgId,
    audience: [who.user.id],
    data: {
      identity_id: who.user.id,
      kind: 'user',
      name: who.user.name,
      parent_id: null,
      owner_id: who.user.id,
    },
    audit: auditOfUser(who, `${provider.name} admitted the user ${who.user.name}.`),
  } as const;
}

/** What an admin or the person itself changed, in one sentence. */
export function accountChanged(
  type:
    | 'org.changed'
    | 'password.changed'
    | 'session.ended'
    | 'sign_in_link.created'
    | 'sign_in_provider.changed'
    | 'user.invited',
  { caller, context }: Change,
  change: {
    audience: readonly string[];
    data: Event['data'];
    description: string;
  },
) {
  const { audience, data, description } = change;
  return {
    type,
    orgId: caller.orgId,
    audience,
    data,
    audit: auditOf(caller, context, description),
  };
}
