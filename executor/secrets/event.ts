import { blankAuditEntry } from '#contracts/audit';
import type { Principal } from '#contracts/vocabulary';
import type { createEvent } from '#events';
import { referenceOf } from '../domain/secret-rules.ts';
import type { StoredSecret } from '../repository/secret.ts';

/** The announcement of a change to a secret, with its audit row. Names and ids; never a value. */
export function secretEvent(
  type: 'secret.created' | 'secret.changed' | 'secret.deleted',
  { principal, secret, text }: { principal: Principal; secret: StoredSecret; text: string },
): Parameters<typeof createEvent>[0] {
  const { chain, credential, orgId, userId } = principal;
  const caller = chain.at(-1);
  return {
    type,
    orgId,
    audience: [userId],
    data: {
      secret_id: secret.id,
      name: referenceOf(secret),
      tier: secret.tier,
      version: secret.currentVersion,
    },
    audit: {
      ...blankAuditEntry(text.slice(0, 2_000)),
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
    },
  };
}
