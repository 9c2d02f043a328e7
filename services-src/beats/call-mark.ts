import { hash } from 'node:crypto';

/**
 * The name under which beats mention a call. It is a digest, so nobody can compute the call's audit
 * id from it.
 */
export function callMarkOf(auditId: string): string {
  return hash('sha256', `call\0${auditId}`, 'base64url').slice(0, 16);
}
