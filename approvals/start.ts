import { connectBus, createClient, deadlineIn, serve } from '#bus';
import type { Client } from '#bus';
import { approvals } from '#contracts/bus/approvals';
import { auth } from '#contracts/bus/auth';
import type { OrgSettings } from '#contracts/bus/auth';
import { executor } from '#contracts/bus/executor';
import { policy } from '#contracts/bus/policy';
import { decisionStatement } from '#contracts/decision';
import { gap } from '#contracts/permit';
import { openDatabase } from '#database';
import { startRelay } from '#events';
import { createLookupCache } from '#cache';
import { repeat } from '#process';
import type { RunningComponent } from '#process';
import { createPrincipalReader, createPublicVerifier, createVerifier } from '#signing';
import { createLogger } from '#telemetry';
import type { ApprovalsConfig } from './config.ts';
import { listen } from './consumers.ts';
import type { Deps, DepsWithReplays } from './deps.ts';
import { createHandlers } from './handlers.ts';
import { createReplays } from './replays.ts';
import { denyRevokedOverdue } from './usecases/deny-revoked.ts';
import { runClocks } from './usecases/run-clocks.ts';

const clockEveryMs = 1_000;
const chainChecksMax = 100;

/**
 * Wires the approvals component together and starts answering.
 *
 * Disposing the result stops it in the reverse order: no new requests, the requests in hand
 * finish, clocks stop, replays in hand finish or are left to another replica, then the relay,
 * the bus and the database close.
 */
export async function startApprovals(config: ApprovalsConfig): Promise<RunningComponent> {
  const logger = createLogger({ component: 'approvals', level: config.LOG_LEVEL });

  await using startup = new AsyncDisposableStack();
  const db = startup.use(
    openDatabase({
      url: config.DATABASE_URL,
      schema: 'approvals',
      connectionsMax: config.DATABASE_CONNECTIONS_MAX,
    }),
  );
  const bus = startup.use(await connectBus({ url: config.NATS_URL, name: 'approvals' }));
  startup.use(startRelay({ db, bus, owner: 'approvals', logger }));

  const authClient = createClient(bus, auth);
  const settings = createSettingsCache(authClient);
  const base: Deps = {
    db,
    logger,
    auth: authClient,
    policy: createClient(bus, policy),
    executor: createClient(bus, executor),
    readPrincipal: createPrincipalReader(config.PRINCIPAL_KEY_APPROVALS.reveal()),
    gaps: createVerifier('gap', config.GAP_KEY_APPROVALS.reveal(), gap),
    decisions: createPublicVerifier('decision', config.DECISION_PUBLIC_KEY, decisionStatement),
    getOrgSettings: settings.get,
    now: Date.now,
    baseUrl: config.BASE_URL ?? `http://${config.HOST}:${config.PORT}`,
    limits: {
      openPerRequester: config.APPROVALS_OPEN_PER_REQUESTER,
      openPerSubtree: config.APPROVALS_OPEN_PER_SUBTREE,
      raisedPerHour: config.APPROVALS_RAISED_PER_HOUR,
    },
  };
  const deps: DepsWithReplays = { ...base, replays: startup.use(createReplays(base)) };
  startup.use(startClocks(deps));
  startup.use(listen(bus, base, settings.drop));
  startup.use(await serve(bus, approvals, createHandlers(deps), { logger }));

  logger.info('started');
  const running = startup.move();
  return { logger, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

function startClocks(deps: DepsWithReplays): AsyncDisposable {
  return repeat(clockEveryMs, async () => {
    try {
      const { chainChecks } = await runClocks(deps);
      if (chainChecks) await denyRevokedOverdue(deps, chainChecksMax);
    } catch (error) {
      deps.logger.warn({ err: error }, 'clocks could not be looked at yet');
    }
  });
}

/** Org settings are at most a second old, and dropped when `auth` says that something changed. */
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
