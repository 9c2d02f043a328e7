import { connectBus, connectReader, serve } from '#bus';
import { notifier } from '#contracts/bus/notifier';
import { feedSubject } from '#contracts/events';
import { openDatabase } from '#database';
import { openEgress, ownAddressesOf, parseEgressAllow } from '#egress';
import { consumeEvents, startRelay } from '#events';
import { repeat } from '#process';
import type { RunningComponent } from '#process';
import { createPrincipalReader } from '#signing';
import { createLogger } from '#telemetry';
import type { NotifierConfig } from './config.ts';
import { createConsumer } from './consumers.ts';
import type { Deps } from './deps.ts';
import { deriveWebhookSecret } from './domain/signature.ts';
import { createHandlers } from './handlers.ts';
import { pruneDeliveries } from './repository/delivery.ts';
import { pruneFeed, pruneInbox } from './repository/feed-item.ts';
import { sendDeliveries } from './usecases/send-deliveries.ts';

/** How soon a due retry is noticed; fresh deliveries are sent at once. */
const pollEveryMs = 1_000;
const retentionDays = 7;
const deliveryRetentionDays = 30;

/** Wires the notifier together: consumes events, feeds SSE, delivers webhooks. */
export async function startNotifier(config: NotifierConfig): Promise<RunningComponent> {
  const logger = createLogger({ component: 'notifier', level: config.LOG_LEVEL });

  await using startup = new AsyncDisposableStack();
  const db = startup.use(
    openDatabase({
      url: config.DATABASE_URL,
      schema: 'notifier',
      connectionsMax: config.DATABASE_CONNECTIONS_MAX,
    }),
  );
  const bus = startup.use(await connectBus({ url: config.NATS_URL, name: 'notifier' }));
  const reader = startup.use(await connectReader({ url: config.NATS_URL, name: 'notifier' }));
  const egress = startup.use(
    openEgress({
      allow: parseEgressAllow(config.EGRESS_ALLOW),
      proxy: config.EGRESS_PROXY,
      caFile: config.EGRESS_CA_FILE,
      ownAddresses: ownAddressesOf(config),
    }),
  );
  startup.use(startRelay({ db, bus, owner: 'notifier', logger }));

  const webhookKey = config.WEBHOOK_KEY.reveal();
  const deps: Deps = {
    db,
    logger,
    egress,
    readPrincipal: createPrincipalReader(config.PRINCIPAL_KEY_NOTIFIER.reveal()),
    webhookSecret: (id) => deriveWebhookSecret(webhookKey, id),
    announce: (items) => {
      for (const item of items) bus.nats.publish(feedSubject, JSON.stringify(item));
    },
    wakeDeliveries: () => delivering.wake(),
  };
  const delivering = startup.use(
    repeat(pollEveryMs, async () => {
      try {
        while ((await sendDeliveries(deps)) > 0);
      } catch (error) {
        logger.warn({ err: error }, 'deliveries could not be sent yet');
      }
    }),
  );
  startup.use(
    repeat(3_600_000, async () => {
      try {
        await pruneFeed(db, { days: retentionDays });
        await pruneInbox(db, { days: retentionDays + 1 });
        await pruneDeliveries(db, { days: deliveryRetentionDays });
      } catch (error) {
        logger.warn({ err: error }, 'old rows could not be pruned yet');
      }
    }),
  );
  const reading = startup.use(
    consumeEvents({ bus: reader, durable: 'notifier', handle: createConsumer(deps), logger }),
  );
  startup.use(await serve(bus, notifier, createHandlers(deps, reading), { logger }));

  logger.info('started');
  const running = startup.move();
  return { logger, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
