import type { Database } from '#database';
import { repeat } from '#process';
import type { Logger } from '#telemetry';
import {
  touchAgentKeys,
  touchIdentities,
  touchOauthGrants,
  touchSessions,
} from './repository/activity.ts';
import type { Used } from './repository/activity.ts';

export interface ActivityLog {
  note(use: {
    orgId: string;
    identityId: string;
    credential: { kind: 'agent_key' | 'session' | 'access_token'; id: string };
  }): void;
}

const flushEveryMs = 10_000;
/** More than this at once are written early, and further ones not at all until then. */
const waitingMax = 10_000;

/** Collects who was active and writes it every ten seconds: a call must not cost a write. */
export function startActivityLog({
  db,
  logger,
}: {
  db: Database;
  logger: Logger;
}): ActivityLog & AsyncDisposable {
  let waiting = emptyBatch();

  const flush = async () => {
    const batch = waiting;
    waiting = emptyBatch();
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
      if (waiting.identities.size >= waitingMax) return flushing.wake();
      waiting.identities.set(identityId, { orgId, id: identityId });
      waiting[credential.kind].set(credential.id, { orgId, id: credential.id });
    },
    async [Symbol.asyncDispose]() {
      await flushing[Symbol.asyncDispose]();
      await flush();
    },
  };
}

function emptyBatch() {
  return {
    identities: new Map<string, Used>(),
    agent_key: new Map<string, Used>(),
    session: new Map<string, Used>(),
    access_token: new Map<string, Used>(),
  };
}
