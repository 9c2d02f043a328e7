import { once } from 'node:events';
import { createServer as createTcpServer } from 'node:net';

import type { FastifyInstance } from 'fastify';

import { followExecutors } from '#beats';
import {
  busServerOf,
  connectBus,
  createClient,
  createRepetitionBudget,
  openFileReader,
} from '#bus';
import type { Bus, InProcess } from '#bus';
import { ConfigError } from '#config';
import { approvals } from '#contracts/bus/approvals';
import { audit } from '#contracts/bus/audit';
import { auth } from '#contracts/bus/auth';
import { executor } from '#contracts/bus/executor';
import { notifier } from '#contracts/bus/notifier';
import { policy } from '#contracts/bus/policy';
import { registry } from '#contracts/bus/registry';
import { clientGoneSubject } from '#contracts/events';
import { openPublisher, watchStreams } from '#events';
import { prepareStop } from '#process';
import type { RunningComponent } from '#process';
import { watchReadiness } from '#readiness';
import { callerLevels, createAuditShare } from '#shares';
import { createMacs } from '#signing';
import { count, createLogger, observeSlots } from '#telemetry';
import { subscribeToAuthEvents } from './events/auth-events.ts';
import { createAuthenticator } from './authentication/authenticator.ts';
import type { GatewayConfig } from './config.ts';
import type { Deps, ComponentClients } from './deps.ts';
import type { Site } from './authentication/domain/site.ts';
import { createCallChecks } from './health/call-checks.ts';
import { openFeed } from './events/feed.ts';
import { makeExpiryRetryable } from './authentication/retryable-when-expired.ts';
import { createRateLimits } from './limits/rate-limits.ts';
import type { RateLimits } from './limits/rate-limits.ts';
import { createAccessLog } from './records/access-log.ts';
import { reportOfExecution } from './records/call-report.ts';
import { openRefusals } from './records/refusals.ts';
import { joinReplicas } from './limits/replicas.ts';
import type { Replicas } from './limits/replicas.ts';
import { readSite } from './read-settings.ts';
import { createServer } from './server.ts';
import type { ServerOptions } from './server.ts';
import { createRequestSlots } from './limits/request-slots.ts';

export interface RunningGateway extends RunningComponent {
  /** The base URL. If PORT is 0, it contains the assigned port. */
  readonly url: string;
}

/**
 * Starts the gateway. Disposing the result ends streams and waiting calls, still answers new
 * requests with `Connection: close` for a moment, finishes open requests and then closes the bus.
 */
export async function startGateway(
  config: GatewayConfig,
  { local, ...options }: InProcess & ServerOptions = {},
): Promise<RunningGateway> {
  const logger = createLogger({ component: 'gateway', level: config.LOG_LEVEL });

  await using startup = new AsyncDisposableStack();
  const bus = startup.use(await connectBus({ ...busServerOf(config), name: 'gateway', local }));
  const componentClients = createClients(bus);
  const readiness = startup.use(
    await watchReadiness({ checks: createCallChecks(bus, componentClients), logger }),
  );
  const feed = startup.use(openFeed(bus, logger));
  const replicas = startup.use(joinReplicas(bus));
  const rates = createRates(config, replicas);
  const authenticator = createAuthenticator(componentClients.auth, rates);
  const authEvents = startup.use(subscribeToAuthEvents(bus, () => authenticator.forget()));
  const stopController = new AbortController();
  const publisher = openPublisher(bus, 'gateway', logger);
  // The refusals are disposed after the server, so that the last ones are counted too.
  const refusals = startup.use(openRefusals({ publisher, logger }));

  let site: Site | undefined;
  const app: FastifyInstance = await createServer(
    config,
    {
      ...componentClients,
      bus,
      readiness,
      feed,
      announceDisconnect: createDisconnectAnnouncer(bus),
      executors: startup.use(followExecutors(bus)),
      secondExecutions: createRepetitionBudget(),
      authenticator,
      authEvents,
      cards: createMacs('card', config.CARD_KEY.reveal()),
      files: openFileReader(bus),
      publisher,
      streams: startup.use(watchStreams({ bus, logger })),
      refusals,
      rates,
      ...createShares(config, startup),
      limits: limitsOf(config),
      // By the time a request arrives, the port is known.
      site: (): Site => (site ??= readSite({ ...config, PORT: portOf(app) })),
      mcpOrigins: config.MCP_ORIGINS,
      stopping: stopController.signal,
      logger,
      ...openReports(config, { logger, feed, onCall: options.onCall }),
    },
    options,
  );
  startup.defer(() => app.close());
  startup.defer(
    prepareStop(app.server, {
      pauseMs: config.SHUTDOWN_PAUSE_SECONDS * 1_000,
      endStreams: () => stopController.abort(),
    }),
  );
  startup.defer(() => readiness.leave());
  await listen(app, config);
  site = readSite({ ...config, PORT: portOf(app) });

  logger.info({ url: site.baseUrl }, 'started');
  const startedResources = startup.move();
  return {
    logger,
    readiness,
    url: site.baseUrl,
    [Symbol.asyncDispose]: () => startedResources.disposeAsync(),
  };
}

/** Opens the log of requests, and reports the outcomes of calls and executions to `onCall`. */
function openReports(
  config: GatewayConfig,
  { logger, feed, onCall }: Pick<Deps, 'logger' | 'feed'> & Pick<ServerOptions, 'onCall'>,
): Pick<Deps, 'accessLog' | 'reportCall'> {
  const accessLog = createAccessLog(config.LOG_REQUESTS, logger);
  if (onCall !== undefined) {
    feed.subscribe((item) => {
      const report = item === null ? null : reportOfExecution(item);
      if (report !== null) onCall(report);
    });
  }
  return {
    accessLog,
    reportCall(report) {
      count('aag.calls', { outcome: report.outcome });
      if (report.requestId !== null) accessLog.note(report.requestId, report.outcome);
      onCall?.(report);
    },
  };
}

function createRates(config: GatewayConfig, replicas: Pick<Replicas, 'live'>): RateLimits {
  return createRateLimits({
    identityPerMinute: config.RATE_IDENTITY_PER_MINUTE,
    userPerMinute: config.RATE_USER_PER_MINUTE,
    signInPerMinute: config.RATE_SIGN_IN_PER_MINUTE,
    registerPerHour: config.RATE_REGISTER_PER_HOUR,
    publicPerMinute: config.RATE_PUBLIC_PER_MINUTE,
    replicas: () => replicas.live(),
  });
}

/** Creates the shares of callers. Their metrics end when the stack is disposed. */
function createShares(
  config: GatewayConfig,
  startup: AsyncDisposableStack,
): Pick<Deps, 'auditShare' | 'slots'> {
  const levels = callerLevels(config);
  const { GATEWAY_IN_FLIGHT_MAX: requestsMax, GATEWAY_STREAMS_MAX: streamsMax } = config;
  const slots = createRequestSlots({ requestsMax, streamsMax, levels });
  const observedPools = [
    ['requests', requestsMax],
    ['streams', streamsMax],
  ] as const;
  for (const [name, limit] of observedPools)
    startup.use(observeSlots(`gateway.${name}`, { used: () => slots.taken()[name], limit }));
  return {
    auditShare: createAuditShare({
      bytesPerMinute: config.AUDIT_BYTES_PER_MINUTE,
      levels,
      component: 'gateway',
    }),
    slots,
  };
}

function limitsOf(config: GatewayConfig): Deps['limits'] {
  return {
    depthMax: config.CAP_JSON_DEPTH,
    valuesMax: config.CAP_JSON_VALUES,
    itemsMax: config.CAP_JSON_LIST_ITEMS,
    namesMax: config.CAP_JSON_NAMES,
    nameCharactersMax: config.CAP_JSON_NAME_CHARACTERS,
    pathCharactersMax: config.CAP_JSON_PATH_CHARACTERS,
    queryValuesMax: config.CAP_QUERY_VALUES,
  };
}

function createDisconnectAnnouncer(bus: Bus): Deps['announceDisconnect'] {
  return (auditId) => {
    if (!bus.nats.isClosed()) bus.nats.publish(clientGoneSubject, JSON.stringify({ auditId }));
  };
}

function createClients(bus: Bus): ComponentClients {
  return {
    auth: createClient(bus, auth),
    registry: makeExpiryRetryable(createClient(bus, registry)),
    policy: makeExpiryRetryable(createClient(bus, policy)),
    executor: makeExpiryRetryable(createClient(bus, executor)),
    approvals: makeExpiryRetryable(createClient(bus, approvals)),
    notifier: makeExpiryRetryable(createClient(bus, notifier)),
    audit: makeExpiryRetryable(createClient(bus, audit)),
  };
}

function portOf(app: FastifyInstance): number {
  const address = app.server.address();
  if (address === null || typeof address === 'string')
    throw new Error('the server does not listen');
  return address.port;
}

async function listen(app: FastifyInstance, config: ListenConfig): Promise<void> {
  try {
    await app.listen({ host: config.HOST, port: config.PORT });
  } catch (error) {
    throw explainListenError(error, config);
  }
}

/**
 * Throws if the gateway could not listen at this address. A start that ends with the gateway checks
 * this first, because all steps before that can take a minute.
 */
export async function checkCanListen(config: ListenConfig): Promise<void> {
  const server = createTcpServer();
  try {
    server.listen({ host: config.HOST, port: config.PORT });
    await once(server, 'listening');
  } catch (error) {
    throw explainListenError(error, config);
  }
  server.close();
  await once(server, 'close');
}

type ListenConfig = Pick<GatewayConfig, 'HOST' | 'PORT'>;

function explainListenError(error: unknown, { HOST, PORT }: ListenConfig): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return new ConfigError(`PORT ${PORT} on ${HOST} is taken by another program; choose another.`);
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new ConfigError(
      `HOST is ${JSON.stringify(HOST)}, which is no address of this machine. Set HOST=127.0.0.1, or to another address to listen on.`,
    );
  }
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL') {
    return new ConfigError(`The gateway cannot listen on HOST ${HOST}, PORT ${PORT} (${code}).`);
  }
  return error;
}
