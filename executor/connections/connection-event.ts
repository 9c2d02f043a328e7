import { blankAuditEntry } from '#contracts/audit';
import type { createEvent } from '#events';
import { referenceOf } from '../credentials/domain/credential-rules.ts';
import { actorOf } from '../credentials/actor.ts';
import type { Actor } from '../credentials/actor.ts';
import type { StoredConnection } from './connection.sql.ts';

type NewEvent = Parameters<typeof createEvent>[0];
type ConnectionEventType =
  | 'connection.requested'
  | 'connection.created'
  | 'connection.changed'
  | 'connection.refreshed'
  | 'connection.needs_reauth'
  | 'connection.scopes_withheld'
  | 'connection.revoked';

interface ConnectionChange {
  readonly connection: StoredConnection;
  readonly text: string;
  /** The identity that made the change; null when the gateway made the change without a request. */
  readonly by: Actor | null;
  /** The page on which the owner repairs the connection. */
  readonly authUrl?: string;
}

/**
 * The event that announces a change to a connection, with its audit record. It contains names and
 * ids, never a token.
 */
export function createConnectionEvent(
  type: ConnectionEventType,
  { connection, text, by, authUrl }: ConnectionChange,
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
