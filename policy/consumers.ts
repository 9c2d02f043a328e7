import { z } from 'zod';

import { deadlineIn } from '#bus';
import type { Bus } from '#bus';
import { policy } from '#contracts/bus/policy';
import type { Event } from '#contracts/events';
import { AppError } from '#errors';
import { consumeEvents, onEvents } from '#events';
import type { Reader } from '#events';
import type { Deps } from './deps.ts';
import type { Lookups, Topic } from './lookups/lookups.ts';
import { plantRules } from './usecases/plant-rules.ts';

const planting = policy.endpoints.plantRules.request.shape;
/** `data` of `approval.remembered`. */
const remembered = z
  .strictObject({
    approval_id: planting.approvalId,
    placement_id: planting.placementId,
    patterns: planting.patterns,
    service_id: planting.serviceId,
    credential_id: planting.credentialId,
    created_by: planting.createdBy,
    via: z.literal('self').nullable(),
    /** Absent from events of before there was one. */
    via_client_id: planting.viaClientId.default(null),
    expires_at: planting.expiresAt,
  })
  .refine((data) => (data.via === null) === (data.via_client_id === null), {
    path: ['via_client_id'],
    message: 'goes with via',
  });

const PLANT_TIMEOUT_MS = 10_000;

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
  const { data } = parsed;
  try {
    await plantRules(
      deps,
      {
        orgId: event.org_id,
        approvalId: data.approval_id,
        placementId: data.placement_id,
        patterns: data.patterns,
        serviceId: data.service_id,
        credentialId: data.credential_id,
        createdBy: data.created_by,
        viaClientId: data.via_client_id,
        expiresAt: data.expires_at,
      },
      deadlineIn(PLANT_TIMEOUT_MS),
    );
  } catch (error) {
    // The identity is gone for good: there is nothing to plant a rule on.
    if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
  }
}

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
    ...['evt.auth.>', 'evt.registry.>', 'evt.policy.>'],
    ...['evt.executor.secret.>', 'evt.executor.connection.>'],
  ];
  return onEvents(bus, subjects, (message) => {
    for (const [prefix, topic] of topics) {
      if (message === null || message.subject.startsWith(prefix)) lookups.drop(topic);
    }
  });
}
