import { busServerOf, connectBus, connectReader, serve } from '#bus';
import type { InProcess } from '#bus';
import { notifier } from '#contracts/bus/notifier';
import { feedSubject } from '#contracts/events';
import { deleteInParts, openOwnDatabase } from '#database';
import { openEgress, readEgressSettings } from '#egress';
import { consumeEvents, startRelay } from '#events';
import { repeat } from '#process';
import type { RunningComponent } from '#process';
import { busCheck, consumerCheck, databaseChecks, watchReadiness } from '#readiness';
import type { Readiness } from '#readiness';
import { createPrincipalReader } from '#signing';
import { createLogger, pollBacklog } from '#telemetry';
import type { NotifierConfig } from './config.ts';
import { createConsumer } from './consumers.ts';
import type { Deps } from './deps.ts';
import { deriveWebhookSecret } from './webhooks/domain/signature.ts';
import { createHandlers } from './handlers.ts';
import { measureDueDeliveries, pruneDeliveries } from './webhooks/delivery.sql.ts';
import { pruneFeed } from './feed/feed-item.sql.ts';
import { pruneInbox } from './feed/inbox.sql.ts';
import { sendDeliveries } from './webhooks/send-deliveries.ts';

/** The interval at which due retries are looked for. New deliveries are sent at once. */
const pollEveryMs = 1_000;
const pruneEveryMs = 60_000;
const retentionDays = 7;
const deliveryRetentionDays = 30;

/** Starts the notifier: it consumes events, writes the feed and delivers webhooks. */
export async function startNotifier(
  config: NotifierConfig,
  { local }: InProcess = {},
): Promise<RunningComponent> {
  const logger = createLogger({ component: 'notifier', level: config.LOG_LEVEL });

  await using startup = new AsyncDisposableStack();
  const db = startup.use(await openOwnDatabase(config, { schema: 'notifier', logger }));
  const bus = startup.use(await connectBus({ ...busServerOf(config), name: 'notifier', local }));
  const reader = startup.use(await connectReader({ ...busServerOf(config), name: 'notifier' }));
  const egress = startup.use(openEgress({ ...readEgressSettings(config), logger }));
  const relay = startup.use(startRelay({ db, bus, owner: 'notifier', logger }));

  const webhookKey = config.WEBHOOK_KEY.reveal();
  const deps: Deps = {
    db,
    logger,
    egress,
    readPrincipal: createPrincipalReader(config.PRINCIPAL_KEY_NOTIFIER.reveal()),
    webhookSecretOf: (id) => deriveWebhookSecret(webhookKey, id),
    announceItems: (items) => {
      for (const item of items) bus.nats.publish(feedSubject, JSON.stringify(item));
    },
    wakeDeliveries: () => delivering.wake(),
  };
  let readiness: Readiness | undefined;
  const delivering = startup.use(
    repeat(pollEveryMs, async () => {
      // With a wrong clock, receivers would refuse the signatures, so nothing is sent.
      if (readiness?.takesRequests() === false) return;
      try {
        while ((await sendDeliveries(deps)) > 0);
      } catch (error) {
        logger.warn({ err: error }, 'deliveries could not be sent yet');
      }
    }),
  );
  startup.use(startPruning(deps));
  startup.use(
    pollBacklog({ waiting: 'aag.webhook.due', oldestAge: 'aag.webhook.lag' }, () =>
      measureDueDeliveries(db),
    ),
  );
  const consumer = startup.use(
    consumeEvents({
      bus: reader,
      durable: 'notifier',
      recordsRefusals: true,
      handle: createConsumer(deps),
      logger,
    }),
  );
  readiness = startup.use(
    await watchReadiness({
      checks: [...databaseChecks(db), busCheck(bus, reader), consumerCheck(consumer)],
      logger,
    }),
  );
  startup.use(consumer.follow(readiness));
  startup.use(
    await serve(bus, notifier, createHandlers(deps, consumer, relay), { logger, readiness }),
  );

  logger.info('started');
  const runningStack = startup.move();
  return { logger, readiness, [Symbol.asyncDispose]: () => runningStack.disposeAsync() };
}

function startPruning({ db, logger }: Pick<Deps, 'db' | 'logger'>): AsyncDisposable {
  return repeat(pruneEveryMs, async () => {
    try {
      await deleteInParts((limit) => pruneFeed(db, { days: retentionDays, limit }));
      await deleteInParts((limit) => pruneInbox(db, { days: retentionDays + 1, limit }));
      await deleteInParts((limit) => pruneDeliveries(db, { days: deliveryRetentionDays, limit }));
    } catch (error) {
      logger.warn({ err: error }, 'old rows could not be pruned yet');
    }
  });
}
