import { randomBytes } from 'node:crypto';

import { busServerOf, connectBus, serve } from '#bus';
import type { InProcess } from '#bus';
import { deriveBaseUrl, principalKeyNames, revealKeys } from '#config';
import { auth } from '#contracts/bus/auth';
import type { DecisionStatement } from '#contracts/decision';
import type { Principal } from '#contracts/vocabulary';
import { openOwnDatabase } from '#database';
import type { Database } from '#database';
import { openEgress, readEgressSettings } from '#egress';
import type { Egress } from '#egress';
import { startRelay } from '#events';
import type { RunningComponent } from '#process';
import { repeat } from '#process';
import { busCheck, databaseChecks, watchReadiness } from '#readiness';
import { createPrincipalReader, createPublicSigner, createSigner } from '#signing';
import { createLogger } from '#telemetry';
import { startActivityLog } from './authentication/activity-log.ts';
import type { AuthConfig } from './config.ts';
import { dropCredentialsOnChange } from './consumers.ts';
import type { Deps } from './deps.ts';
import { createHandlers } from './handlers.ts';
import { createClientDocuments } from './oauth/client-document.ts';
import { startOauthListener } from './oauth/listener.ts';
import { createOpenidProviders } from './sign-in-providers/openid.ts';
import { createPasswordHasher } from './passwords/password-hasher.ts';
import { createSignInProviders } from './sign-in-providers/sign-in-providers.ts';
import { useDecisionKey } from './decisions/decision-keys.sql.ts';
import { issueFirstSignInLink } from './sign-in-links/issue-first-sign-in-link.ts';
import { pruneEndedRows } from './prune.ts';
import { createCredentialCache } from './authentication/credential-cache.ts';

export type RunningAuth = RunningComponent & {
  /** The address that the gateway forwards OAuth requests to. */
  readonly oauthUrl: string;
  /** The one-time link of the first admin; null when this start created no link. */
  readonly firstSignInUrl: string | null;
};

const pruneEveryMs = 3_600_000;

/**
 * Starts the auth component. In a new deployment, first creates the org and its admin. Disposing
 * the result stops everything in the reverse order.
 */
export async function startAuth(
  config: AuthConfig,
  { local }: InProcess = {},
): Promise<RunningAuth> {
  const logger = createLogger({ component: 'auth', level: config.LOG_LEVEL });

  await using startup = new AsyncDisposableStack();
  const db = startup.use(await openOwnDatabase(config, { schema: 'auth', logger }));
  const bus = startup.use(await connectBus({ ...busServerOf(config), name: 'auth', local }));
  const relay = startup.use(startRelay({ db, bus, owner: 'auth', logger }));

  const baseUrl = new URL(deriveBaseUrl(config)).origin;
  const egress = startup.use(openEgress({ ...readEgressSettings(config), logger }));
  const decisionSigner = createPublicSigner<DecisionStatement>(
    'decision',
    config.DECISION_KEY.reveal(),
  );
  await useDecisionKey(db, { id: decisionSigner.keyId, publicKey: decisionSigner.publicKey });
  const signer = createSigner<Principal>('principal', ...revealKeys(config, principalKeyNames));
  const now = Date.now;
  const deps: Deps = {
    db,
    signer,
    decisionSigner,
    readPrincipal: createPrincipalReader(config.PRINCIPAL_KEY_AUTH.reveal()),
    credentials: createCredentialCache({ db, signer, now }),
    activityLog: startup.use(startActivityLog({ db, logger })),
    passwordHasher: createPasswordHasher(),
    providers: openSignInProviders(config, { db, baseUrl, egress }),
    baseUrl,
    logger,
    now,
    randomBytes,
  };
  const { redirectSchemes } = oauthSettingsOf(config);
  const clientDocuments = createClientDocuments({ db, egress, logger, redirectSchemes });
  startup.use(dropCredentialsOnChange(bus, deps.credentials));
  const firstSignInUrl = await issueFirstSignInLink(deps, {
    always: config.SIGN_IN_LINK === 'always',
  });
  startup.use(repeat(pruneEveryMs, () => pruneEndedRows(deps, logger)));
  const { url: oauthUrl } = startup.use(
    await startOauthListener(
      { ...deps, egress, clientDocuments, ...oauthSettingsOf(config) },
      config,
    ),
  );
  const readiness = startup.use(
    await watchReadiness({ checks: [...databaseChecks(db), busCheck(bus)], logger }),
  );
  startup.use(await serve(bus, auth, createHandlers(deps, relay), { logger, readiness }));

  logger.info('started');
  const runningStack = startup.move();
  return {
    logger,
    readiness,
    firstSignInUrl,
    oauthUrl,
    [Symbol.asyncDispose]: () => runningStack.disposeAsync(),
  };
}

function oauthSettingsOf(config: AuthConfig) {
  return {
    reuseGraceSeconds: config.REFRESH_REUSE_GRACE_SECONDS,
    redirectSchemes: config.OAUTH_REDIRECT_SCHEMES,
  };
}

function openSignInProviders(
  config: AuthConfig,
  { db, baseUrl, egress }: { db: Database; baseUrl: string; egress: Egress },
): Deps['providers'] {
  return createSignInProviders({
    db,
    baseUrl,
    openid: createOpenidProviders(egress),
    signInKey: config.SIGN_IN_KEY,
    environmentSetting: config.SIGN_IN_PROVIDERS,
  });
}
