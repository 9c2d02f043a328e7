import type { FastifyInstance } from 'fastify';

import { connectBus, createClient, openFileReader } from '#bus';
import type { Bus } from '#bus';
import { ConfigError, deriveBaseUrl } from '#config';
import { approvals } from '#contracts/bus/approvals';
import { audit } from '#contracts/bus/audit';
import { auth } from '#contracts/bus/auth';
import { executor } from '#contracts/bus/executor';
import { notifier } from '#contracts/bus/notifier';
import { policy } from '#contracts/bus/policy';
import { registry } from '#contracts/bus/registry';
import { clientGoneSubject } from '#contracts/events';
import { openPublisher } from '#events';
import type { RunningComponent } from '#process';
import { callerLevels, createAuditShare } from '#shares';
import { createMacs } from '#signing';
import { createLogger } from '#telemetry';
import { subscribeToAuthEvents } from './auth-events.ts';
import { createAuthenticator } from './authenticate.ts';
import type { GatewayConfig } from './config.ts';
import type { Deps, Neighbours } from './deps.ts';
import { describeSite } from './domain/site.ts';
import type { Site } from './domain/site.ts';
import { openFeed } from './feed.ts';
import { retryableWhenExpired } from './retryable-when-expired.ts';
import { createRateLimits } from './rate-limits.ts';
import { openRefusals } from './refusals.ts';
import { joinReplicas } from './replicas.ts';
import { createServer, explainTrustedProxies } from './server.ts';
import type { ServerOptions } from './server.ts';
import { prepareStop } from './stop-server.ts';
import { createUnderWay } from './under-way.ts';

export interface RunningGateway extends RunningComponent {
  /** What it calls itself; with PORT=0 the port it was given. */
  readonly url: string;
}

/**
 * Starts the edge. Disposing it ends streams and waiting calls, says `Connection: close` for a
 * moment, finishes what is under way, and then lets go of the bus.
 */
export async function startGateway(
  config: GatewayConfig,
  options: ServerOptions = {},
): Promise<RunningGateway> {
  const logger = createLogger({ component: 'gateway', level: config.LOG_LEVEL });
  // A wrong address is found before anything is opened.
  if (config.PORT !== 0) siteOf(config, config.PORT);

  await using startup = new AsyncDisposableStack();
  const bus = startup.use(await connectBus({ url: config.NATS_URL, name: 'gateway' }));
  const neighbours = createNeighbours(bus);
  const feed = startup.use(openFeed(bus, logger));
  const replicas = startup.use(joinReplicas(bus));
  const rates = createRateLimits({
    identityPerMinute: config.RATE_IDENTITY_PER_MINUTE,
    userPerMinute: config.RATE_USER_PER_MINUTE,
    signInPerMinute: config.RATE_SIGN_IN_PER_MINUTE,
    registerPerHour: config.RATE_REGISTER_PER_HOUR,
    publicPerMinute: config.RATE_PUBLIC_PER_MINUTE,
    replicas: () => replicas.live(),
  });
  const authenticator = createAuthenticator(neighbours.auth, rates);
  const authEvents = startup.use(subscribeToAuthEvents(bus, () => authenticator.forget()));
  const stopping = new AbortController();
  const publisher = openPublisher(bus, 'gateway', logger);
  // Stopped after the server, so that nothing is refused that it does not count.
  const refusals = startup.use(openRefusals({ publisher, logger }));

  let site: Site | undefined;
  const app: FastifyInstance = await createServer(
    config,
    {
      ...neighbours,
      bus,
      feed,
      announceDisconnect: createDisconnectAnnouncer(bus),
      authenticator,
      authEvents,
      cards: createMacs('card', config.CARD_KEY.reveal()),
      files: openFileReader(bus),
      publisher,
      refusals,
      rates,
      auditShare: createAuditShare({
        bytesPerMinute: config.AUDIT_BYTES_PER_MINUTE,
        levels: callerLevels(config),
        component: 'gateway',
      }),
      underWay: createUnderWay({
        requestsMax: config.GATEWAY_IN_FLIGHT_MAX,
        streamsMax: config.GATEWAY_STREAMS_MAX,
        levels: callerLevels(config),
      }),
      limits: limitsOf(config),
      // The port is known when the first request is.
      site: (): Site => (site ??= siteOf(config, portOf(app))),
      stopping: stopping.signal,
      logger,
    },
    options,
  ).catch((thrown: unknown) => {
    throw explainTrustedProxies(thrown, config);
  });
  startup.defer(prepareStop(app, stopping));
  await listen(app, config);
  site = siteOf(config, portOf(app));

  logger.info({ url: site.baseUrl }, 'started');
  const running = startup.move();
  return { logger, url: site.baseUrl, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

function limitsOf(config: GatewayConfig): Deps['limits'] {
  return {
    depthMax: config.CAP_JSON_DEPTH,
    valuesMax: config.CAP_JSON_VALUES,
    itemsMax: config.CAP_JSON_LIST_ITEMS,
    namesMax: config.CAP_JSON_NAMES,
    queryValuesMax: config.CAP_QUERY_VALUES,
  };
}

function createDisconnectAnnouncer(bus: Bus): Deps['announceDisconnect'] {
  return (auditId) => {
    if (!bus.nats.isClosed()) bus.nats.publish(clientGoneSubject, JSON.stringify({ auditId }));
  };
}

function createNeighbours(bus: Bus): Neighbours {
  return {
    auth: createClient(bus, auth),
    registry: retryableWhenExpired(createClient(bus, registry)),
    policy: retryableWhenExpired(createClient(bus, policy)),
    executor: retryableWhenExpired(createClient(bus, executor)),
    approvals: retryableWhenExpired(createClient(bus, approvals)),
    notifier: retryableWhenExpired(createClient(bus, notifier)),
    audit: retryableWhenExpired(createClient(bus, audit)),
  };
}

function siteOf(config: GatewayConfig, port: number): Site {
  const site = describeSite(deriveBaseUrl({ ...config, PORT: port }), port);
  if ('problem' in site) throw new ConfigError(site.problem);
  return site;
}

function portOf(app: FastifyInstance): number {
  const address = app.server.address();
  if (address === null || typeof address === 'string')
    throw new Error('the server does not listen');
  return address.port;
}

async function listen(app: FastifyInstance, { HOST, PORT }: GatewayConfig): Promise<void> {
  try {
    await app.listen({ host: HOST, port: PORT });
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code;
    if (code === 'EADDRINUSE') {
      throw new ConfigError(`PORT ${PORT} on ${HOST} is taken by another program; choose another.`);
    }
    if (code === 'EACCES' || code === 'EADDRNOTAVAIL') {
      throw new ConfigError(`The gateway cannot listen on HOST ${HOST}, PORT ${PORT} (${code}).`);
    }
    throw thrown;
  }
}
