import { startExecutorBeats } from '#beats';
import { busServerOf, connectBus, createClient, openFileWriter, serve } from '#bus';
import type { Bus, Handlers, InProcess } from '#bus';
import { deriveBaseUrl } from '#config';
import { approvals } from '#contracts/bus/approvals';
import { auth } from '#contracts/bus/auth';
import { executor } from '#contracts/bus/executor';
import { notifier } from '#contracts/bus/notifier';
import { policy } from '#contracts/bus/policy';
import { registry } from '#contracts/bus/registry';
import { eventSubjectOf } from '#contracts/events';
import { gap, permit } from '#contracts/permit';
import { openOwnDatabase } from '#database';
import type { Database } from '#database';
import { createPlainHttpCheck, openEgress, readEgressSettings } from '#egress';
import type { EgressOptions } from '#egress';
import { onEvents, openPublisher, startRelay } from '#events';
import { repeat } from '#process';
import type { RunningComponent } from '#process';
import { busCheck, databaseChecks, watchReadiness } from '#readiness';
import { callerLevels, createAuditShare } from '#shares';
import { createMacs, createPrincipalReader, createVerifier } from '#signing';
import type { Macs } from '#signing';
import { createLogger, observeSlots } from '#telemetry';
import { createOrgSettingsCache, createTemplateCache } from './calls/caches.ts';
import { createDispatchWrites } from './calls/dispatch-writes.ts';
import { createFileSpace } from './limits/file-space.ts';
import { createRecordIds } from './calls/record-ids.ts';
import { createLookUpNames } from './sending/look-up-names.ts';
import { openConnections } from './connections/open-connections.ts';
import { createMcpSessions } from './mcp/session.ts';
import { createToolChanges } from './mcp/tool-changes.ts';
import { watchDisconnects } from './calls/disconnects.ts';
import { createDerivedTokens } from './derived-credentials/derived-tokens.ts';
import type { ExecutorConfig } from './config.ts';
import { createHandlers } from './handlers.ts';
import { createJqPool } from './jq/pool.ts';
import { createRetries } from './limits/retries.ts';
import { listenForRequests } from './person-requests/listen.ts';
import type { Owners } from './sending/ask-owner.ts';
import { createSlots } from './limits/slots.ts';
import { sweepDispatches } from './calls/sweep-dispatches.ts';
import { readMasterKeys } from './vault/master-keys.ts';
import { openVault } from './vault/vault.ts';
import type { Vault } from './vault/vault.ts';

const sweepEveryMs = 5_000;

/**
 * Builds the executor's dependencies and starts to answer requests.
 *
 * Disposing the result stops the executor in the reverse order: it accepts no new requests, the
 * calls under way finish, their events are published, and then the sockets, the bus and the
 * database close.
 */
export async function startExecutor(
  config: ExecutorConfig,
  /**
   * `breaker` is for tests: the number of failures after which the circuit breaker opens for an
   * upstream, and for how long.
   */
  { breaker, local }: InProcess & Pick<EgressOptions, 'breaker'> = {},
): Promise<RunningComponent> {
  const logger = createLogger({ component: 'executor', level: config.LOG_LEVEL });
  const masterKeys = readMasterKeys(config.MASTER_KEY);
  const egressSettings = egressSettingsOf(config);

  await using startup = new AsyncDisposableStack();
  const db = startup.use(await openOwnDatabase(config, { schema: 'executor', logger }));
  const vault = await openVault({ db, masterKeys, logger });
  const bus = startup.use(await connectBus({ ...busServerOf(config), name: 'executor', local }));
  const egress = startup.use(openEgress({ ...egressSettings, breaker, logger }));
  const jq = startup.use(createJqPool());
  const relay = startup.use(startRelay({ db, bus, owner: 'executor', logger }));

  const { forget: forgetTokens, ...connections } = openConnections({
    db,
    egress,
    vault,
    logger,
    baseUrl: new URL(deriveBaseUrl(config)).origin,
    ofEnvironment: config.OAUTH_APPS,
  });

  const derivedTokens = createDerivedTokens({ egress });

  const registryClient = createClient(bus, registry);
  const templateCache = createTemplateCache(registryClient, logger);
  startup.use(dropOnChange(bus, { templates: templateCache, vault, forgetTokens }));
  startup.use(startSweeping({ db, logger }));
  startup.use(listenForRequests(bus, { db, logger }));

  const slots = openSlots(config, startup);
  const cards = createMacs('card', config.CARD_KEY.reveal());
  const handlers: Handlers<typeof executor> = createHandlers({
    relay,
    db,
    egress,
    jq,
    vault,
    derivedTokens,
    ...connections,
    isPlainHttpAllowed: createPlainHttpCheck(egressSettings.allow),
    describeTemplateOauth: (request, deadline) =>
      registryClient.describeTemplateOauth(request, deadline),
    listServiceHosts: createClient(bus, policy).listServiceHosts,
    publisher: openPublisher(bus, 'executor', logger),
    logger,
    slots,
    disconnects: startup.use(watchDisconnects(bus)),
    callsInHand: startup.use(startExecutorBeats(bus)),
    recordIds: createRecordIds(config.PERMIT_KEY.reveal()),
    ...partsOf(config, db),
    files: openFileWriter(bus),
    cards,
    owners: createOwners(bus, { cards, own: () => handlers }),
    baseUrl: deriveBaseUrl(config),
    lookUpNames: createLookUpNames({ egress, vault, derivedTokens, ...connections }),
    mcpSessions: createMcpSessions(egress),
    toolChanges: createToolChanges(registryClient, logger),
    ...createVerifiers(config),
    getTemplate: templateCache.get,
    findSecretUses: registryClient.findSecretUses,
    findOrgSettings: createOrgSettingsCache(createClient(bus, auth), logger),
  });
  const readiness = startup.use(
    await watchReadiness({ checks: [...databaseChecks(db), busCheck(bus)], logger }),
  );
  startup.use(await serve(bus, executor, handlers, { logger, readiness }));
  startup.defer(() => slots.stopWaiting());

  logger.info('started');
  const running = startup.move();
  return { logger, readiness, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

function startSweeping(deps: Parameters<typeof sweepDispatches>[0]): AsyncDisposable {
  return repeat(sweepEveryMs, async () => {
    try {
      await sweepDispatches(deps);
    } catch (error) {
      deps.logger.warn({ err: error }, 'what is over could not be swept yet');
    }
  });
}

/** Creates the slots for calls under way; disposing the stack ends their metrics. */
function openSlots(config: ExecutorConfig, startup: AsyncDisposableStack) {
  const max = config.EXECUTOR_IN_FLIGHT_MAX;
  const slots = createSlots({ max, levels: callerLevels(config) });
  startup.use(observeSlots('executor.calls', { used: () => slots.taken(), limit: max }));
  return slots;
}

/** Parts that need only the settings and the database. */
function partsOf(config: ExecutorConfig, db: Database) {
  const levels = callerLevels(config);
  return {
    dispatchWrites: createDispatchWrites(db),
    fileSpace: createFileSpace({ db, bytesMax: config.CAP_FILES_BYTES, levels }),
    requestsPerHour: config.REQUESTS_PER_HOUR,
    auditShare: createAuditShare({
      bytesPerMinute: config.AUDIT_BYTES_PER_MINUTE,
      levels,
      component: 'executor',
    }),
    sendsTraceContext: config.EGRESS_TRACE_CONTEXT === 'on',
    bodyBytesMax: config.CAP_SENT_BODY_BYTES,
    inlineBytesMax: config.CAP_RESPONSE_INLINE_BYTES,
    storedBytesMax: config.CAP_RESPONSE_STORED_BYTES,
    retries: createRetries(),
  };
}

function createVerifiers(config: ExecutorConfig) {
  const permits = createVerifier('permit', config.PERMIT_KEY.reveal(), permit);
  const gaps = createVerifier('gap', config.GAP_KEY_EXECUTOR.reveal(), gap);
  return {
    readPrincipal: createPrincipalReader(config.PRINCIPAL_KEY_EXECUTOR.reveal()),
    verifyPermit: (signed: string) => permits.verify(signed),
    verifyGap: (signed: string) => gaps.verify(signed),
  };
}

/**
 * The components that own actions of the service `platform`: clients of the other components over
 * the bus, and the executor's own handlers.
 */
function createOwners(
  bus: Bus,
  { cards, own }: { cards: Macs; own: () => Handlers<typeof executor> },
): Owners {
  return {
    cards,
    get executor() {
      return own();
    },
    auth: createClient(bus, auth),
    registry: createClient(bus, registry),
    policy: createClient(bus, policy),
    approvals: createClient(bus, approvals),
    notifier: createClient(bus, notifier),
  };
}

function egressSettingsOf(config: ExecutorConfig) {
  return {
    ...readEgressSettings(config),
    // There are as many connections per upstream as slots, so a call with a slot never waits for
    // the connection of another call.
    connectionsPerOrigin: config.EXECUTOR_IN_FLIGHT_MAX,
  };
}

/** Drops cached values when an event says that they have changed. */
function dropOnChange(
  bus: Bus,
  {
    templates,
    vault,
    forgetTokens,
  }: {
    templates: { clear(): void };
    vault: Pick<Vault, 'forget'>;
    forgetTokens: (connectionId: string | null) => void;
  },
): Disposable {
  const subjects = ['evt.registry.>', 'evt.executor.secret.>', 'evt.executor.connection.>'];
  return onEvents(bus, subjects, (message) => {
    const hasSubjectPrefix = (beginning: string) =>
      message === null || message.subject.startsWith(beginning);
    if (hasSubjectPrefix('evt.registry.')) templates.clear();
    // An event about a secret request does not mean that a secret changed, so cached secrets stay.
    const isRequest = message?.subject === eventSubjectOf('executor', 'secret.requested');
    if (hasSubjectPrefix('evt.executor.secret.') && !isRequest)
      vault.forget(readEventId(message?.body, 'secret_id'));
    if (hasSubjectPrefix('evt.executor.connection.'))
      forgetTokens(readEventId(message?.body, 'connection_id'));
  });
}

function readEventId(body: unknown, field: string): string | null {
  const data = typeof body === 'object' && body !== null && 'data' in body ? body.data : null;
  const id =
    typeof data === 'object' && data !== null ? (data as Record<string, unknown>)[field] : null;
  return typeof id === 'string' ? id : null;
}
