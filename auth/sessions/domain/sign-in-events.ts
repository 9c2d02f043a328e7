import { blankAuditEntry } from '#contracts/audit';
import type { CallContext } from '#contracts/vocabulary';

interface UserFields {
  readonly orgId: string;
  readonly user: { readonly id: string; readonly name: string };
  readonly context: CallContext;
}

/**
 * Builds the audit entry for a user who has no principal yet, because the sign-in is not finished.
 */
function auditEntryOfUser({ user, context }: UserFields, description: string) {
  return {
    ...blankAuditEntry(description),
    user_id: user.id,
    identity: { id: user.id, kind: 'user' as const, name: user.name, path: [user.name] },
    request_id: context.requestId,
    trace_id: context.traceId,
    ip: context.ip,
  };
}

export function sessionCreatedEvent(userFields: UserFields, session: { id: string; how: string }) {
  return {
    type: 'session.created',
    orgId: userFields.orgId,
    audience: [userFields.user.id],
    data: { session_id: session.id, identity_id: userFields.user.id },
    audit: {
      ...auditEntryOfUser(userFields, `${userFields.user.name} signed in ${session.how}.`),
      credential: { kind: 'session', id: session.id, client_id: null },
    },
  } as const;
}

/**
 * Builds the event about a wrong password for an existing account. The limit on sign-in attempts
 * also limits the number of these events.
 */
export function signInFailedEvent(userFields: UserFields) {
  return {
    type: 'sign_in.failed',
    orgId: userFields.orgId,
    audience: [userFields.user.id],
    data: { identity_id: userFields.user.id },
    audit: auditEntryOfUser(
      userFields,
      `Somebody tried to sign in as ${userFields.user.name} with a wrong password.`,
    ),
  } as const;
}

/** Builds the event about a user whom a sign-in provider admitted for the first time. */
export function userAdmittedEvent(userFields: UserFields, provider: { name: string }) {
  return {
    type: 'identity.created',
    orgId: userFields.orgId,
    audience: [userFields.user.id],
    data: {
      identity_id: userFields.user.id,
      kind: 'user',
      name: userFields.user.name,
      parent_id: null,
      owner_id: userFields.user.id,
    },
    audit: auditEntryOfUser(
      userFields,
      `${provider.name} admitted the user ${userFields.user.name}.`,
    ),
  } as const;
}
