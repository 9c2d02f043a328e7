import { AppError } from '#errors';
import type { Deps } from '../deps.ts';

/**
 * Throws `unavailable` while no record leaves the outbox because the stream AUDIT is full or
 * missing. Otherwise calls would go on without an audit log, and the outbox would grow until the
 * disk of Postgres is full.
 */
export function requireAudit({ relay }: Pick<Deps, 'relay'>): void {
  if (!relay.isAuditBlocked()) return;
  throw new AppError(
    'unavailable',
    'The stream AUDIT, which takes the records of calls, is full or missing, so nothing was sent. Calls work again by themselves once an operator has started the component audit, or run migrate for a missing stream; try again then.',
    { details: { unsent: true } },
  );
}
