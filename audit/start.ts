import { connectBus, connectReader, serve } from '#bus';
import { audit } from '#contracts/bus/audit';
import { openDatabase } from '#database';
import type { RunningComponent } from '#process';
import { createPrincipalReader } from '#signing';
import { createLogger } from '#telemetry';
import type { AuditConfig } from './config.ts';
import { startConsumers } from './consumers.ts';
import type { Deps } from './deps.ts';
import { createHandlers } from './handlers.ts';

/**
 * Wires the audit component together, starts recording and answering. Disposing the result
 * stops it in the reverse order.
 */
export async function startAudit(config: AuditConfig): Promise<RunningComponent> {
  const logger = createLogger({ component: 'audit', level: config.LOG_LEVEL });

  await using startup = new AsyncDisposableStack();
  const db = startup.use(
    openDatabase({
      url: config.DATABASE_URL,
      schema: 'audit',
      connectionsMax: config.DATABASE_CONNECTIONS_MAX,
      planEachTime: true,
    }),
  );
  const bus = startup.use(await connectBus({ url: config.NATS_URL, name: 'audit' }));
  const reader = startup.use(await connectReader({ url: config.NATS_URL, name: 'audit' }));
  const readPrincipal = createPrincipalReader(config.PRINCIPAL_KEY_AUDIT.reveal());
  const deps: Deps = { db, logger, readPrincipal };
  const reading = startup.use(startConsumers(deps, reader));
  startup.use(await serve(bus, audit, createHandlers(deps, reading), { logger }));

  logger.info('started');
  const running = startup.move();
  return { logger, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
