import { randomBytes } from 'node:crypto';

import { connectBus, serve } from '#bus';
import { deriveBaseUrl, principalKeyNames, revealKeys } from '#config';
import { auth } from '#contracts/bus/auth';
import type { DecisionStatement } from '#contracts/decision';
import type { Principal } from '#contracts/vocabulary';
import { openDatabase } from '#database';
import { startRelay } from '#events';
import type { RunningComponent } from '#process';
import { repeat } from '#process';
import { createPrincipalReader, createPublicSigner, createSigner } from '#signing';
import { createLogger } from '#telemetry';
import { startActivityLog } from './activity.ts';
import type { AuthConfig } from './config.ts';
import { dropCredentialsOnChange } from './consumers.ts';
import type { Deps } from './deps.ts';
import { openAuthEgress } from './egress.ts';
import { createHandlers } from './handlers.ts';
import { createClientDocuments } from './oauth/client-document.ts';
import { startOauthListener } from './oauth/listener.ts';
import { createOpenidProviders } from './openid.ts';
import { createPasswordHasher } from './password-hasher.ts';
import { createSignInProviders } from './sign-in-providers.ts';
import { useDecisionKey } from './repository/decision-keys.ts';
import { issueFirstSignInLink } from './usecases/issue-first-sign-in-link.ts';
import { prune } from './usecases/prune.ts';
import { createCredentialCache } from './usecases/authenticate.ts';

export type RunningAuth = RunningComponent & {
  /** Where the gateway forwards OAuth requests. */
  readonly oauthUrl: string;
  /** One-time link of the first admin; null once somebody has signed in. */
  readonly firstSignInUrl: string | null;
};

const pruneEveryMs = 3_600_000;

/**
 * Wires the auth component together, makes a fresh deployment usable and starts answering.
 * Disposing the result stops it in the reverse order.
 */
export async function startAuth(config: AuthConfig): Promise<RunningAuth> {
  const logger = createLogger({ component: 'auth', level: config.LOG_LEVEL });

  await using startup = new AsyncDisposableStack();
  const db = startup.use(
    openDatabase({
      url: config.DATABASE_URL,
      schema: 'auth',
      connectionsMax: config.DATABASE_CONNECTIONS_MAX,
    }),
  );
  const bus = startup.use(await connectBus({ url: config.NATS_URL, name: 'auth' }));
  startup.use(startRelay({ db, bus, owner: 'auth', logger }));

  const baseUrl = new URL(deriveBaseUrl(config)).origin;
  const egress = startup.use(openAuthEgress(config));
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
    activity: startup.use(startActivityLog({ db, logger })),
    passwords: createPasswordHasher(),
    providers: createSignInProviders({
      db,
      baseUrl,
      openid: createOpenidProviders(egress),
      signInKey: config.SIGN_IN_KEY,
      ofEnvironment: config.SIGN_IN_PROVIDERS,
    }),
    baseUrl,
    logger,
    now,
    randomBytes,
  };
  const documents = createClientDocuments({ db, egress, logger });
  startup.use(dropCredentialsOnChange(bus, deps.credentials));
  const firstSignInUrl = await issueFirstSignInLink(deps, {
    always: config.SIGN_IN_LINK === 'always',
  });
  startup.use(repeat(pruneEveryMs, () => prune(deps, logger)));
  const { url: oauthUrl } = startup.use(
    await startOauthListener(
      { ...deps, egress, documents, reuseGraceSeconds: config.REFRESH_REUSE_GRACE_SECONDS },
      { host: config.OAUTH_HOST, port: config.OAUTH_PORT },
    ),
  );
  startup.use(await serve(bus, auth, createHandlers(deps), { logger }));

  logger.info('started');
  const running = startup.move();
  return { logger, firstSignInUrl, oauthUrl, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
