import { randomUUIDv7 } from 'node:crypto';

import { connectBus, connectReader, createClient, serve } from '#bus';
import { gapKeyNames, revealKeys } from '#config';
import { auth } from '#contracts/bus/auth';
import { executor } from '#contracts/bus/executor';
import { policy } from '#contracts/bus/policy';
import { registry } from '#contracts/bus/registry';
import { decisionStatement } from '#contracts/decision';
import { gap } from '#contracts/permit';
import { openDatabase } from '#database';
import { createSchemaChecker } from '#json-schema';
import { startRelay } from '#events';
import { repeat } from '#process';
import type { RunningComponent } from '#process';
import {
  createPrincipalReader,
  createPublicVerifier,
  createSigner,
  createVerifier,
} from '#signing';
import { createLogger } from '#telemetry';
import type { PolicyConfig } from './config.ts';
import { dropLookupsOnChange, plantRememberedRules } from './consumers.ts';
import type { Deps } from './deps.ts';
import { createHandlers } from './handlers.ts';
import { createLookups } from './lookups/lookups.ts';
import { startRuleUse } from './rule-use.ts';
import { pruneRules } from './usecases/prune-rules.ts';
import { tellReviewedRules } from './usecases/tell-reviewed-rules.ts';

const pruneEveryMs = 3_600_000;

/**
 * Wires the policy component together and starts answering.
 *
 * Disposing the result stops it in the reverse order: no new requests, the requests in hand
 * finish, uses of rules are written down, then the bus and the database close.
 */
export async function startPolicy(config: PolicyConfig): Promise<RunningComponent> {
  const logger = createLogger({ component: 'policy', level: config.LOG_LEVEL });

  await using startup = new AsyncDisposableStack();
  const db = startup.use(
    openDatabase({
      url: config.DATABASE_URL,
      schema: 'policy',
      connectionsMax: config.DATABASE_CONNECTIONS_MAX,
    }),
  );
  const bus = startup.use(await connectBus({ url: config.NATS_URL, name: 'policy' }));
  const reader = startup.use(await connectReader({ url: config.NATS_URL, name: 'policy' }));
  startup.use(startRelay({ db, bus, owner: 'policy', logger }));

  const schemas = startup.use(createSchemaChecker());
  const clients = {
    auth: createClient(bus, auth),
    registry: createClient(bus, registry),
    executor: createClient(bus, executor),
  };
  const deps: Deps = {
    db,
    logger,
    ...clients,
    lookups: createLookups({ db, schemas, logger, ...clients }),
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
    now: Date.now,
    newId: () => randomUUIDv7(),
  };
  startup.use(dropLookupsOnChange(bus, deps.lookups));
  const reading = startup.use(plantRememberedRules(reader, deps));
  startup.use(repeat(pruneEveryMs, () => pruneRules(deps)));
  await tellReviewedRules(deps);
  startup.use(await serve(bus, policy, createHandlers(deps, reading), { logger }));

  logger.info('started');
  const running = startup.move();
  return { logger, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
