import { blankAuditEntry } from '#contracts/audit';
import type { AuditEntry } from '#contracts/audit';
import type { CallFailure } from '#contracts/failure';
import { appendEvent } from '#events';
import type { createEvent } from '#events';
import type { Deps } from '../deps.ts';
import { endRefusal, markRefused } from './refusal.sql.ts';
import type { CredentialKind, MarkedCredential } from './refusal.sql.ts';

type NewEvent = Parameters<typeof createEvent>[0];

/** A credential that a request carried, as it was stored when the request was built. */
export interface CarriedCredential {
  readonly kind: CredentialKind;
  readonly id: string;
  /** The name of the credential in permission keys. */
  readonly name: string;
  readonly version: number;
  /** The version that is marked as refused; null when no version is. */
  readonly refusedVersion: number | null;
}

export interface AnsweredCall {
  readonly orgId: string;
  readonly credentials: readonly CarriedCredential[];
  /** Undefined when the call succeeded. */
  readonly failure: Pick<CallFailure, 'kind'> | undefined;
  readonly entry: AuditEntry;
}

/**
 * Marks the credentials that the provider refused for this call, and removes the mark from those
 * that it accepted, each with an event. The mark was read together with the value of the
 * credential, so the database is used only when the mark changes. Never fails the call
 * (docs/reference/credentials.md#refused-credentials).
 */
export async function noteAnswer(
  { db, vault, logger }: Pick<Deps, 'db' | 'vault' | 'logger'>,
  { orgId, credentials, failure, entry }: AnsweredCall,
): Promise<void> {
  const isRefused = failure?.kind === 'credential_refused';
  if (!isRefused && failure !== undefined) return;
  const changingCredentials = credentials.filter(({ version, refusedVersion }) =>
    isRefused ? refusedVersion !== version : refusedVersion !== null,
  );
  const changeState = isRefused ? markRefused : endRefusal;
  for (const credential of changingCredentials) {
    const { kind, id } = credential;
    try {
      await db.transaction(async (tx) => {
        const markedCredential = await changeState(tx, { ...credential, orgId });
        if (markedCredential === undefined) return;
        await appendEvent(
          tx,
          createRefusalEvent({ orgId, credential, marked: markedCredential, entry, isRefused }),
        );
      });
      if (kind === 'secret') vault.forget(id);
    } catch (error) {
      logger.warn({ err: error, credentialId: id }, 'state of a credential not stored');
    }
  }
}

function createRefusalEvent({
  orgId,
  credential: { kind, id, name },
  marked: { tier, ownerId, at },
  entry,
  isRefused,
}: {
  orgId: string;
  credential: CarriedCredential;
  marked: MarkedCredential;
  entry: AuditEntry;
  isRefused: boolean;
}): NewEvent {
  const { service } = entry;
  const text = `${service ?? 'The service'} ${isRefused ? 'refused' : 'accepted'} the ${kind} ${name}${isRefused ? '' : ' again'}`;
  return {
    type: isRefused ? 'credential.refused' : 'credential.accepted',
    orgId,
    audience: tier === 'user' && ownerId !== null ? [ownerId] : [],
    data: { kind, id, name, service, at: at.toISOString() },
    audit: {
      ...blankAuditEntry(text),
      user_id: entry.user_id,
      identity: entry.identity,
      service: entry.service,
      template: entry.template,
      action: entry.action,
      request_id: entry.request_id,
      trace_id: entry.trace_id,
      call_id: entry.call_id,
    },
  };
}
