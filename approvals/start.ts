import { busServerOf, connectBus, createClient, deadlineIn, serve } from '#bus';
import type { Client, InProcess } from '#bus';
import { approvals } from '#contracts/bus/approvals';
import { auth } from '#contracts/bus/auth';
import type { OrgSettings } from '#contracts/bus/auth';
import { executor } from '#contracts/bus/executor';
import { policy } from '#contracts/bus/policy';
import { decisionStatement } from '#contracts/decision';
import { gap } from '#contracts/permit';
import { openOwnDatabase } from '#database';
import { startRelay } from '#events';
import { createLookupCache } from '#cache';
import { repeat } from '#process';
import type { RunningComponent } from '#process';
import { busCheck, databaseChecks, watchReadiness } from '#readiness';
import { createPrincipalReader, createPublicVerifier, createVerifier } from '#signing';
import { createLogger, pollBacklog } from '#telemetry';
import { fillSearchTexts } from './approval/fill-search-texts.ts';
import { denyRevokedOverdue } from './clocks/deny-revoked.ts';
import { measureWaitingApprovals } from './clocks/due.sql.ts';
import { runClocks } from './clocks/run-clocks.ts';
import type { ApprovalsConfig } from './config.ts';
import { listenForIdentityChanges } from './consumers.ts';
import type { Deps, DepsWithReplays } from './deps.ts';
import { createReplays } from './executions/replays.ts';
import { createHandlers } from './handlers.ts';

const clockEveryMs = 1_000;
const chainChecksMax = 100;
const searchTextsMax = 500;

/**
 * Starts the approvals component. Disposing the result stops it in the reverse order. It takes no
 * new requests, finishes the current requests, stops the clocks, and finishes the running replays
 * or leaves them to another replica. Then it closes the relay, the bus and the database.
 */
export async function startApprovals(
  config: ApprovalsConfig,
  { local }: InProcess = {},
): Promise<RunningComponent> {
  const logger = createLogger({ component: 'approvals', level: config.LOG_LEVEL });

  await using startup = new AsyncDisposableStack();
  const db = startup.use(await openOwnDatabase(config, { schema: 'approvals', logger }));
  const bus = startup.use(await connectBus({ ...busServerOf(config), name: 'approvals', local }));
  const relay = startup.use(startRelay({ db, bus, owner: 'approvals', logger }));

  const authClient = createClient(bus, auth);
  const settings = createSettingsCache(authClient);
  const baseDeps: Deps = {
    db,
    logger,
    auth: authClient,
    policy: createClient(bus, policy),
    executor: createClient(bus, executor),
    readPrincipal: createPrincipalReader(config.PRINCIPAL_KEY_APPROVALS.reveal()),
    gapVerifier: createVerifier('gap', config.GAP_KEY_APPROVALS.reveal(), gap),
    decisions: createPublicVerifier('decision', config.DECISION_PUBLIC_KEY, decisionStatement),
    getOrgSettings: settings.get,
    now: Date.now,
    baseUrl: config.BASE_URL ?? `http://${config.HOST}:${config.PORT}`,
    limits: {
      openApprovalsPerRequesterMax: config.APPROVALS_OPEN_PER_REQUESTER,
      openApprovalsPerSubtreeMax: config.APPROVALS_OPEN_PER_SUBTREE,
      approvalsRaisedPerHourMax: config.APPROVALS_RAISED_PER_HOUR,
    },
  };
  const deps: DepsWithReplays = { ...baseDeps, replays: startup.use(createReplays(baseDeps)) };
  startup.use(startClocks(deps));
  startup.use(
    pollBacklog({ waiting: 'aag.approvals.waiting', oldestAge: 'aag.approvals.oldest_age' }, () =>
      measureWaitingApprovals(db),
    ),
  );
  startup.use(listenForIdentityChanges(bus, baseDeps, settings.drop));
  const readiness = startup.use(
    await watchReadiness({ checks: [...databaseChecks(db), busCheck(bus)], logger }),
  );
  startup.use(await serve(bus, approvals, createHandlers(deps, relay), { logger, readiness }));

  logger.info('started');
  const runningStack = startup.move();
  return { logger, readiness, [Symbol.asyncDispose]: () => runningStack.disposeAsync() };
}

function startClocks(deps: DepsWithReplays): AsyncDisposable {
  return repeat(clockEveryMs, async () => {
    try {
      const { chainChecks, searchTexts } = await runClocks(deps);
      if (chainChecks) await denyRevokedOverdue(deps, chainChecksMax);
      if (searchTexts) await fillSearchTexts(deps.db, searchTextsMax);
    } catch (error) {
      deps.logger.warn({ err: error }, 'clocks could not be looked at yet');
    }
  });
}

/** Caches org settings for a second; drops them when `auth` announces a change. */
function createSettingsCache(client: Client<typeof auth>) {
  const settings = createLookupCache<string, OrgSettings>({
    max: 1_000,
    ttlMs: 1_000,
    lookUp: (orgId) => client.getOrgSettings({ orgId }, deadlineIn(2_000)),
  });
  return {
    get: (orgId: string) => settings.get(orgId, orgId),
    drop: () => settings.drop(),
  };
}
