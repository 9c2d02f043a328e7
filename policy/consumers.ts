import { z } from 'zod';

import { deadlineIn } from '#bus';
import type { Bus } from '#bus';
import { policy } from '#contracts/bus/policy';
import type { Event } from '#contracts/events';
import { AppError } from '#errors';
import type { ErrorCode } from '#errors';
import { consumeEvents, onEvents } from '#events';
import type { Reader } from '#events';
import { plantRules } from './decisions/plant-rules.ts';
import type { Deps, Lookups, LookupTopic } from './deps.ts';

const plantingShape = policy.endpoints.plantRules.request.shape;
/** The fields of the event `approval.remembered` that policy uses. */
const rememberedRule = z.object({ gap: plantingShape.gap, decision: plantingShape.decision });

const plantTimeoutMs = 10_000;

/**
 * Creates the rules of remembered approvals when their events arrive, in case approvals stopped
 * before it could call policy. Repeated events need not be recognised: each rule is created only
 * once for each approval and pattern, and this is remembered for longer than events are kept.
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
  const parseResult = rememberedRule.safeParse(event.data);
  if (!parseResult.success) {
    // A redelivered event would be malformed again, so the event is acknowledged and an error is
    // logged.
    const { issues } = parseResult.error;
    deps.logger.error({ eventId: event.id, issues }, 'remembered approval is malformed');
    return;
  }
  try {
    await plantRules(deps, parseResult.data, deadlineIn(plantTimeoutMs));
  } catch (error) {
    if (!(error instanceof AppError) || !finalRefusals.has(error.code)) throw error;
    deps.logger.warn({ eventId: event.id, err: error }, 'remembered approval plants nothing');
  }
}

/**
 * Errors that would occur at every further attempt: the identity no longer exists, or the decision
 * is not valid.
 */
const finalRefusals: ReadonlySet<string> = new Set<ErrorCode>([
  'not_found',
  'unauthenticated',
  'approval_stale',
]);

/**
 * Which cached answers each event invalidates. Events about sessions and agent keys invalidate
 * nothing.
 */
const topicsByPrefix: readonly (readonly [prefix: string, topic: LookupTopic])[] = [
  ['evt.auth.identity.', 'chains'],
  // A cached chain of identities also contains the OAuth clients that may approve their own calls.
  ['evt.auth.mcp_connection.', 'chains'],
  ['evt.auth.oauth_client.', 'chains'],
  ['evt.registry.', 'services'],
  ['evt.executor.secret.', 'secrets'],
  ['evt.executor.connection.', 'connections'],
  ['evt.policy.rule.', 'rules'],
];

/**
 * Drops cached answers when an event says that the data has changed. Drops all of them after a
 * reconnect, because events may have been missed.
 */
export function dropLookupsOnChange(bus: Bus, lookups: Lookups): Disposable {
  const subjects = [
    'evt.auth.>',
    'evt.registry.>',
    'evt.policy.>',
    'evt.executor.secret.>',
    'evt.executor.connection.>',
  ];
  return onEvents(bus, subjects, (message) => {
    for (const [prefix, topic] of topicsByPrefix) {
      if (message === null || message.subject.startsWith(prefix)) lookups.drop(topic);
    }
  });
}
