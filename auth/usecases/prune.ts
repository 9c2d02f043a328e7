import type { Logger } from '#telemetry';
import type { Deps } from '../deps.ts';
import { pruneOauthClients } from '../repository/oauth-clients.ts';
import { pruneOauthGrants } from '../repository/oauth-grants.ts';
import { pruneInteractions } from '../repository/oauth-interactions.ts';
import { pruneOauthTokens } from '../repository/oauth-tokens.ts';
import { pruneSessions } from '../repository/sessions.ts';
import { pruneSignInAttempts } from '../repository/sign-in-attempts.ts';
import { pruneSignInDevices } from '../repository/sign-in-devices.ts';
import { pruneFlows } from '../repository/sign-in-flows.ts';
import { pruneSignInLinks } from '../repository/sign-in-links.ts';

/** Removes what ended long ago. Any replica may, at any time. */
export async function prune({ db }: Pick<Deps, 'db'>, logger: Logger): Promise<void> {
  try {
    await pruneSessions(db);
    await pruneSignInLinks(db);
    await pruneFlows(db);
    await pruneSignInAttempts(db);
    await pruneSignInDevices(db);
    await pruneInteractions(db);
    await pruneOauthTokens(db);
    await pruneOauthGrants(db);
    await pruneOauthClients(db);
  } catch (error) {
    logger.warn({ err: error }, 'what has ended could not be pruned yet');
  }
}
