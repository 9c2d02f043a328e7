import type { Database } from '#database';
import { repeat } from '#process';
import type { Logger } from '#telemetry';
import {
  touchAgentKeys,
  touchIdentities,
  touchOauthGrants,
  touchSessions,
} from './activity.sql.ts';
import type { UsedRow } from './activity.sql.ts';

export interface ActivityLog {
  note(usage: {
    orgId: string;
    identityId: string;
    credential: { kind: 'agent_key' | 'session' | 'access_token'; id: string };
  }): void;
}

const flushEveryMs = 10_000;
/**
 * When this many identities wait to be written, the log starts to write them at once. Until the
 * write starts, further uses are dropped.
 */
const pendingIdentitiesMax = 10_000;

/**
 * Collects which identities and credentials were used, and writes them to the database every ten
 * seconds, so that a single call causes no write.
 */
export function startActivityLog({
  db,
  logger,
}: {
  db: Database;
  logger: Logger;
}): ActivityLog & AsyncDisposable {
  let pendingUses = createEmptyBatch();

  const flush = async () => {
    const batch = pendingUses;
    pendingUses = createEmptyBatch();
    try {
      if (batch.identities.size > 0) await touchIdentities(db, [...batch.identities.values()]);
      if (batch.agent_key.size > 0) await touchAgentKeys(db, [...batch.agent_key.values()]);
      if (batch.access_token.size > 0) await touchOauthGrants(db, [...batch.access_token.values()]);
      if (batch.session.size > 0) await touchSessions(db, [...batch.session.values()]);
    } catch (error) {
      logger.warn({ err: error }, 'last activity could not be stored');
    }
  };
  const flushing = repeat(flushEveryMs, flush);

  return {
    note({ orgId, identityId, credential }) {
      if (pendingUses.identities.size >= pendingIdentitiesMax) return flushing.wake();
      pendingUses.identities.set(identityId, { orgId, id: identityId });
      pendingUses[credential.kind].set(credential.id, { orgId, id: credential.id });
    },
    async [Symbol.asyncDispose]() {
      await flushing[Symbol.asyncDispose]();
      await flush();
    },
  };
}

function createEmptyBatch() {
  return {
    identities: new Map<string, UsedRow>(),
    agent_key: new Map<string, UsedRow>(),
    session: new Map<string, UsedRow>(),
    access_token: new Map<string, UsedRow>(),
  };
}
