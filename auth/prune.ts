import { deleteInParts } from '#database';
import type { Logger } from '#telemetry';
import type { Deps } from './deps.ts';
import { pruneOauthClients } from './oauth-clients/oauth-clients.sql.ts';
import { pruneOauthGrants } from './oauth-clients/oauth-grants.sql.ts';
import { pruneInteractions } from './oauth/oauth-interactions.sql.ts';
import { pruneOauthTokens } from './oauth/oauth-tokens.sql.ts';
import { pruneSessions } from './sessions/sessions.sql.ts';
import { pruneSignInAttempts } from './passwords/sign-in-attempts.sql.ts';
import { pruneSignInDevices } from './sessions/sign-in-devices.sql.ts';
import { pruneSignInFlows } from './sign-in-providers/sign-in-flows.sql.ts';
import { pruneSignInLinks } from './sign-in-links/sign-in-links.sql.ts';

/** The order matters: a grant is deleted after its tokens, and a client after its grants. */
const prunings = [
  pruneSessions,
  pruneSignInLinks,
  pruneSignInFlows,
  pruneSignInAttempts,
  pruneSignInDevices,
  pruneInteractions,
  pruneOauthTokens,
  pruneOauthGrants,
  pruneOauthClients,
];

/**
 * Deletes rows that ended long ago. Every replica runs this once an hour; running it twice does no
 * harm.
 */
export async function pruneEndedRows({ db }: Pick<Deps, 'db'>, logger: Logger): Promise<void> {
  try {
    for (const prune of prunings) await deleteInParts((limit) => prune(db, limit));
  } catch (error) {
    logger.warn({ err: error }, 'what has ended could not be pruned yet');
  }
}
