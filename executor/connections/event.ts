import { blankAuditEntry } from '#contracts/audit';
import type { CallContext, Principal } from '#contracts/vocabulary';
import type { createEvent } from '#events';
import { referenceOf } from '../domain/credential-rules.ts';
import type { StoredConnection } from '../repository/connection.ts';

type NewEvent = Parameters<typeof createEvent>[0];
type ConnectionEventType =
  | 'connection.requested'
  | 'connection.created'
  | 'connection.changed'
  | 'connection.refreshed'
  | 'connection.needs_reauth'
  | 'connection.revoked';

export interface Actor {
  readonly principal: Principal;
  /** Null for what the registry does while it connects a service. */
  readonly context: CallContext | null;
}

interface Change {
  readonly connection: StoredConnection;
  readonly text: string;
  /** Who did it; null for what the gateway noticed or did by itself. */
  readonly by: Actor | null;
  /** Where the owner repairs it. */
  readonly authUrl?: string;
}

/** The announcement of a change to a connection, with its audit row. Names and ids; never a token. */
export function connectionEvent(
  type: ConnectionEventType,
  { connection, text, by, authUrl }: Change,
): NewEvent {
  const owner = connection.ownerId ?? by?.principal.userId;
  return {
    type,
    orgId: connection.orgId,
    audience: owner === undefined ? [] : [owner],
    data: {
      connection_id: connection.id,
      name: referenceOf(connection),
      provider: connection.provider,
      tier: connection.tier,
      ...(authUrl === undefined ? {} : { auth_url: authUrl }),
    },
    audit: { ...blankAuditEntry(text), user_id: connection.ownerId, ...(by && actorOf(by)) },
  };
}

/** Who acted, in the fields of an audit row. */
export function actorOf({ principal, context }: Actor) {
  const { chain, credential, userId } = principal;
  const caller = chain.at(-1);
  return {
    user_id: userId,
    identity: caller
      ? {
          id: caller.id,
          kind: caller.kind,
          name: caller.name,
          path: chain.map(({ name }) => name),
        }
      : null,
    credential: { kind: credential.kind, id: credential.id, client_id: credential.clientId },
    request_id: context?.requestId ?? null,
    trace_id: context?.traceId ?? null,
    ip: context?.ip ?? null,
  };
}
