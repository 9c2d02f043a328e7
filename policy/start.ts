import { randomUUIDv7 } from 'node:crypto';

import { busServerOf, connectBus, connectReader, createClient, serve } from '#bus';
import type { InProcess } from '#bus';
import { gapKeyNames, revealKeys } from '#config';
import { auth } from '#contracts/bus/auth';
import { executor } from '#contracts/bus/executor';
import { policy } from '#contracts/bus/policy';
import { registry } from '#contracts/bus/registry';
import { decisionStatement } from '#contracts/decision';
import { gap } from '#contracts/permit';
import { openOwnDatabase } from '#database';
import { createSchemaChecker } from '#json-schema';
import { startRelay } from '#events';
import { repeat } from '#process';
import type { RunningComponent } from '#process';
import { busCheck, consumerCheck, databaseChecks, watchReadiness } from '#readiness';
import {
  createPrincipalReader,
  createPublicVerifier,
  createSigner,
  createVerifier,
} from '#signing';
import { createLogger } from '#telemetry';
import { createLookups } from './answers/lookups.ts';
import type { PolicyConfig } from './config.ts';
import { dropLookupsOnChange, plantRememberedRules } from './consumers.ts';
import type { Deps } from './deps.ts';
import { createHandlers } from './handlers.ts';
import { logReviewedRules } from './rules/log-reviewed-rules.ts';
import { pruneRules } from './rules/prune-rules.ts';
import { startRuleUse } from './rules/rule-use.ts';

const pruneEveryMs = 3_600_000;

/**
 * Starts the policy component. Disposing the result stops the component in the reverse order: it
 * accepts no new requests, finishes the current requests, stores how often each rule was used, then
 * closes the bus and the database.
 */
export async function startPolicy(
  config: PolicyConfig,
  /** Tests pass `now` to simulate a wrong clock. */
  { now = Date.now, local }: InProcess & { now?: () => number } = {},
): Promise<RunningComponent> {
  const logger = createLogger({ component: 'policy', level: config.LOG_LEVEL });

  await using startup = new AsyncDisposableStack();
  const db = startup.use(await openOwnDatabase(config, { schema: 'policy', logger }));
  const bus = startup.use(await connectBus({ ...busServerOf(config), name: 'policy', local }));
  const reader = startup.use(await connectReader({ ...busServerOf(config), name: 'policy' }));
  const relay = startup.use(startRelay({ db, bus, owner: 'policy', logger }));

  const schemaChecker = startup.use(createSchemaChecker());
  const componentClients = {
    auth: createClient(bus, auth),
    registry: createClient(bus, registry),
    executor: createClient(bus, executor),
  };
  const deps: Deps = {
    db,
    logger,
    ...componentClients,
    lookups: createLookups({ db, schemas: schemaChecker, logger, ...componentClients }),
    readPrincipal: createPrincipalReader(config.PRINCIPAL_KEY_POLICY.reveal()),
    permitSigner: createSigner('permit', config.PERMIT_KEY.reveal()),
    gapSigner: createSigner('gap', ...revealKeys(config, gapKeyNames)),
    gapVerifier: createVerifier('gap', config.GAP_KEY_POLICY.reveal(), gap),
    decisionVerifier: createPublicVerifier(
      'decision',
      config.DECISION_PUBLIC_KEY,
      decisionStatement,
    ),
    ruleUse: startup.use(startRuleUse({ db, logger })),
    now,
    newId: () => randomUUIDv7(),
  };
  startup.use(dropLookupsOnChange(bus, deps.lookups));
  const ruleConsumer = startup.use(plantRememberedRules(reader, deps));
  startup.use(repeat(pruneEveryMs, () => pruneRules(deps)));
  await logReviewedRules(deps);
  const readiness = startup.use(
    await watchReadiness({
      checks: [...databaseChecks(db, now), busCheck(bus, reader), consumerCheck(ruleConsumer)],
      logger,
    }),
  );
  startup.use(ruleConsumer.follow(readiness));
  startup.use(
    await serve(bus, policy, createHandlers(deps, ruleConsumer, relay), { logger, readiness }),
  );

  logger.info('started');
  const running = startup.move();
  return { logger, readiness, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
