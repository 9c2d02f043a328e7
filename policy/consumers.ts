import { z } from 'zod';

import { deadlineIn } from '#bus';
import type { Bus } from '#bus';
import { policy } from '#contracts/bus/policy';
import type { Event } from '#contracts/events';
import { AppError } from '#errors';
import type { ErrorCode } from '#errors';
import { consumeEvents, onEvents } from '#events';
import type { Reader } from '#events';
import type { Deps } from './deps.ts';
import type { Lookups, Topic } from './lookups/lookups.ts';
import { plantRules } from './usecases/plant-rules.ts';

const planting = policy.endpoints.plantRules.request.shape;
/** What of `approval.remembered` counts here. */
const remembered = z.object({ gap: planting.gap, decision: planting.decision });

const plantTimeoutMs = 10_000;

/**
 * Plants what was remembered even if whoever resolved the approval died before it could say so.
 * Needs no inbox: planting is idempotent by approval and pattern, for longer than events live.
 */
export function plantRememberedRules(bus: Bus, deps: Deps): Reader {
  return consumeEvents({
    bus,
    durable: 'policy',
    logger: deps.logger,
    async handle(events) {
      for (const event of events) await plantRemembered(deps, event);
    },
  });
}

async function plantRemembered(deps: Deps, event: Event): Promise<void> {
  const parsed = remembered.safeParse(event.data);
  if (!parsed.success) {
    // It will never be anything else: let it go, and have somebody look.
    const { issues } = parsed.error;
    deps.logger.error({ eventId: event.id, issues }, 'remembered approval is malformed');
    return;
  }
  try {
    await plantRules(deps, parsed.data, deadlineIn(plantTimeoutMs));
  } catch (error) {
    if (!(error instanceof AppError) || !finalRefusals.has(error.code)) throw error;
    deps.logger.warn({ eventId: event.id, err: error }, 'remembered approval plants nothing');
  }
}

/** The identity is gone, or the decision holds no longer, or never did: asking again changes nothing. */
const finalRefusals: ReadonlySet<string> = new Set<ErrorCode>([
  'not_found',
  'unauthenticated',
  'approval_stale',
]);

/** Which answers an event makes old. Sessions and keys are no part of any of them. */
const topics: readonly (readonly [prefix: string, topic: Topic])[] = [
  ['evt.auth.identity.', 'chains'],
  // Whose clients decide for themselves is part of a chain's answer.
  ['evt.auth.mcp_connection.', 'chains'],
  ['evt.auth.oauth_client.', 'chains'],
  ['evt.registry.', 'services'],
  ['evt.executor.secret.', 'secrets'],
  ['evt.executor.connection.', 'connections'],
  ['evt.policy.rule.', 'rules'],
];

/** Forgets answers as soon as they change; after a reconnect all of them, because events may have been missed. */
export function dropLookupsOnChange(bus: Bus, lookups: Lookups): Disposable {
  const subjects = [
    'evt.auth.>',
    'evt.registry.>',
    'evt.policy.>',
    'evt.executor.secret.>',
    'evt.executor.connection.>',
  ];
  return onEvents(bus, subjects, (message) => {
    for (const [prefix, topic] of topics) {
      if (message === null || message.subject.startsWith(prefix)) lookups.drop(topic);
    }
  });
}
