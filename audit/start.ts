import { busServerOf, connectBus, connectReader, serve } from '#bus';
import type { InProcess } from '#bus';
import { audit } from '#contracts/bus/audit';
import { openOwnDatabase } from '#database';
import type { RunningComponent } from '#process';
import { busCheck, consumerCheck, databaseChecks, watchReadiness } from '#readiness';
import { createPrincipalReader } from '#signing';
import { createLogger } from '#telemetry';
import type { AuditConfig } from './config.ts';
import { startConsumers } from './consumers.ts';
import type { Deps } from './deps.ts';
import { createHandlers } from './handlers.ts';
import { startReadingAgain } from './unreadable/read-again.ts';
import { startForgettingUsage } from './usage/forget-usage.ts';

/** Starts the audit component. Disposing the result stops its parts in reverse order. */
export async function startAudit(
  config: AuditConfig,
  { local }: InProcess = {},
): Promise<RunningComponent> {
  const logger = createLogger({ component: 'audit', level: config.LOG_LEVEL });

  await using startup = new AsyncDisposableStack();
  const db = startup.use(
    await openOwnDatabase(config, { schema: 'audit', logger, planEachTime: true }),
  );
  const bus = startup.use(await connectBus({ ...busServerOf(config), name: 'audit', local }));
  const reader = startup.use(await connectReader({ ...busServerOf(config), name: 'audit' }));
  const readPrincipal = createPrincipalReader(config.PRINCIPAL_KEY_AUDIT.reveal());
  const deps: Deps = { db, logger, readPrincipal };
  const eventConsumers = startup.use(startConsumers(deps, reader));
  const rereading = startup.use(startReadingAgain(deps));
  startup.use(startForgettingUsage(deps));
  const handlers = createHandlers(deps, eventConsumers, rereading);
  const readiness = startup.use(
    await watchReadiness({
      checks: [...databaseChecks(db), busCheck(bus, reader), consumerCheck(eventConsumers)],
      logger,
    }),
  );
  startup.use(eventConsumers.follow(readiness));
  startup.use(await serve(bus, audit, handlers, { logger, readiness }));

  logger.info('started');
  const runningStack = startup.move();
  return { logger, readiness, [Symbol.asyncDispose]: () => runningStack.disposeAsync() };
}
