import { deadlineIn } from '#bus';
import type { Deadline } from '#bus';
import type { Principal, Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Sql } from '#database';
import type { Deps } from '../deps.ts';
import { identityOf } from '../templates/domain/audit-entry.ts';
import { findServiceOfRequest } from './connected-service.sql.ts';
import { nameInKeys } from './domain/service.ts';
import type { Service } from './domain/service.ts';

interface RequestAnswer {
  readonly principal: string;
  readonly caller: Principal;
  readonly requestId: string;
  readonly template: string;
  readonly tier: Tier;
}

/**
 * Throws unless the caller may answer this request with a service of this template and tier. When a
 * service already answers the request, tells the executor once more, because it may have missed
 * that, and throws.
 */
export async function checkRequest(
  deps: Pick<Deps, 'db' | 'executor' | 'logger'>,
  { principal, caller, requestId: id, template, tier }: RequestAnswer,
  deadline: Deadline,
): Promise<void> {
  await deps.executor.checkRequest({ principal, id, template, tier }, deadline);
  const service = await findServiceOfRequest(deps.db, { orgId: caller.orgId, requestId: id });
  if (service === undefined) return;
  await reportAnswer(deps, caller, { service, requestId: id });
  throw alreadyAnsweredError(service);
}

/**
 * Throws when a service already answers the request. The caller must hold the lock that keeps other
 * services from being inserted.
 */
export async function requireUnanswered(
  sql: Sql,
  { orgId, requestId }: { orgId: string; requestId: string | null },
): Promise<void> {
  if (requestId === null) return;
  const service = await findServiceOfRequest(sql, { orgId, requestId });
  if (service !== undefined) throw alreadyAnsweredError(service);
}

/**
 * Tells the executor that the service answers the request. If that fails, the executor learns it
 * from the event of the service.
 */
export async function reportAnswer(
  { executor, logger }: Pick<Deps, 'executor' | 'logger'>,
  caller: Principal,
  { service, requestId }: { service: Service; requestId: string | null },
): Promise<void> {
  if (requestId === null) return;
  const { orgId, id: serviceId, name: serviceName, tier, ownerId } = service;
  const by = identityOf(caller);
  try {
    await executor.finishRequest(
      { orgId, id: requestId, serviceId, serviceName, tier, ownerId, by },
      deadlineIn(3_000),
    );
  } catch (error) {
    logger.warn({ err: error, requestId }, 'the event closes the request');
  }
}

function alreadyAnsweredError(service: Service): AppError {
  const name = nameInKeys(service);
  return new AppError('conflict', `The service "${name}" answers this request already.`, {
    details: { reason: 'answered', service: name },
  });
}
